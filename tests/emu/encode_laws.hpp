// SPDX-License-Identifier: Apache-2.0
// The inputs at which rounding can go wrong, and the check that an encoder agrees with the oracle on them. An encoder is any
// callable (Format, float or double, RoundingOptions) -> Rounded, so that broken ones can be checked to be found.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "emu/encode.hpp"
#include "emu/names.hpp"
#include "tests/oracle/rounding_oracle.hpp"

namespace ulpscope::laws {

inline oracle::Format oracle_format(emu::Format f) {
  oracle::Style style = oracle::ieee;
  switch (f.specials) {
    case emu::Specials::ieee: style = oracle::ieee; break;
    case emu::Specials::fn: style = oracle::fn; break;
    case emu::Specials::fnuz: style = oracle::fnuz; break;
    case emu::Specials::finite: style = oracle::finite; break;
    case emu::Specials::fnu: style = oracle::fnu; break;
    case emu::Specials::se: style = oracle::se; break;
    case emu::Specials::ue: style = oracle::ue; break;
    case emu::Specials::uf: style = oracle::uf; break;
  }
  return {f.exponent_bits, f.fraction_bits, f.bias, style};
}

inline oracle::Mode oracle_mode(emu::Rounding rounding) {
  switch (rounding) {
    case emu::Rounding::nearest_even: return oracle::nearest_even;
    case emu::Rounding::nearest_away: return oracle::nearest_away;
    case emu::Rounding::toward_zero: return oracle::toward_zero;
    case emu::Rounding::upward: return oracle::upward;
    case emu::Rounding::downward: return oracle::downward;
    default: return oracle::to_odd;
  }
}

/// The directions that have one right answer.
inline constexpr emu::Rounding deterministic[] = {emu::Rounding::nearest_even, emu::Rounding::nearest_away,
                                                  emu::Rounding::toward_zero,  emu::Rounding::upward,
                                                  emu::Rounding::downward,     emu::Rounding::to_odd};

/// Every direction, otherwise plain.
inline std::vector<emu::RoundingOptions> every_direction() {
  std::vector<emu::RoundingOptions> out;
  for (const emu::Rounding rounding : deterministic) out.push_back({.rounding = rounding});
  return out;
}
/// In every direction: plain, saturating, tininess before rounding, and each flush switch.
inline std::vector<emu::RoundingOptions> every_option() {
  std::vector<emu::RoundingOptions> out;
  for (const emu::Rounding rounding : deterministic) {
    out.push_back({.rounding = rounding});
    out.push_back({.rounding = rounding, .policy = emu::Policy::saturating});
    out.push_back({.rounding = rounding, .tininess = emu::Tininess::before_rounding});
    out.push_back({.rounding = rounding, .flush_subnormals = true});
    out.push_back({.rounding = rounding, .subnormals_are_zero = true});
  }
  return out;
}

/// Magnitudes of finite codes: all of them, or every exponent with the first, middle and last fractions and random ones.
inline std::vector<std::uint64_t> magnitudes(emu::Format format, bool all, std::mt19937_64& random) {
  const oracle::Format f = oracle_format(format);
  const std::uint64_t last = oracle::max_finite_code(f);
  std::vector<std::uint64_t> out;
  if (all) {
    for (std::uint64_t code = 0; code <= last; ++code) out.push_back(code);
    return out;
  }
  const std::uint64_t count = std::uint64_t{1} << f.fraction_bits;
  for (std::uint64_t base = 0; base <= last; base += count) {
    std::vector<std::uint64_t> fractions{0, 1, 2, count / 2 - 1, count / 2, count / 2 + 1, count - 2, count - 1};
    for (int i = 0; i < 4; ++i) fractions.push_back(random() % count);
    for (const std::uint64_t fraction : fractions)
      if (base + fraction <= last) out.push_back(base + fraction);
  }
  return out;
}

/// Representable values, the quarter points between them (ties; the finer grid that decides tininess), and what lies just
/// beyond the largest and below the least. All exact in double where double has the bits.
inline std::vector<double> landmarks(emu::Format format, bool all, std::mt19937_64& random) {
  const oracle::Format f = oracle_format(format);
  std::vector<double> out{0.0,
                          std::numeric_limits<double>::denorm_min(),
                          std::numeric_limits<double>::min(),
                          std::numeric_limits<double>::max(),
                          std::numeric_limits<double>::infinity(),
                          std::numeric_limits<float>::denorm_min(),
                          std::numeric_limits<float>::min(),
                          std::numeric_limits<float>::max()};
  const std::uint64_t last = oracle::max_finite_code(f);
  for (const std::uint64_t code : magnitudes(format, all, random)) {
    const double here = oracle::value_of(f, code);
    const double gap = code < last ? oracle::value_of(f, code + 1) - here : here - oracle::value_of(f, code - 1);
    for (const double part : {0.0, 0.25, 0.5, 0.75}) out.push_back(here + part * gap);
  }
  const double most = oracle::value_of(f, last), least = oracle::value_of(f, f.style == oracle::fnu ? 0 : 1);
  const double gap = most - oracle::value_of(f, last - 1);
  for (const double part : {1.0, 1.5, 2.0, 3.0}) out.push_back(most + part * gap);
  for (const double factor : {0x1p-1, 0x1p-2, 0x1p-3, 0x1p-30}) out.push_back(least * factor);
  for (const double factor : {2.0, 4.0, 16.0}) out.push_back(most * factor);
  return out;
}

template <class Float>
std::vector<Float> with_neighbours(const std::vector<double>& values) {
  std::vector<Float> out;
  constexpr Float infinity = std::numeric_limits<Float>::infinity();
  for (const double value : values) {
    const auto centre = static_cast<Float>(value);
    for (const Float x : {centre, std::nextafter(centre, infinity), std::nextafter(centre, -infinity)}) {
      out.push_back(x);
      out.push_back(-x);
    }
  }
  return out;
}

/// Everything in float: landmarks with a float32 ulp on each side, NaNs of both kinds and signs, random bit patterns.
inline std::vector<float> float_inputs(emu::Format format, bool all, int random_count) {
  std::mt19937_64 random(20240229);
  std::vector<float> out = with_neighbours<float>(landmarks(format, all, random));
  for (const std::uint32_t nan : {0x7f800001u, 0x7fc00000u, 0x7fffffffu, 0x7fbfffffu, 0x7f812345u, 0x7fd54321u})
    for (const std::uint32_t sign : {0u, 0x80000000u}) out.push_back(std::bit_cast<float>(nan | sign));
  for (int i = 0; i < random_count; ++i) out.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(random())));
  return out;
}

