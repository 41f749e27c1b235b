// SPDX-License-Identifier: Apache-2.0
// Symmetric integers against the processor's rounding to whole numbers: every float32 in the exhaustive run, every 251st else.
#include <algorithm>
#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "emu/bulk.hpp"
#include "emu/catalogue.hpp"
#include "emu/decode.hpp"
#include "emu/encode.hpp"
#include "emu/names.hpp"

namespace {
using namespace ulpscope;
using emu::Outcome, emu::Rounding;

/// In the environment's rounding mode, which is to nearest even here.
double whole(double x, Rounding rounding) {
  switch (rounding) {
    case Rounding::nearest_even: return std::nearbyint(x);
    case Rounding::nearest_away: return std::round(x);
    case Rounding::upward: return std::ceil(x);
    case Rounding::downward: return std::floor(x);
    case Rounding::toward_zero: return std::trunc(x);
    default:
      return std::trunc(x) == x || std::fmod(std::trunc(x), 2) != 0 ? std::trunc(x) : std::trunc(x) + std::copysign(1, x);
  }
}

Outcome outcome(double x, double rounded, double largest) {
  if (std::isnan(x)) return Outcome::nan;
  if (std::isinf(x)) return Outcome::infinite;
  if (x == 0) return Outcome::zero;
  if (std::fabs(rounded) > largest) return Outcome::overflow;
  if (rounded == 0) return Outcome::to_zero;
  return rounded == x ? Outcome::exact : Outcome::rounded;
}

void compare(std::uint64_t stride) {
  const int bits = GENERATE(3, 4, 8, 12, 25);
  const Rounding rounding = GENERATE(Rounding::nearest_even, Rounding::nearest_away, Rounding::upward, Rounding::downward,
                                     Rounding::toward_zero, Rounding::to_odd);
  const emu::Format format = emu::integer(bits);
  const double largest = std::ldexp(1.0, bits - 1) - 1;
  const emu::RoundingOptions options{.rounding = rounding};
  std::vector<float> inputs;
  const auto check = [&] {
    std::vector<float> values(inputs.size());
    std::vector<std::uint32_t> codes(inputs.size());
    emu::round_to(format, std::span<const float>(inputs), std::span(values), options, {});
    emu::encode(format, std::span<const float>(inputs), std::span(codes), options, {});
    std::uint64_t wrong = 0, first = 0;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const auto x = static_cast<double>(inputs[i]);
      const double rounded = whole(x, rounding);
      const double expected = std::isnan(x) ? largest : std::copysign(std::min(std::fabs(rounded), largest), x);
      const emu::Rounded got = emu::round_to(format, x, options);
      const emu::Code magnitude = static_cast<emu::Code>(std::fabs(expected));
      const emu::Code code = magnitude | (std::signbit(expected) ? emu::Code{1} << (bits - 1) : 0);
      const bool right = got.value == expected && got.code == code && got.outcome == outcome(x, rounded, largest) &&
                         static_cast<double>(values[i]) == expected && codes[i] == code &&
                         emu::decode(format, code) == expected;
      if (!right && wrong++ == 0) first = std::bit_cast<std::uint32_t>(inputs[i]);
    }
    INFO(emu::format_name(format) << ' ' << emu::name_of(rounding) << std::hex << " first " << first);
    CHECK(wrong == 0);
    inputs.clear();
  };
  for (std::uint64_t word = 0; word < std::uint64_t{1} << 32; word += stride) {
    inputs.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(word)));
    if (inputs.size() == 1 << 20) check();
  }
  check();
}

TEST_CASE("a float rounds to a symmetric integer as the processor rounds it to a whole number", "[integers]") {
  compare(std::uint64_t{251} * 37);
}
TEST_CASE("every float rounds to a symmetric integer as the processor rounds it", "[integers][exhaustive]") { compare(1); }

TEST_CASE("symmetric integers: names, ends, two's complement", "[integers]") {
  CHECK(emu::parse_format_or_integer("int8") == emu::integer(8));
  CHECK(emu::parse_format_or_integer("INT4") == emu::integer(4));
  CHECK(emu::parse_format_or_integer("e4m3") == emu::e4m3);
  for (const char* word : {"int", "int2", "int26", "int08", "int-8", "int8 "}) CHECK_FALSE(emu::parse_format_or_integer(word));
  CHECK_FALSE(emu::parse_format("int8"));
  for (int bits = 3; bits <= 25; ++bits) {
    const emu::Format format = emu::integer(bits);
    CHECK(format.bits() == bits);
    CHECK(emu::parse_format_or_integer(emu::format_name(format)) == format);
    CHECK(emu::max_finite(format) == std::ldexp(1.0, bits - 1) - 1);
    CHECK(emu::min_positive(format) == 1);
    CHECK(emu::min_normal(format) == 1);
    CHECK_FALSE(format.has_subnormals());
  }
  const emu::Format format = emu::integer(8);
  for (int x = -127; x <= 127; ++x) {
    const emu::Code code = emu::round_to(format, static_cast<double>(x)).code;
    CHECK(emu::twos_complement(format, code) == static_cast<std::uint8_t>(static_cast<std::int8_t>(x)));
  }
  CHECK(emu::twos_complement(format, format.sign_mask()) == 0);
}

}  // namespace
