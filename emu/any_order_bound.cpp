// SPDX-License-Identifier: Apache-2.0
// Bounds for sums in declared arithmetic, the probabilistic bound, and what to say of a bound that is worth nothing.
#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <string>

#include "emu/engine_bound.hpp"
#include "emu/error_losses.hpp"
#include "emu/math.hpp"

namespace ulpscope::emu {
namespace {

/// The most additions in a row that a term meets.
double additions(SumOrder order, std::size_t terms) {
  if (order == SumOrder::pairwise) return static_cast<double>(std::bit_width(terms - 1));
  return static_cast<double>(terms) - 1;
}

double in_a_row(const DeclaredSum& sum, std::size_t length, bool from_c) {
  const std::size_t addend = from_c ? 1 : 0;
  const bool fits = sum.a.precision() + sum.b.precision() <= sum.accumulator.precision();
  if (sum.block > 0 && sum.block < length) {
    const std::size_t blocks = (length + sum.block - 1) / sum.block;
    return additions(sum.order, sum.block) + additions(sum.order, blocks + addend) + (fits ? 0 : 1);
  }
  // A chain of fused multiply-adds from c rounds nothing but its sums.
  const bool leaf = !fits && !(sum.products == Products::fused && sum.order == SumOrder::sequential && from_c);
  return additions(sum.order, length + addend) + (leaf ? 1 : 0);
}

/// Additions are exact among subnormal numbers: it is products that lose there.
double absolute_of(const DeclaredSum& sum, std::size_t length, const detail::Losses& rounding, const Chain& chain) {
  const auto n = static_cast<double>(length);
  const double of_operands = sum.zeroes_subnormals ? n * detail::subnormal_product(sum.a, sum.b, chain) : 0;
  if (sum.flushes_subnormals) return (2 * n + 1) * detail::bounded_power_of_two(sum.accumulator.min_exponent()) + of_operands;
  const bool fits = sum.a.precision() + sum.b.precision() <= sum.accumulator.precision();
  const int last = sum.a.min_spacing_exponent() + sum.b.min_spacing_exponent();
  return (fits && last >= sum.accumulator.min_spacing_exponent() ? 0 : n * rounding.absolute) + of_operands;
}

std::string three_digits(double x) {
  char digits[32];
  const auto end = std::to_chars(std::begin(digits), std::end(digits), x, std::chars_format::general, 3).ptr;
  return std::string(digits, end);
}

}  // namespace

ErrorBound any_order_bound(const DeclaredSum& sum, std::size_t k, const Chain& chain) {
  if (k == 0) return ErrorBound{};
  const auto parts = detail::sum_parts(k, 1, sum.accumulator, chain);
  const auto rounding = detail::rounding_losses(sum.accumulator, sum.accumulator.fraction_bits, sum.rounding);
  const double roundings = in_a_row(sum, parts.length, chain.has_c && parts.is_single());
  detail::Losses part = roundings * rounding;
  part.absolute = absolute_of(sum, parts.length, rounding, chain);
  ErrorBound bound = detail::bound_of(part, roundings, parts, chain);
  // Each sum that joins and each factor, of a sum or of c, may be flushed; what follows may be an addition that is.
  if (sum.flushes_subnormals && !(parts.is_single() && chain.epilogue == 0))
    bound.absolute += 2 * static_cast<double>(parts.count + 1 + chain.epilogue) *
                      detail::bounded_power_of_two(parts.joined_in.min_exponent());
  return bound;
}

double probable(const ErrorBound& bound, double false_alarm) {
  if (!(bound.relative < 1)) return bound.relative;
  const double lambda = std::sqrt(2 * log(2 / false_alarm));
  const double allowance = bound.mean_relative + lambda * bound.random_relative;
  return allowance < bound.relative ? allowance : bound.relative;
}

std::string worthless(const ErrorBound& bound) {
  if (bound.relative < 1) return {};
  const std::string row = three_digits(bound.losses) + " losses in a row of up to " + three_digits(bound.unit) + " each";
  const std::string what =
      bound.relative < std::numeric_limits<double>::infinity()
          ? row + " make a bound of " + three_digits(bound.relative) + " times the sum of |a||b|"
          : row + " add up to " + three_digits(bound.losses * bound.unit) + ", and from 1 on there is no bound";
  return what +
         ": an output of all zeros would pass; split K, promote every few products, use a wider accumulator, or compare with "
         "the "
         "engine bit for bit";
}

}  // namespace ulpscope::emu
