// SPDX-License-Identifier: Apache-2.0
// softmax along the last axis: e^x_i / sum of e^x_j. docs/verify-operations.md.
#pragma once

#include <cstdint>
#include <memory>

#include "verify/operations/kernel_arithmetic.hpp"
#include "verify/operations/rows.hpp"

namespace ulpscope::verify {

/// softmax along the last axis.
struct Softmax {
  Values x;                          ///< each row by itself
  KernelArithmetic arithmetic = {};  ///< of all between input and output
  LastRounding last;                 ///< of the output
  std::uint64_t block = 16;          ///< elements for which the maximum of an online softmax changes at most once
};

/// A row with NaN or +inf, and one of nothing but -inf, is NaN; an element of -inf is exactly 0 otherwise.
/// @throws Error where a row has no elements or a format is too wide.
std::unique_ptr<Expectation> expect_softmax(Softmax operation);

}  // namespace ulpscope::verify
