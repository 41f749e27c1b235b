// SPDX-License-Identifier: Apache-2.0
// subnormals_are_zero: an input subnormal in its own format does what zero of its sign does, and other inputs notice nothing.
#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <limits>
#include <string>

#include "emu/catalogue.hpp"
#include "emu/encode.hpp"
#include "emu/names.hpp"

using namespace ulpscope;

namespace {

constexpr emu::RoundingOptions flushing{.subnormals_are_zero = true};

bool same(const emu::Rounded& a, const emu::Rounded& b) { return a.code == b.code && a.flags == b.flags; }

/// What zero of x's sign becomes, but for the class: the input was not zero.
template <class Float>
bool acts_as_zero(emu::Format format, Float x) {
  const emu::Rounded got = emu::round_to(format, x, flushing), zero = emu::round_to(format, x < 0 ? Float{-0.0} : Float{0.0});
  return same(got, zero) && got.outcome == (format.has_zero() ? emu::Outcome::to_zero : emu::Outcome::rounded);
}

}  // namespace

TEST_CASE("subnormal floats and doubles count as zero of their sign where asked", "[encode]") {
  for (const emu::NamedFormat& named : emu::catalogue) {
    CAPTURE(named.name);
    for (const float x : {0x1p-149F, 0x1.8p-127F, std::bit_cast<float>(0x007fffffU)}) {
      CHECK(acts_as_zero(named.format, x));
      CHECK(acts_as_zero(named.format, -x));
    }
    for (const double x : {0x1p-1074, 0x1.8p-1023, std::bit_cast<double>(0x000fffffffffffffU)}) {
      CHECK(acts_as_zero(named.format, x));
      CHECK(acts_as_zero(named.format, -x));
    }
    for (const float x : {0x1p-126F, 1.5F, 0.0F, -0.0F, std::numeric_limits<float>::infinity()})
      CHECK(same(emu::round_to(named.format, x, flushing), emu::round_to(named.format, x)));
  }
}

TEST_CASE("a subnormal code counts as zero in conversions where asked, and no other does", "[convert]") {
  for (const emu::NamedFormat& from : emu::catalogue) {
    if (from.format.bits() > 16) continue;
    for (emu::Code code = 0; code <= from.format.code_mask(); ++code) {
      const emu::Rounded got = emu::convert(from.format, code, emu::float32, flushing);
      const bool negative_zero = from.format.is_negative(code) && from.format.has_negative_zero();
      const bool as_zero = got.outcome == emu::Outcome::to_zero && (got.code & emu::float32.magnitude_mask()) == 0 &&
                           emu::float32.is_negative(got.code) == negative_zero && got.flags == emu::no_flags;
      const bool as_ever = same(got, emu::convert(from.format, code, emu::float32));
      INFO(from.name << " code " << code);
      if (from.format.is_subnormal(code) ? !as_zero : !as_ever) FAIL("counts wrongly");
    }
  }
}
