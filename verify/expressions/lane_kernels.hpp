// SPDX-License-Identifier: Apache-2.0
// The commonest operations on balls, in vectors. lanes.cpp says what they compute; these are the same bits, of elements that
// are finite and cannot overflow in the kernel's arithmetic.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "verify/expressions/lanes.hpp"
#include "verify/operations/kernel_arithmetic.hpp"

namespace ulpscope::verify {

/// The numbers of a kernel's arithmetic.
struct Measures {
  /// Of an arithmetic.
  explicit Measures(const KernelArithmetic& arithmetic);

  double unit, quotient;  ///< relative errors: of a rounding, of a division
  double normal, lost;    ///< results below `normal` may lose so much
  double largest;         ///< beyond it there is overflow
};

/// An operation on balls that is there in vectors.
struct LaneOperation {
  /// Which one.
  enum class Kind : std::uint8_t {
    add,
    subtract,
    multiply,
    divide,
    negate,
    absolute,
    maximum,
    minimum,
    less,
    equal,
    both,
    opposite,
    choose,
    exp,
    tanh,
    gelu_tanh,
    erf,
    gelu,
    sigmoid,
    silu
  };
  Kind kind;                         ///< of one ball, two, or three
  bool by_number = false;            ///< divide: by a number of the formula
  KernelArithmetic arithmetic = {};  ///< in which it is computed
};

/// The first elements of `out`, whole vectors of them and at most `count`. No operand overflows.
/// @return how many; none where one of them is not finite, or may overflow
std::size_t compute_in_vectors(const LaneOperation& operation, std::span<const Lanes* const> operands, std::size_t count,
                               Lanes& out);

}  // namespace ulpscope::verify
