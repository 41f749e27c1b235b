// SPDX-License-Identifier: Apache-2.0
// Comparisons of emu with a conversion of NVIDIA's math headers: the codes are equal, NaN codes included. What `counts` leaves
// out, the calling test states in a case of its own.
#pragma once

#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <cstdint>

#include "emu/catalogue.hpp"
#include "emu/encode.hpp"
#include "inputs.hpp"

namespace peers {

inline constexpr ulpscope::emu::RoundingOptions saturating{.policy = ulpscope::emu::Policy::saturating};

inline constexpr auto every_input = [](auto) { return true; };

/// `theirs` and emu agree on every input of type Float that `counts` accepts.
template <class Float, class Theirs, class Counts = decltype(every_input)>
void check(ulpscope::emu::Format format, const ulpscope::emu::RoundingOptions& options, Theirs theirs,
           Counts counts = every_input) {
  const auto different = first_difference<Float>(
      [&](Float x) { return !counts(x) || std::uint64_t{theirs(x)} == ulpscope::emu::encode(format, x, options); });
  if (!different) {
    SUCCEED();
    return;
  }
  const auto x = std::bit_cast<Float>(*different);
  CAPTURE(format.exponent_bits, format.fraction_bits, static_cast<int>(options.rounding), static_cast<int>(options.policy));
  CAPTURE(*different, x);
  CHECK(std::uint64_t{theirs(x)} == ulpscope::emu::encode(format, x, options));
}

/// `theirs` and emu convert every code of `from` alike whose value `counts` accepts.
template <class Theirs, class Counts = decltype(every_input)>
void check_codes(ulpscope::emu::Format from, ulpscope::emu::Format to, const ulpscope::emu::RoundingOptions& options,
                 Theirs theirs, Counts counts = every_input) {
  for (std::uint32_t code = 0; code <= from.code_mask(); ++code) {
    if (!counts(ulpscope::emu::decode(from, code))) continue;
    const std::uint64_t expected = theirs(code);
    const auto ours = ulpscope::emu::convert(from, code, to, options).code;
    if (expected == ours) continue;
    CAPTURE(from.exponent_bits, to.exponent_bits, to.fraction_bits, static_cast<int>(options.rounding), code);
    REQUIRE(expected == ours);
  }
  SUCCEED();
}

}  // namespace peers
