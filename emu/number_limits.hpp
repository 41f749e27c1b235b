// SPDX-License-Identifier: Apache-2.0
// std::numeric_limits of Number, every member computed from the format and the options (ISO C++20, [numeric.limits.members]).
#pragma once

#include <limits>

#include "emu/bits.hpp"
#include "emu/catalogue.hpp"
#include "emu/config.hpp"
#include "emu/decode.hpp"
#include "emu/format.hpp"
#include "emu/number_type.hpp"
#include "emu/rounding.hpp"

namespace ulpscope::emu::detail {

/// The greatest q with 10^q <= x, for the normal doubles 2^e and 2^e (1 - 2^-j). The relative error of `power` is below 2^-43;
/// apart from 1, none of these numbers is that near to a power of ten (a test visits them all).
constexpr int floor_log10(double x) noexcept {
  int q = 0;
  double power = 1;
  for (; power <= x / 10; ++q) power *= 10;
  for (; power > x; --q) power /= 10;
  return q;
}

/// Formats of IEEE 754-2019, table 3.5, with that standard's arithmetic.
constexpr bool is_ieee(Format format, const RoundingOptions& options) noexcept {
  const bool interchange = format == float16 || format == float32 || format == float64;
  return interchange && options.policy == Policy::nonsaturating && options.rounding != Rounding::to_odd &&
         !options.flush_subnormals && !options.subnormals_are_zero;
}

constexpr std::float_round_style round_style(Rounding rounding) noexcept {
  switch (rounding) {
    case Rounding::nearest_even:
    case Rounding::nearest_away: return std::round_to_nearest;
    case Rounding::toward_zero: return std::round_toward_zero;
    case Rounding::upward: return std::round_toward_infinity;
    case Rounding::downward: return std::round_toward_neg_infinity;
    default: return std::round_indeterminate;
  }
}

}  // namespace ulpscope::emu::detail

/// Members about what the format does not have are as for the built-in types: has_... is false, the function gives Number{}.
template <ulpscope::emu::Format F, ulpscope::emu::RoundingOptions O>
struct std::numeric_limits<ulpscope::emu::Number<F, O>> {
 private:
  using Number = ulpscope::emu::Number<F, O>;
  static constexpr double least_normal = ulpscope::emu::min_normal(F);
  static constexpr int floor_log10_of_least = ulpscope::emu::detail::floor_log10(least_normal);
  /// Whether arithmetic on this type knows subnormal numbers.
  static constexpr bool gradual = F.has_subnormals() && !O.flush_subnormals && !O.subnormals_are_zero;

 public:
  static constexpr bool is_specialized = true;
  static constexpr bool is_signed = F.is_signed();
  static constexpr bool is_integer = false;
  static constexpr bool is_exact = false;
  static constexpr bool is_bounded = true;
  static constexpr bool is_modulo = false;
  static constexpr bool is_iec559 = ulpscope::emu::detail::is_ieee(F, O);

  static constexpr int radix = 2;
  static constexpr int digits = F.precision();
  static constexpr int digits10 = ulpscope::emu::detail::floor_log10(ulpscope::emu::power_of_two(digits - 1));
  static constexpr int max_digits10 = ulpscope::emu::detail::floor_log10(ulpscope::emu::power_of_two(digits)) + 2;
  static constexpr int min_exponent = F.min_exponent() + 1;  // C counts significands from 1/2
  static constexpr int max_exponent = F.max_exponent() + 1;
  static constexpr int min_exponent10 = floor_log10_of_least + (least_normal == 1 ? 0 : 1);
  static constexpr int max_exponent10 = ulpscope::emu::detail::floor_log10(ulpscope::emu::max_finite(F));

  static constexpr bool has_infinity = F.has_infinity();
  static constexpr bool has_quiet_NaN = F.has_nan();
  static constexpr bool has_signaling_NaN = F.has_infinity() && F.is_signaling_nan(F.infinity_code() + 1);
  static constexpr float_denorm_style has_denorm = gradual ? denorm_present : denorm_absent;
  static constexpr bool has_denorm_loss = false;
  static constexpr float_round_style round_style = ulpscope::emu::detail::round_style(O.rounding);
  static constexpr bool traps = false;
  static constexpr bool tinyness_before = O.tininess == ulpscope::emu::Tininess::before_rounding;

  ULPSCOPE_HD static constexpr Number min() noexcept { return Number::from_code(F.min_normal_code()); }
  ULPSCOPE_HD static constexpr Number max() noexcept { return Number::from_code(F.max_finite_code()); }
  ULPSCOPE_HD static constexpr Number lowest() noexcept { return is_signed ? -max() : Number::from_code(0); }
  /// From 1 to the next number, which is a subnormal spacing where 1 is subnormal.
  ULPSCOPE_HD static constexpr Number epsilon() noexcept {
    return ulpscope::emu::power_of_two(ulpscope::emu::spacing_exponent(F, 1));
  }
  /// In units in the last place.
  ULPSCOPE_HD static constexpr Number round_error() noexcept { return round_style == round_to_nearest ? 0.5 : 1.0; }
  ULPSCOPE_HD static constexpr Number infinity() noexcept {
    return Number::from_code(has_infinity ? F.infinity_code() : ulpscope::emu::Code{0});
  }
  ULPSCOPE_HD static constexpr Number quiet_NaN() noexcept {
    return Number::from_code(has_quiet_NaN ? F.nan_code() : ulpscope::emu::Code{0});
  }
  ULPSCOPE_HD static constexpr Number signaling_NaN() noexcept {
    return Number::from_code(has_signaling_NaN ? F.infinity_code() + 1 : ulpscope::emu::Code{0});
  }
  ULPSCOPE_HD static constexpr Number denorm_min() noexcept { return gradual ? Number::from_code(1) : min(); }
};
