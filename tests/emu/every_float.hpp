// SPDX-License-Identifier: Apache-2.0
// encode on all 2^32 floats. Between two boundaries of a format the code is constant; the boundaries come from the oracle's
// values, as exact doubles, and every float between them is encoded and compared.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "emu/catalogue.hpp"
#include "tests/emu/encode_laws.hpp"

namespace ulpscope::every_float {

// 2^32 conversions take seconds only when optimised and without sanitizers; the other laws cover those builds.
#if defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__)
inline constexpr bool is_fast_build = true;
#else
inline constexpr bool is_fast_build = false;
#endif

inline constexpr std::uint32_t infinity_pattern = 0x7f800000, sign_pattern = 0x80000000;

/// All floats from pattern `first` to the next run's have this code.
struct Run {
  std::uint32_t first;
  std::uint32_t code;
};

/// The pattern of the least nonnegative float that is >= value, or > value if `beyond`.
inline std::uint32_t first_pattern(double value, bool beyond) {
  if (value > static_cast<double>(std::numeric_limits<float>::max())) return infinity_pattern;
  auto x = static_cast<float>(value);
  if (static_cast<double>(x) < value) x = std::nextafter(x, std::numeric_limits<float>::infinity());
  const auto pattern = std::bit_cast<std::uint32_t>(x);
  return static_cast<double>(x) == value && beyond ? pattern + 1 : pattern;
}

/// Where the magnitudes that round to `code` + 1 begin: `here` is the value of `code`, `next` that of `code` + 1.
inline std::uint32_t start_of_next(oracle::Format f, oracle::Mode mode, bool negative, std::uint64_t code, double here,
                                   double next) {
  const bool by_code = f.fraction_bits > 0 || oracle::has_even_codes(f), even = by_code && code % 2 == 0;
  const double middle = here + (next - here) / 2;
  switch (mode) {
    case oracle::nearest_even: return first_pattern(middle, even);
    case oracle::nearest_away: return first_pattern(middle, false);
    case oracle::toward_zero: return first_pattern(next, false);
    case oracle::upward: return negative ? first_pattern(next, false) : first_pattern(here, true);
    case oracle::downward: return negative ? first_pattern(here, true) : first_pattern(next, false);
    case oracle::to_odd: break;
  }
  const bool odd = by_code ? !even : here != 0;
  return odd ? first_pattern(next, false) : first_pattern(here, true);
}

inline std::vector<Run> runs_of(oracle::Format f, oracle::Mode mode, bool saturating, bool negative) {
  const double sign = negative ? -1 : 1;
  const auto special = [&](double x) {
    return static_cast<std::uint32_t>(oracle::round(f, std::copysign(x, sign), mode, {.saturating = saturating}).code);
  };
  constexpr double infinity = std::numeric_limits<double>::infinity();
  std::vector<Run> out;
  if (f.style == oracle::fnu && negative) {  // no negative numbers; -0 is raised as 0 is
    out = {{0, special(0)}, {1, special(1)}};
  } else if (!oracle::is_signed(f) && negative) {  // all that is not rounded to zero becomes one thing
    out = {{0, special(0)}, {start_of_next(f, mode, true, 0, 0, oracle::value_of(f, 1)), special(oracle::value_of(f, 1))}};
  } else {
    const std::uint64_t last = oracle::max_finite_code(f);
    out.push_back({0, special(0)});
    double here = oracle::value_of(f, 0), gap = 0;
    for (std::uint64_t code = 0; code <= last; ++code) {
      const bool at_end = code == last;
      // Beyond the largest number the grid goes on; without fraction bits it doubles.
      const double next = !at_end ? oracle::value_of(f, code + 1) : f.fraction_bits == 0 ? 2 * here : here + gap;
      const std::uint32_t first = start_of_next(f, mode, negative, code, here, next);
      const auto code_there = at_end ? special(2 * next) : static_cast<std::uint32_t>(oracle::code_of(f, sign * next));
      if (first < infinity_pattern) out.push_back({first, code_there});
      gap = next - here;
      here = next;
    }
  }
  out.push_back({infinity_pattern, special(infinity)});
  out.push_back({infinity_pattern + 1, special(std::numeric_limits<double>::quiet_NaN())});
  return out;
}

// What follows is static: each file that includes it has it as its own options optimise it.

/// Whether every float of the sign is encoded as its run says; the pattern of the first that is not, if any.
template <emu::Format F, emu::Rounding R, emu::Policy P>
static std::uint64_t first_wrong(const std::vector<Run>& runs, std::uint32_t sign) {
  constexpr emu::RoundingOptions options{.rounding = R, .policy = P};
  const auto encoded = [&](std::uint32_t pattern) {
    return static_cast<std::uint32_t>(emu::encode(F, std::bit_cast<float>(pattern | sign), options));
  };
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const std::uint32_t end = i + 1 < runs.size() ? runs[i + 1].first : sign_pattern;
    std::uint32_t difference = 0;
    for (std::uint32_t pattern = runs[i].first; pattern < end; ++pattern) difference |= encoded(pattern) ^ runs[i].code;
    if (difference == 0) continue;
    std::uint32_t pattern = runs[i].first;
    while (encoded(pattern) == runs[i].code) ++pattern;
    return pattern | sign;
  }
  return std::uint64_t{1} << 32;
}

/// Fails the test case that calls it where a float is encoded wrongly.
template <emu::Format F, emu::Rounding R, emu::Policy P>
static void require_every_float() {
  if (!is_fast_build) SKIP("only in optimised builds");
  std::array<std::uint64_t, 2> wrong{};
  std::array<std::uint64_t, 2> visited{};
  const auto visit = [&](bool negative) {
    const auto runs = runs_of(laws::oracle_format(F), laws::oracle_mode(R), P == emu::Policy::saturating, negative);
    const bool ordered = std::is_sorted(runs.begin(), runs.end(), [](Run a, Run b) { return a.first < b.first; });
    visited[negative] = ordered && runs.front().first == 0 ? runs.size() : 0;
    wrong[negative] = first_wrong<F, R, P>(runs, negative ? sign_pattern : 0);
  };
  std::thread other(visit, true);
  visit(false);
  other.join();
  INFO(emu::format_name(F) << ' ' << emu::name_of(R) << ' ' << emu::name_of(P) << ": first wrong patterns " << std::hex
                           << wrong[0] << ' ' << wrong[1] << " (100000000: none)");
  CHECK(visited[0] > 2);
  CHECK(visited[1] > 2);
  CHECK(wrong[0] == std::uint64_t{1} << 32);
  CHECK(wrong[1] == std::uint64_t{1} << 32);
}

}  // namespace ulpscope::every_float
