// SPDX-License-Identifier: Apache-2.0
#include "studies/round_and_count.hpp"

#include <cmath>

#include "emu/catalogue.hpp"
#include "emu/decode.hpp"
#include "emu/encode.hpp"
#include "emu/philox.hpp"

namespace ulpscope::studies {
namespace {

using emu::Format;
using emu::Outcome;
using emu::Rounded;
using emu::RoundingOptions;

/// x / 2^exponent without overflow of the power on the way; |exponent| <= 1074.
inline double divide_by_power(double x, int exponent) {
  const int half = exponent / 2;
  return x * emu::detail::power_of_two(-half) * emu::detail::power_of_two(half - exponent);
}

/// Adds one element. x: the input; scaled: what was rounded; result: what became of it; y: result in the domain of x.
inline void add(ErrorSums& sums, Format format, double x, double scaled, const Rounded& result, double y, double saturated_y,
                std::uint64_t index) {
  ++sums.counts[static_cast<std::size_t>(result.outcome)];
  if (!std::isfinite(x)) return;
  const double magnitude = std::fabs(x);
  if (magnitude > sums.largest.magnitude) sums.largest = {magnitude, index};
  if (magnitude != 0) {
    ++sums.nonzero;
    if (magnitude < sums.smallest.magnitude) sums.smallest = {magnitude, index};
  }
  sums.input.add(x);
  if (std::isfinite(saturated_y))
    sums.saturating_error.add(saturated_y - x);
  else
    ++sums.lost_when_saturating;
  if (!std::isfinite(y)) {
    ++sums.lost;
    return;
  }
  const double error = y - x, size = std::fabs(error);
  sums.error.add(error);
  sums.sum_signed += error;
  sums.sum_abs += size;
  if (size > sums.max_abs) sums.max_abs = size;
  if (magnitude != 0) {
    const double relative = size / magnitude;
    sums.sum_rel += relative;
    if (relative > sums.max_rel) sums.max_rel = relative;
  }
  const double ulps = divide_by_power(std::fabs(result.value - scaled), emu::spacing_exponent(format, scaled));
  if (ulps > sums.max_ulp) sums.max_ulp = ulps;
}

/// What the saturating policy gives where the result was out of range.
inline double saturated(Format format, double scaled, const Rounded& result) {
  if (result.outcome != Outcome::overflow || !(format.is_signed() || scaled > 0)) return result.value;
  return std::copysign(emu::max_finite(format), scaled);
}

/// The class tells what became of the input, not of the scaled value.
inline void reclassify(Rounded& result, Format format, double x, double scaled) {
  if (std::isfinite(x) && !std::isfinite(scaled)) result.outcome = Outcome::overflow;
  if (x != 0 && scaled == 0) result.outcome = format.has_zero() ? Outcome::to_zero : Outcome::rounded;
}

/// The usual cases, with format and options known to the compiler: no scale, or one factor for all.
template <Format format, class Float>
ErrorSums count_uniform(const std::vector<Float>& values, std::uint64_t first, const ElementScale& scale) {
  ErrorSums sums;
  if (scale.multiply == 1 && scale.denominator == 1) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto x = static_cast<double>(values[i]);
      const Rounded result = emu::round_to(format, values[i]);
      add(sums, format, x, x, result, result.value, saturated(format, x, result), first + i);
    }
    return sums;
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto x = static_cast<double>(values[i]);
    const double scaled = x * scale.multiply;
    Rounded result = emu::round_to(format, scaled);
    reclassify(result, format, x, scaled);
    const auto unscaled = [&](double value) { return value * scale.numerator / scale.denominator; };
    add(sums, format, x, scaled, result, unscaled(result.value), unscaled(saturated(format, scaled, result)), first + i);
  }
  return sums;
}

template <class Float>
ErrorSums count_any(const std::vector<Float>& values, std::uint64_t first, Format format, const ScaleMap& scales,
                    const tensors::DType& dtype, const RoundingOptions& options, std::uint64_t seed) {
  const double least_normal_input = dtype.format ? emu::min_normal(*dtype.format) : 0;
  const bool stochastic = options.rounding == emu::Rounding::stochastic;
  const auto through_float = [&](double x) {
    return scales.multiplies_in_float() ? static_cast<double>(static_cast<float>(x)) : x;
  };
  ErrorSums sums;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint64_t index = first + i;
    const auto x = static_cast<double>(values[i]);
    const ElementScale& scale = scales.at(index);
    const bool counts_as_zero = options.subnormals_are_zero && x != 0 && std::fabs(x) < least_normal_input;
    const double scaled = counts_as_zero ? std::copysign(0.0, x) : through_float(x * through_float(scale.multiply));
    const std::uint32_t random = stochastic ? emu::rounding_bits(seed, index) : 0;
    Rounded result = emu::round_to(format, scaled, options, random);
    reclassify(result, format, x, scaled);
    const auto unscaled = [&](double value) { return value * scale.numerator / scale.denominator; };
    add(sums, format, x, scaled, result, unscaled(result.value), unscaled(saturated(format, scaled, result)), index);
  }
  return sums;
}

template <Format... formats>
struct Compiled {
  static bool has(Format format) { return ((format == formats) || ...); }
  template <class Float>
  static ErrorSums count(const std::vector<Float>& values, std::uint64_t first, Format format, const ElementScale& scale) {
    ErrorSums sums;
    ((format == formats ? static_cast<void>(sums = count_uniform<formats>(values, first, scale)) : void()), ...);
    return sums;
  }
};
using Common = Compiled<emu::float16, emu::bfloat16, emu::float8_e4m3fn, emu::float8_e5m2>;

}  // namespace

template <class Float>
ErrorSums round_and_count(const std::vector<Float>& values, std::uint64_t first, Format format, const ScaleMap& scales,
                          const tensors::DType& dtype, const RoundingOptions& options, std::uint64_t seed) {
  const bool is_default = options == RoundingOptions{.random_bits = options.random_bits};
  if (is_default && scales.is_uniform() && !scales.multiplies_in_float() && Common::has(format))
    return Common::count(values, first, format, scales.uniform());
  return count_any(values, first, format, scales, dtype, options, seed);
}

template ErrorSums round_and_count<float>(const std::vector<float>&, std::uint64_t, Format, const ScaleMap&,
                                          const tensors::DType&, const RoundingOptions&, std::uint64_t);
template ErrorSums round_and_count<double>(const std::vector<double>&, std::uint64_t, Format, const ScaleMap&,
                                           const tensors::DType&, const RoundingOptions&, std::uint64_t);

}  // namespace ulpscope::studies
