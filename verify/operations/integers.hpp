// SPDX-License-Identifier: Apache-2.0
// Tensors of whole numbers: lengths, places and groups that an operation is told beside its operands.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tensors/tensor.hpp"

namespace ulpscope::verify {

/// Whole numbers.
struct Integers {
  std::vector<std::uint64_t> shape;    ///< empty: a scalar
  std::vector<std::int64_t> elements;  ///< row-major

  /// Whether there is one dimension, or a column as .csv files have it.
  bool is_vector() const { return shape.size() == 1 || (shape.size() == 2 && shape[1] == 1); }
  std::int64_t at(std::uint64_t index) const { return elements[static_cast<std::size_t>(index)]; }  ///< one of them
};

/// Of integers, or of floats that are whole. @throws Error, which begins with `option`, where one is not whole
Integers read_integers(const tensors::Tensor& tensor, const std::string& option);

}  // namespace ulpscope::verify
