// SPDX-License-Identifier: Apache-2.0
// What an order of summation and an accumulator cost: the computed sum beside the exact one.
#pragma once

#include <cstddef>
#include <limits>
#include <ranges>

#include "emu/arithmetic.hpp"
#include "emu/bits.hpp"
#include "emu/decode.hpp"
#include "emu/exact_sum.hpp"
#include "emu/format.hpp"
#include "emu/rounding.hpp"
#include "emu/summation.hpp"

namespace ulpscope::emu {

/// Errors are of the computed sum, with their signs: computed minus exact. They are exact apart from one rounding to double.
/// Where the exact sum is not finite they are 0 if the computed one is the same, else NaN; where only the computed one is not
/// finite, it is their value.
struct SummationError {
  Result computed;        ///< with all flags raised on the way
  Rounded correct;        ///< the exact sum, rounded once to the accumulator's format under the same options
  double exact;           ///< the exact sum, to the nearest double
  double error;           ///< computed - exact, as a double
  double error_ulp;       ///< in units of the accumulator's spacing at the exact sum, subnormal spacing included
  double relative_error;  ///< of an error of a sum of zero: infinite, with its sign
};

namespace detail {

constexpr SummationError compare_sums(const ExactSum& exact, Result computed, Format accumulator,
                                      const SummationOptions& options) noexcept {
  const std::uint32_t random = options.rounding.rounding == Rounding::stochastic ? rounding_bits(options.seed, 0) : 0;
  SummationError out{computed, exact.rounded(accumulator, options.rounding, random), exact.value(), 0, 0, 0};
  if (!exact.is_finite()) {
    if (computed.code != out.correct.code)
      out.error = out.error_ulp = out.relative_error = std::numeric_limits<double>::quiet_NaN();
    return out;
  }
  ExactSum difference;
  difference.add(accumulator, computed.code);
  difference.subtract(exact);
  out.error = difference.is_zero() ? 0 : difference.value();
  if (out.error == 0) return out;
  out.error_ulp = out.error / power_of_two(spacing_exponent(accumulator, out.exact));
  constexpr double infinity = std::numeric_limits<double>::infinity();
  out.relative_error =
      out.exact == 0 ? (out.error < 0 ? -infinity : infinity) : out.error / (out.exact < 0 ? -out.exact : out.exact);
  return out;
}

}  // namespace detail

/// `sum` beside `exact_sum`. `from` is the format of the codes; floats and doubles are codes of float32 and float64.
template <detail::TermRange Terms>
constexpr SummationError sum_error(Format from, const Terms& terms, Format accumulator,
                                   const SummationOptions& options = {}) noexcept {
  ExactSum exact;
  for (const auto term : terms) exact.add(from, detail::operand(from, detail::code_of(term), options.rounding));
  const Result computed = detail::sum_of(detail::ChosenFormats{from, detail::no_format, accumulator}, terms, options);
  return detail::compare_sums(exact, computed, accumulator, options);
}
template <detail::FloatRange Floats>
constexpr SummationError sum_error(const Floats& terms, Format accumulator, const SummationOptions& options = {}) noexcept {
  return sum_error(detail::format_of<Floats>, terms, accumulator, options);
}

/// `dot` beside `exact_dot`.
template <detail::TermRange A, detail::TermRange B>
constexpr SummationError dot_error(Format a_format, const A& a, Format b_format, const B& b, Format accumulator,
                                   const SummationOptions& options = {}) noexcept {
  ExactSum exact;
  const auto left = std::ranges::data(a);
  const auto right = std::ranges::data(b);
  for (std::size_t i = 0; i < std::ranges::size(a) && i < std::ranges::size(b); ++i)
    exact.add_product(a_format, detail::operand(a_format, detail::code_of(left[i]), options.rounding), b_format,
                      detail::operand(b_format, detail::code_of(right[i]), options.rounding));
  const Result computed = detail::dot_of(detail::ChosenFormats{a_format, b_format, accumulator}, a, b, options);
  return detail::compare_sums(exact, computed, accumulator, options);
}
template <detail::FloatRange A, detail::FloatRange B>
constexpr SummationError dot_error(const A& a, const B& b, Format accumulator, const SummationOptions& options = {}) noexcept {
  return dot_error(detail::format_of<A>, a, detail::format_of<B>, b, accumulator, options);
}

}  // namespace ulpscope::emu
