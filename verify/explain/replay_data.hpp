// SPDX-License-Identifier: Apache-2.0
// The inputs of a matrix product in memory, as they were before any rounding.
#pragma once

#include <cstddef>
#include <vector>

#include "products/product.hpp"

namespace ulpscope::verify {

/// Scales of an operand; none where `scales` is empty.
struct DataScales {
  std::optional<products::MatmulScales> scales;

  bool empty() const noexcept { return !scales; }
  float whole() const noexcept { return scales ? scales->whole : 1.0F; }
  /// Products that share a scale along K; 0: all of them.
  std::size_t k_block() const noexcept { return scales && scales->for_k > 1 ? scales->k_block : 0; }
  /// That of a line (a row of A, a column of B) of a matrix at index k.
  float at(std::size_t matrix, std::size_t line, std::size_t k) const noexcept;
};

struct MatmulData {
  products::MatmulShape shape;
  std::vector<double> a, b;  ///< matrices as M by K and K by N, row-major
  std::vector<double> c;     ///< broadcast to the shape of D; empty: none
  DataScales scale_a, scale_b;

  double a_at(std::size_t matrix, std::size_t i, std::size_t k) const noexcept {
    return a[(matrix * shape.m + i) * shape.k + k];
  }
  double b_at(std::size_t matrix, std::size_t k, std::size_t j) const noexcept {
    return b[(matrix * shape.k + k) * shape.n + j];
  }
};

/// Reads A, B, C and the scales of a product. @throws ulpscope::Error where shapes do not fit.
MatmulData load_matmul(const products::Product& config);

}  // namespace ulpscope::verify
