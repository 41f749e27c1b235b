// SPDX-License-Identifier: Apache-2.0
// round_to against MPFR: code, value, outcome and flags.
#include <catch2/catch_test_macros.hpp>

#include "emu/catalogue.hpp"
#include "tests/emu/encode_laws.hpp"

namespace {
using namespace ulpscope;

constexpr auto emulated = [](emu::Format format, auto x, const emu::RoundingOptions& options) {
  return emu::round_to(format, x, options);
};

std::vector<emu::Format> formats() {
  std::vector<emu::Format> out;
  for (const emu::NamedFormat& named : emu::catalogue) out.push_back(named.format);
  using enum emu::Specials;
  for (const emu::Format custom :
       {emu::Format{2, 0, 1, ieee}, emu::Format{3, 0, 3, finite}, emu::Format{3, 0, 4, fnuz}, emu::Format{5, 3, 15, fn},
        emu::Format{4, 3, 8, fnuz}, emu::Format{2, 1, 2, fnuz}, emu::Format{6, 9, 40, ieee}, emu::Format{8, 23, 150, ieee},
        emu::Format{8, 7, 0, fn}, emu::Format{5, 10, 127, ieee}, emu::Format{2, 3, 126, finite}, emu::Format{8, 2, 1023, ieee},
        emu::Format{2, 1, 2, se}, emu::Format{10, 2, 512, se}, emu::Format{8, 7, 127, se}, emu::Format{3, 0, 4, uf},
        emu::Format{1, 2, 1, ue}, emu::Format{8, 7, 127, ue}, emu::Format{8, 0, 127, fnuz}})
    out.push_back(custom);
  return out;
}

/// What is tried beside the directions: each pair of policy, tininess convention and flushing, or all that there is.
enum class Switches { pairs, all };

/// All modes at the inputs given.
template <class Float>
void require_agreement(emu::Format format, const std::vector<Float>& inputs, Switches switches) {
  std::vector<emu::RoundingOptions> all;
  for (const emu::Rounding rounding : laws::deterministic)
    for (const emu::Policy policy : emu::all_policies)
      for (const emu::Tininess tininess : {emu::Tininess::after_rounding, emu::Tininess::before_rounding})
        for (const bool flush : {false, true}) {
          const bool even = (policy == emu::Policy::saturating) == ((tininess == emu::Tininess::before_rounding) != flush);
          if (switches == Switches::all || even) all.push_back({rounding, policy, tininess, flush});
        }
  for (const emu::RoundingOptions& options : all) {
    const auto violation = laws::first_violation(format, options, inputs, emulated);
    INFO(violation.value_or(""));
    CHECK_FALSE(violation.has_value());
  }
}

/// Shares the work between the processor's cores' worth of tests: one case per part of the list.
template <class Float>
void require_agreement_of_part(int part, int parts, int wide_bits, int random_count, Switches switches = Switches::pairs) {
  int index = 0;
  for (const emu::Format format : formats()) {
    if (index++ % parts != part) continue;
    const bool all = format.bits() <= wide_bits;
    if constexpr (sizeof(Float) == 4) {
      require_agreement(format, laws::float_inputs(format, all, random_count), switches);
    } else {
      require_agreement(format, laws::double_inputs(format, all, random_count), switches);
    }
  }
}

TEST_CASE("a float rounds as MPFR rounds it, in every other format, direction and policy", "[encode][long]") {
  require_agreement_of_part<float>(0, 2, 8, 20'000);
}
TEST_CASE("a float rounds as MPFR rounds it, in the formats between them", "[encode][long]") {
  require_agreement_of_part<float>(1, 2, 8, 20'000);
}

TEST_CASE("a double rounds as MPFR rounds it, in every other format, direction and policy", "[encode][long]") {
  require_agreement_of_part<double>(0, 2, 8, 5'000);
}
TEST_CASE("a double rounds as MPFR rounds it, in the formats between them", "[encode][long]") {
  require_agreement_of_part<double>(1, 2, 8, 5'000);
}

TEST_CASE("all codes of 16 bits and their midpoints round as MPFR rounds them, as float", "[encode][exhaustive]") {
  require_agreement_of_part<float>(0, 1, 16, 100'000, Switches::all);
}

TEST_CASE("all codes of 16 bits and their midpoints round as MPFR rounds them, as double", "[encode][exhaustive]") {
  require_agreement_of_part<double>(0, 1, 16, 10'000, Switches::all);
}

TEST_CASE("decode is the number that the definition gives", "[decode]") {
  for (const emu::Format format : formats()) {
    const oracle::Format f = laws::oracle_format(format);
    std::mt19937_64 random(7);
    for (const std::uint64_t magnitude : laws::magnitudes(format, format.bits() <= 19, random))
      for (const std::uint64_t code : {magnitude, magnitude | format.sign_mask()}) {
        const double wanted = oracle::value_of(f, code), got = emu::decode(format, code);
        INFO(emu::format_name(format) << " code " << code);
        if (std::isnan(wanted)) {
          REQUIRE(std::isnan(got));
          REQUIRE(format.is_nan(code));
          continue;
        }
        REQUIRE(std::bit_cast<std::uint64_t>(wanted) == std::bit_cast<std::uint64_t>(got));
        REQUIRE(oracle::code_of(f, got) == code);
      }
  }
}

TEST_CASE("converting a code is rounding its value, and a signaling NaN is invalid", "[encode]") {
  for (const emu::Format from : {emu::e4m3, emu::e5m2, emu::float8_e4m3fnuz, emu::e8m0, emu::e2m1})
    for (const emu::NamedFormat& to : emu::catalogue)
      for (std::uint64_t code = 0; code <= from.code_mask(); ++code) {
        const emu::Rounded got = emu::convert(from, code, to.format);
        const oracle::Answer wanted = oracle::round(laws::oracle_format(to.format),
                                                    oracle::value_of(laws::oracle_format(from), code), oracle::nearest_even);
        INFO(emu::format_name(from) << " code " << code << " to " << to.name);
        REQUIRE(got.code == wanted.code);
        REQUIRE(static_cast<int>(got.outcome) == wanted.outcome);
        REQUIRE(static_cast<int>(got.flags) == (from.is_signaling_nan(code) ? oracle::flag_invalid : wanted.flags));
      }
}

}  // namespace
