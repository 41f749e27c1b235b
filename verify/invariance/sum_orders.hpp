// SPDX-License-Identifier: Apache-2.0
// Usual orders of float32 sums; and in which of them were the numbers of a row added? They are tried until one gives the bits
// of every row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "tensors/tensor.hpp"
#include "verify/expected.hpp"

namespace ulpscope::verify {

/// A name, and what it returns of one number or more.
struct SumOrder {
  std::string words;                                 ///< as sum_order() has them
  std::function<float(std::span<const float>)> sum;  ///< in float32
};
/// Those for rows of `length` numbers, the simplest first.
std::vector<SumOrder> sum_orders(std::size_t length);

/// `x`, whose rows `first_row` and those behind it `output` has the sums of, one each; `in`: what its numbers are rounded to
/// first.
struct SummedRows {
  const tensors::Tensor& x;       ///< rows of numbers
  emu::Format in;                 ///< of the numbers that are added
  const tensors::Tensor& output;  ///< a sum for each of its rows
  std::uint64_t first_row;        ///< of x, whose sum comes first
  LastRounding last;              ///< of a sum
};

/// In words: `in order`; `1024 strided parts, halves added` (part i has the numbers i, i + 1024, ..., as threads of a GPU take
/// them); `blocks of 256, added in order`; `numpy's pairwise sum`. Empty where none of them gives all sums, or where there are
/// no two numbers to add.
std::string sum_order(const SummedRows& rows);

}  // namespace ulpscope::verify
