// SPDX-License-Identifier: Apache-2.0
// Some neighbouring elements of a node: the values of the formula, and how far a kernel may be from them. Balls: every
// operation enlarges two radii, that of float64's arithmetic here, and that of the kernel's. docs/expressions.md derives them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "verify/expected.hpp"

namespace ulpscope::verify {

struct KernelArithmetic;
struct Node;

/// One element: the exact value is within `radius` of `value`, and what a kernel has in its place within `error` of the exact
/// value. Of an infinity or a NaN a radius above 0 means that the exact value may be a number, and an error above 0 that a
/// kernel may have a number of at most that size.
struct Approximate {
  double value = 0;       ///< nearly the exact value
  double radius = 0;      ///< of the exact value around it
  double error = 0;       ///< of what a kernel has, from the exact value
  Overflow overflow = Overflow::none;  ///< infinities and NaN that a kernel may have as well, and the other zero
};

/// As many neighbouring elements as are computed at once. Of comparisons the values are 1 and 0, and a radius of 1 means that
/// either may be right.
struct Lanes {
  static constexpr std::size_t size = 256;  ///< the most
  alignas(64) double value[size];           ///< as of Approximate
  alignas(64) double radius[size];          ///< likewise
  alignas(64) double error[size];           ///< likewise
  Overflow overflow[size];                  ///< likewise
  bool exact;     ///< no element has a radius, an error or an overflow; the three arrays are not set then
  bool in_range;  ///< no element overflows; that array is not set then

  /// Element i.
  Approximate at(std::size_t i) const noexcept {
    return exact ? Approximate{.value = value[i]}
                 : Approximate{value[i], radius[i], error[i], in_range ? Overflow::none : overflow[i]};
  }
  /// Sets element i.
  void set(std::size_t i, const Approximate& x) noexcept {
    value[i] = x.value, radius[i] = x.radius, error[i] = x.error, overflow[i] = x.overflow;
  }
};

/// The first `count` elements of a pointwise node, of the lanes of its operands.
void compute(const Node& node, std::span<const Lanes* const> operands, std::size_t count, Lanes& out);

/// x + y, rounded to the node's format to nearest even as a rounding point is.
Approximate rounded_sum(const Node& node, const Approximate& x, const Approximate& y);

/// The number of a formula: nearest double, and what it is rounded to in the kernel's format.
Approximate approximate_number(const Node& node);

/// An element with margins for the roundings of the arithmetic on radii; what is not finite has none.
Approximate settled(const KernelArithmetic& arithmetic, Approximate x);

}  // namespace ulpscope::verify
