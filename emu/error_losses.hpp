// SPDX-License-Identifier: Apache-2.0
// What the roundings and cuts of a sum lose, counted: the parts that bounds on errors are put together from
// (emu/engine_bound.hpp).
#pragma once

#include <cstddef>

#include "emu/engine_bound.hpp"
#include "emu/format.hpp"
#include "emu/rounding.hpp"

namespace ulpscope::emu::detail {

/// Losses that add up, relative to the magnitude that passes through them, which they may raise.
struct Losses {
  double relative = 0;                     ///< at most
  double mean = 0, variance = 0;           ///< of the model: the mean, and the sum of squares of what is around it
  double growth = 0, growth_variance = 0;  ///< of magnitudes, by roundings to nearest
  double directed_growth = 0;              ///< and by other roundings and cuts
  double absolute = 0;

  Losses& operator+=(const Losses& other) noexcept;
  /// As often as that.
  friend Losses operator*(double count, const Losses& losses) noexcept;
};

/// 2^exponent; the least or the greatest double beyond their range.
double bounded_power_of_two(int exponent) noexcept;

/// Losses of one rounding of any number to a format with `fraction_bits` fraction bits.
Losses rounding_losses(Format format, int fraction_bits, Rounding rounding) noexcept;

/// The greatest amount by which the exponents of subnormal operands, or their loss, count in a product.
double subnormal_product(Format a, Format b, const Chain& chain) noexcept;

/// How K is cut.
struct SumParts {
  std::size_t count;   ///< at most
  std::size_t length;  ///< products of the longest
  bool scaled;         ///< each sum is multiplied by two scales
  Format joined_in;
  bool is_single() const noexcept { return count == 1 && !scaled; }
};
/// k > 0 products, an engine taking `step` at a time.
SumParts sum_parts(std::size_t k, std::size_t step, Format accumulator, const Chain& chain) noexcept;

/// The bound on a sum of parts with `part` the losses in each, which come in `steps` steps.
ErrorBound bound_of(const Losses& part, double steps, const SumParts& parts, const Chain& chain) noexcept;

}  // namespace ulpscope::emu::detail
