// SPDX-License-Identifier: Apache-2.0
// Sums over K of products that are made of products of 8 bit integers: Ozaki schemes I and II.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "emu/split_product.hpp"

namespace ulpscope::emu::detail {

/// Lines of an operand: rows of A, columns of B.
struct SplitLines {
  std::size_t count, length;
  std::vector<double> values;  ///< line by line

  std::span<const double> line(std::size_t i) const noexcept { return std::span(values).subspan(i * length, length); }
};

/// A * B in float64, row-major, by a scheme of slices or of residues; NaN where a line is not finite.
void integer_product(const SplitProduct& split, const SplitLines& a, const SplitLines& b, int threads, std::span<double> out);

}  // namespace ulpscope::emu::detail