/// The same in double, the random ones within the format's range and a few binades beyond.
inline std::vector<double> double_inputs(emu::Format format, bool all, int random_count) {
  std::mt19937_64 random(20240301);
  std::vector<double> out = with_neighbours<double>(landmarks(format, all, random));
  for (const std::uint64_t nan : {0x7ff0000000000001u, 0x7ff8000000000000u, 0x7fffffffffffffffu, 0x7ff7ffffffffffffu})
    for (const std::uint64_t sign : {std::uint64_t{0}, std::uint64_t{1} << 63})
      out.push_back(std::bit_cast<double>(nan | sign));
  const int low = std::max(format.min_spacing_exponent() - 4, -1074), high = std::min(format.max_exponent() + 3, 1023);
  for (int i = 0; i < random_count; ++i) {
    const int exponent = low + static_cast<int>(random() % static_cast<std::uint64_t>(high - low + 1));
    const std::uint64_t kept = ~std::uint64_t{0} << (random() % 53);  // few or many fraction bits
    const auto significand = std::bit_cast<double>((random() & kept & 0x800fffffffffffffu) | 0x3ff0000000000000u);
    out.push_back(std::ldexp(significand, exponent));
  }
  return out;
}

inline double widened(double x) { return x; }
/// By its bits, so that a signaling NaN stays one.
inline double widened(float x) {
  const auto word = std::bit_cast<std::uint32_t>(x);
  if (!std::isnan(x)) return static_cast<double>(x);
  return std::bit_cast<double>(std::uint64_t{word >> 31} << 63 | std::uint64_t{0x7ff} << 52 |
                               std::uint64_t{word & 0x7fffffu} << 29);
}

inline std::string describe(std::uint64_t code, double value, int outcome, int flags) {
  std::ostringstream out;
  out << "code 0x" << std::hex << code << ", value " << std::hexfloat << value << ", outcome "
      << emu::name_of(static_cast<emu::Outcome>(outcome)) << ", flags " << std::dec << flags;
  return out.str();
}

/// The first input at which `encoder` and the oracle differ in code, value, outcome or flags.
template <class Float, class Encoder>
std::optional<std::string> first_violation(emu::Format format, const emu::RoundingOptions& options,
                                           const std::vector<Float>& inputs, Encoder&& encoder) {
  const oracle::Format f = oracle_format(format);
  const oracle::Mode mode = oracle_mode(options.rounding);
  const oracle::Options how{options.policy == emu::Policy::saturating, options.tininess == emu::Tininess::before_rounding,
                            options.flush_subnormals};
  for (const Float x : inputs) {
    const double exact = widened(x);
    const oracle::Answer wanted = oracle::round(f, exact, mode, how);
    const emu::Rounded got = encoder(format, x, options);
    const bool same_value = std::isnan(wanted.value)
                                ? std::isnan(got.value)
                                : std::bit_cast<std::uint64_t>(wanted.value) == std::bit_cast<std::uint64_t>(got.value);
    if (got.code == wanted.code && same_value && static_cast<int>(got.outcome) == wanted.outcome &&
        static_cast<int>(got.flags) == wanted.flags)
      continue;
    std::ostringstream out;
    out << emu::format_name(format) << ' ' << emu::name_of(options.rounding) << ' ' << emu::name_of(options.policy)
        << (how.tiny_before ? " tiny-before" : " tiny-after") << (how.flush_subnormals ? " flushed" : "") << ", "
        << (sizeof(Float) == 4 ? "float " : "double ") << std::hexfloat << exact << ": got "
        << describe(got.code, got.value, static_cast<int>(got.outcome), static_cast<int>(got.flags)) << "; wanted "
        << describe(wanted.code, wanted.value, wanted.outcome, wanted.flags);
    return out.str();
  }
  return std::nullopt;
}

}  // namespace ulpscope::laws
