// SPDX-License-Identifier: Apache-2.0
// Decides which of the kernels' ways serves a format, and computes their constants.
#include "emu/bulk/plan.hpp"

#include <limits>

#include "emu/bits.hpp"
#include "emu/bulk.hpp"
#include "emu/catalogue.hpp"
#include "emu/decode.hpp"
#include "emu/encode.hpp"

namespace ulpscope::emu::detail {
namespace {

using Host = Interchange<float>;
constexpr std::uint32_t sign = std::uint32_t{1} << 31;
constexpr int least_host_exponent = 1 - Host::bias;

std::uint32_t field(int exponent) { return static_cast<std::uint32_t>(exponent + Host::bias) << Host::fraction_bits; }
std::uint32_t word(Code code) { return static_cast<std::uint32_t>(code); }
/// Of a number that float32 has, or a NaN. No conversion of the processor's: Clang makes it of the bits of infinities and NaNs
/// before it knows what they are, and it raises flags in the caller's environment.
std::uint32_t float_bits(Format format, Code code) {
  const double value = decode(format, code);
  return value != value ? bit_cast<std::uint32_t>(std::numeric_limits<float>::quiet_NaN()) : word(encode(float32, value));
}

/// Sums |x| + 2^k with k = exponent + 23 - fraction_bits must neither overflow nor need half a unit below float's normals.
bool sums_serve(Format format) {
  return format.fraction_bits < Host::fraction_bits &&
         format.min_exponent() - format.fraction_bits - 1 >= least_host_exponent &&
         format.max_exponent() + 2 + Host::fraction_bits - format.fraction_bits <= Host::bias;
}
/// The subnormals of the format are those of float, cut.
bool bits_serve(Format format) { return format.min_exponent() == least_host_exponent && fits_float(format); }

Way way_of(Format format, Rounding rounding) {
  const bool bits = bits_serve(format);
  if (format.fraction_bits == Host::fraction_bits) return Way::bits_offset;  // nothing is dropped
  switch (rounding) {
    case Rounding::nearest_even:  // without fraction bits, where codes serve (plan_rounding), ties go away from zero
      if (format.fraction_bits == 0) return bits ? Way::bits_offset : Way::sum_away;
      return bits ? Way::bits_even : Way::sum_nearest;
    case Rounding::nearest_away: return bits ? Way::bits_offset : Way::sum_away;
    case Rounding::to_odd: return bits ? Way::bits_odd : Way::sum_odd;
    case Rounding::stochastic: return bits ? Way::bits_stochastic : Way::sum_stochastic;
    default: return bits ? Way::bits_offset : Way::sum;
  }
}

Direction direction_of(Way way, Rounding rounding) {
  if (way == Way::sum_nearest || way >= Way::bits_even) return Direction::nearest;
  return way == Way::sum ? detail::direction_of(rounding) : Direction::zero;
}

/// What truncation must be preceded by, for numbers of one sign.
std::uint32_t offset(Rounding rounding, std::uint32_t dropped, bool negative) {
  const std::uint32_t unit = std::uint32_t{1} << dropped;
  switch (rounding) {
    case Rounding::nearest_even:
    case Rounding::nearest_away: return unit >> 1;
    case Rounding::upward: return negative ? 0 : unit - 1;
    case Rounding::downward: return negative ? unit - 1 : 0;
    default: return 0;
  }
}

Special special_of(const BulkPlan& plan, Format format, const RoundingOptions& options) {
  const bool saturating = options.policy == Policy::saturating;
  const bool full_exponent = format.bits() == 1 + 8 + format.fraction_bits;
  if (options.flush_subnormals || options.subnormals_are_zero) return Special::any;
  const bool as_ieee = format.specials == Specials::ieee && format.has_nan();
  if (bits_serve(format) && full_exponent && as_ieee && !saturating) return Special::natural;
  if (!format.is_signed() && format.has_zero()) return Special::any;
  const bool all_nan = format.has_nan() && plan.overflow_positive == plan.nan && plan.infinity_positive == plan.nan;
  if (format.negative_zero_is_nan()) return all_nan ? Special::fnuz : Special::any;
  if (all_nan) return Special::nan;
  if (format.is_signed() && plan.overflow_positive == plan.infinity_positive &&
      plan.overflow_negative == plan.infinity_negative)
    return Special::same;
  if (!format.is_signed() || saturating) return Special::any;
  return plan.overflow_positive == plan.largest && plan.overflow_negative == (plan.largest | plan.sign_bit) ? Special::truncated
                                                                                                            : Special::directed;
}

void plan_specials(BulkPlan& plan, Format format, const RoundingOptions& options, bool values) {
  const auto result = [&](Code code) { return values ? float_bits(format, code) : word(code); };
  const auto out_of_range = [&](bool negative, bool infinite) {
    const Code code = out_of_range_code(format, options, negative, infinite);
    const bool is_nan = format.has_nan() && code == format.nan_code();
    return result(code | (negative && !is_nan ? format.sign_mask() : 0));
  };
  plan.largest = result(format.max_finite_code());
  plan.overflow_positive = out_of_range(false, false);
  plan.overflow_negative = out_of_range(true, false);
  plan.infinity_positive = out_of_range(false, true);
  plan.infinity_negative = out_of_range(true, true);
  plan.nan = result(format.has_nan() ? format.nan_code() : format.max_finite_code());
  plan.zero_input_below = options.subnormals_are_zero ? field(least_host_exponent) : 0;
  plan.zero_below = options.flush_subnormals ? result(format.min_normal_code()) : (format.has_negative_zero() ? 0 : 1);
  plan.zero_sign = format.has_negative_zero() ? plan.sign_bit : 0;
  plan.largest_negative = format.is_signed() || !format.has_zero() ? plan.largest : plan.zero_below - 1;

  plan.special = special_of(plan, format, options);
}

}  // namespace

Direction direction_of(Rounding rounding) {
  switch (rounding) {
    case Rounding::toward_zero: return Direction::zero;
    case Rounding::upward: return Direction::up;
    case Rounding::downward: return Direction::down;
    default: return Direction::nearest;
  }
}

std::optional<BulkPlan> plan_rounding(Format format, const RoundingOptions& options, bool values) {
  const bool exponent = format.specials == Specials::fnu;
  if (exponent && (format.exponent_bits != 8 || format.bias != Host::bias || options.rounding == Rounding::stochastic))
    return std::nullopt;
  if (!exponent && !bits_serve(format) && !sums_serve(format)) return std::nullopt;
  // Without fraction bits evenness is that of codes, which no way here looks at.
  const bool looks_at_evenness = options.rounding == Rounding::nearest_even || options.rounding == Rounding::to_odd;
  if (format.fraction_bits == 0 && format.has_even_codes() && looks_at_evenness) return std::nullopt;
  // Without fraction bits the bit that to_odd sets is the implicit one.
  if (bits_serve(format) && format.fraction_bits == 0 && options.rounding == Rounding::to_odd) return std::nullopt;

  BulkPlan plan{};
  plan.way = exponent ? Way::exponent : way_of(format, options.rounding);
  plan.direction = direction_of(plan.way, options.rounding);
  plan.dropped = static_cast<std::uint32_t>(Host::fraction_bits - format.fraction_bits);
  plan.least_exponent = exponent ? 0 : field(format.min_exponent());
  plan.most_exponent = exponent ? 0 : field(format.max_exponent() + 2);
  if (plan.dropped > 0 && !(format.specials == Specials::fnu && options.rounding == Rounding::to_odd)) {
    plan.offset_positive = offset(options.rounding, plan.dropped, false);
    plan.offset_negative = offset(options.rounding, plan.dropped, true);
  }
  // Below 2^-126 a float's bits have no leading one: 2^-127 is half of the least normal's, 3/2 of that the tie.
  constexpr std::uint32_t half_least = std::uint32_t{1} << (Host::fraction_bits - 1);
  const bool nearest = options.rounding == Rounding::nearest_even || options.rounding == Rounding::nearest_away;
  plan.raise_from = nearest ? half_least + half_least / 2 : (options.rounding == Rounding::upward ? half_least + 1 : 0);
  plan.random_bits = options.random_bits;
  plan.code_bias = plan.least_exponent >> plan.dropped;
  plan.sign_shift = values ? 0 : static_cast<std::uint32_t>(32 - format.bits());
  plan.sign_bit = values && format.is_signed() ? sign : word(format.sign_mask());
  plan_specials(plan, format, options, values);
  const bool processor_rounds = plan.way == Way::sum_nearest || plan.way == Way::sum;
  if (format == float16 && processor_rounds && plan.special != Special::any && options.policy == Policy::nonsaturating)
    plan.way = Way::half;
  return plan;
}

std::optional<DecodePlan> plan_decoding(Format format, bool subnormals_are_zero) {
  if (format.is_integer()) return std::nullopt;
  DecodePlan plan{};
  if (format.specials == Specials::fnu) {
    if (format.exponent_bits != 8 || format.bias != Host::bias) return std::nullopt;
    plan.codes = Codes::exponent;
    return plan;
  }
  if (!fits_float(format) || format.min_exponent() < least_host_exponent) return std::nullopt;

  const int shift = Host::fraction_bits - format.fraction_bits;
  const auto magnitude = [&](Code code) { return word(code) << shift; };
  plan.top_shift = static_cast<std::uint32_t>(31 - format.exponent_bits - format.fraction_bits);
  plan.exponent_shift = static_cast<std::uint32_t>(8 - format.exponent_bits);
  plan.word_mask = (format.is_signed() ? sign : 0) | magnitude(format.magnitude_mask());
  plan.rebias = static_cast<std::uint32_t>(Host::bias - format.bias) << Host::fraction_bits;
  plan.least_exponent = field(format.min_exponent());
  plan.least_normal = bits_serve(format) ? 0 : magnitude(format.min_normal_code());
  plan.infinity = format.has_infinity() ? magnitude(format.infinity_code()) : ~std::uint32_t{0};
  plan.negative_zero_is_nan = format.negative_zero_is_nan();
  plan.nan_above = plan.negative_zero_is_nan
                       ? magnitude(format.magnitude_mask())
                       : magnitude(format.has_infinity() ? format.infinity_code() : format.max_finite_code());
  plan.zero_below = subnormals_are_zero ? magnitude(format.min_normal_code()) : 0;
  plan.zero_sign = format.has_negative_zero() ? sign : 0;

  if (plan.negative_zero_is_nan || subnormals_are_zero)
    plan.codes = Codes::any;
  else if (bits_serve(format) && plan.exponent_shift == 0 && format.specials == Specials::ieee)
    plan.codes = Codes::upper;
  else if (format == float16)
    plan.codes = Codes::half;
  else
    plan.codes = format.has_infinity() ? Codes::infinite : Codes::plain;
  return plan;
}

}  // namespace ulpscope::emu::detail
