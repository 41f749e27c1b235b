// SPDX-License-Identifier: Apache-2.0
// Inputs of conversions, and codes by the oracle.
#include "verify/generate/generate_cast.hpp"

#include <algorithm>
#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstdint>
#include <set>
#include <string>

#include "emu/catalogue.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"
#include "tests/oracle/rounding_oracle.hpp"

namespace {

using namespace ulpscope;

oracle::Format oracle_format(emu::Format f) {
  return {f.exponent_bits, f.fraction_bits, f.bias, static_cast<oracle::Style>(f.specials)};
}

}  // namespace

TEST_CASE("conversions come with the codes of the oracle", "[verify][generate]") {
  for (const emu::Format to : {emu::float16, emu::bfloat16, emu::float8_e4m3fn, emu::float8_e5m2, emu::float8_e4m3fnuz,
                               emu::float4_e2m1fn, emu::float8_e8m0fnu, emu::binary8p1se, emu::binary8p4se, emu::binary8p4uf})
    for (const emu::Policy policy : emu::all_policies) {
      const verify::CastCase made = verify::generate_cast(to, {.policy = policy});
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < made.input.size(); ++i)
        wrong += made.expected[i] != oracle::round(oracle_format(to), static_cast<double>(made.input[i]), oracle::nearest_even,
                                                   {.saturating = policy == emu::Policy::saturating})
                                         .code;
      CAPTURE(emu::format_name(to), emu::name_of(policy));
      CHECK(wrong == 0);
    }
}

TEST_CASE("what is said of a format's own numbers is true of its codes", "[verify][generate]") {
  const auto said = [](emu::Format to, const emu::RoundingOptions& options) {
    return verify::generate_cast(to, options).groups.front().what;
  };
  const std::string start = "every finite number of the format";
  CHECK(said(emu::float8_e4m3fn, {}) == start + ": comes out unchanged");
  // No number has a sign, and there is no zero: 255 of 510.
  CHECK(said(emu::float8_e8m0fnu, {}) == start + ", with both signs: 255 come out unchanged");
  // 7 subnormal numbers of each sign, of 252.
  CHECK(said(emu::float8_e4m3fn, {.flush_subnormals = true}) == start + ", with both signs: 238 come out unchanged");
}

TEST_CASE("every tie of a format is there with the floats beside it", "[verify][generate]") {
  for (const emu::Format to : {emu::float16, emu::bfloat16, emu::float8_e4m3fn, emu::float8_e5m2, emu::float4_e2m1fn}) {
    const verify::CastCase made = verify::generate_cast(to);
    std::set<std::uint32_t> inputs;
    for (const float x : made.input) inputs.insert(std::bit_cast<std::uint32_t>(x));
    const oracle::Format f = oracle_format(to);
    const std::uint64_t last = oracle::max_finite_code(f);
    std::size_t missing = 0;
    const auto want = [&](double x) {
      const auto word = std::bit_cast<std::uint32_t>(static_cast<float>(x));
      for (const std::uint32_t near : {word - 1, word, word + 1})
        missing += !inputs.contains(near) + !inputs.contains(near | 0x80000000U);
    };
    for (std::uint64_t code = 0; code < last; ++code) want((oracle::value_of(f, code) + oracle::value_of(f, code + 1)) / 2);
    want(oracle::value_of(f, last) + (oracle::value_of(f, last) - oracle::value_of(f, last - 1)) / 2);
    CAPTURE(emu::format_name(to));
    CHECK(missing == 0);
    CHECK(made.outside_float32 == (to == emu::bfloat16 ? 2U : 0U));  // 2^128 and 2^129
    for (const std::uint32_t word : {0U, 0x80000000U, 0x7f800000U, 0xff800000U, 0x7f800001U, 0x7fc00000U, 1U, 0x7f7fffffU})
      CHECK(inputs.contains(word));
    std::size_t counted = 0;
    for (const verify::CastGroup& group : made.groups) {
      CHECK(group.first == counted);
      counted += group.count;
    }
    CHECK(counted == made.input.size());
  }
  CHECK_THROWS_AS(verify::generate_cast(emu::float32), Error);
  CHECK_THROWS_AS(verify::generate_cast(emu::float16, {.rounding = emu::Rounding::stochastic}), Error);
}
