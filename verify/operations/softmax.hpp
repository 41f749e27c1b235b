// SPDX-License-Identifier: Apache-2.0
// softmax along the last axis: e^x_i / sum of e^x_j. docs/verify-operations.md.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "verify/operations/fully_masked.hpp"
#include "verify/operations/kernel_arithmetic.hpp"
#include "verify/operations/rows.hpp"

namespace ulpscope::verify {

/// softmax along the last axis.
struct Softmax {
  Values x;                                      ///< each row by itself
  KernelArithmetic arithmetic = {};              ///< of all between input and output
  LastRounding last;                             ///< of the output
  std::uint64_t block = 16;                      ///< elements for which the maximum of an online softmax changes at most once
  std::optional<emu::Format> shifted = {};       ///< what x - max x is rounded to; none: not beside `arithmetic`
  std::optional<emu::Format> exponentials = {};  ///< what the numerators are rounded to before they are summed and divided
  std::optional<emu::Format> sums = {};          ///< what their sum is kept in; none: that of `arithmetic`
  /// What a row of nothing but -inf is; undeclared: nan.
  FullyMasked fully_masked = FullyMasked::undeclared;
  std::optional<double> false_alarm = {};        ///< probability that a correct output is rejected; none: 0
};

/// A row with NaN or +inf is NaN, one of nothing but -inf what `fully_masked` says; an element of -inf is exactly 0 otherwise.
/// @throws Error where a row has no elements, a format is too wide, or roundings are not random.
std::unique_ptr<Expectation> expect_softmax(Softmax operation);

}  // namespace ulpscope::verify
