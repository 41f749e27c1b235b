// SPDX-License-Identifier: Apache-2.0
// Stochastic rounding goes away from zero with probability floor(f 2^r)/2^r: exactly, over all r-bit words, and as it comes
// out of the generator; and the generator is Philox4x32-10 as its authors' library has it.
#include <Random123/philox.h>
#undef philox4x32  // a macro there, a function here

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "emu/catalogue.hpp"
#include "emu/philox.hpp"
#include "tests/emu/encode_laws.hpp"

namespace {
using namespace ulpscope;

constexpr emu::RoundingOptions stochastic(int bits) { return {.rounding = emu::Rounding::stochastic, .random_bits = bits}; }

/// The neighbours of x in a format, and where x lies between them: f in [0, 1).
struct Position {
  std::uint64_t inner;
  std::uint64_t outer;
  double fraction;
};

Position position(oracle::Format f, double x) {
  const bool negative = std::signbit(x);
  const auto inner = oracle::round(f, x, negative ? oracle::upward : oracle::downward);
  const auto outer = oracle::round(f, x, negative ? oracle::downward : oracle::upward);
  const double gap = outer.value - inner.value;
  return {inner.code, outer.code, gap == 0 ? 0 : (x - inner.value) / gap};
}

/// Random numbers within the format's range, with about as many bits below its grid as r may see; both signs but in fnu.
std::vector<float> samples(emu::Format format, int count) {
  std::mt19937_64 random(31);
  std::vector<float> out;
  const double limit = emu::max_finite(format), least = emu::min_positive(format);
  const int low = std::max(format.min_spacing_exponent() - 6, -140), high = format.max_exponent();
  while (static_cast<int>(out.size()) < count) {
    const int exponent = low + static_cast<int>(random() % static_cast<std::uint64_t>(high - low + 1));
    const float significand = std::bit_cast<float>(static_cast<std::uint32_t>(random() & 0x7fffffu) | 0x3f800000u);
    const float x = std::ldexp(significand, exponent);
    if (static_cast<double>(x) > limit || (!format.has_zero() && static_cast<double>(x) < least)) continue;
    out.push_back(format.is_signed() && random() % 2 == 0 ? -x : x);
  }
  return out;
}

TEST_CASE("of the 2^r words exactly floor(f 2^r) round away from zero", "[stochastic]") {
  for (const emu::NamedFormat& named : emu::catalogue) {
    const emu::Format format = named.format;
    for (const int bits : {1, 2, 3, 5, 8, 12})
      for (const float x : samples(format, 60)) {
        const Position at = position(laws::oracle_format(format), static_cast<double>(x));
        const auto wanted = static_cast<int>(std::floor(std::ldexp(at.fraction, bits)));
        int away = 0, away_in_double = 0, neither = 0;
        for (std::uint32_t word = 0; word < 1u << bits; ++word) {
          const std::uint32_t bits_above = ~0u << bits;  // must be ignored
          const emu::Code code = emu::encode(format, x, stochastic(bits), word | bits_above);
          const emu::Code same = emu::encode(format, static_cast<double>(x), stochastic(bits), word);
          away += code == at.outer && at.fraction > 0;
          away_in_double += same == at.outer && at.fraction > 0;
          neither += code != at.outer && code != at.inner;
        }
        INFO(named.name << " r = " << bits << " x = " << x);
        REQUIRE(neither == 0);
        REQUIRE(away == wanted);
        REQUIRE(away_in_double == wanted);
      }
  }
}

TEST_CASE("the flags and outcome of a stochastic result are those of the direction it took", "[stochastic]") {
  for (const emu::Format format : {emu::fp16, emu::bf16, emu::e4m3, emu::e5m2, emu::float8_e4m3fnuz, emu::e2m1})
    for (const float x : samples(format, 500))
      for (const std::uint32_t word : {0u, 0xffffffffu}) {
        const auto mode = x < 0 ? oracle::upward : oracle::downward;
        const oracle::Format f = laws::oracle_format(format);
        const oracle::Answer inner = oracle::round(f, static_cast<double>(x), mode);
        const emu::Rounded got = emu::round_to(format, x, stochastic(32), word);
        const oracle::Answer outer = oracle::round(f, static_cast<double>(x), x < 0 ? oracle::downward : oracle::upward);
        const bool is_inner = got.code == inner.code;
        const oracle::Answer& wanted = is_inner ? inner : outer;
        INFO(emu::format_name(format) << " x = " << x << " word " << word);
        REQUIRE(got.code == wanted.code);
        REQUIRE(static_cast<int>(got.outcome) == wanted.outcome);
        REQUIRE((got.flags & emu::inexact) == (wanted.flags & oracle::flag_inexact));
      }
}

TEST_CASE("overflow is decided after stochastic rounding", "[stochastic]") {
  // A quarter of the spacing beyond the largest number; infinity or NaN is the next one up.
  for (const auto& [format, beyond] : {std::pair{emu::fp16, 65504.0f + 8}, std::pair{emu::e5m2, 57344.0f + 2048},
                                       std::pair{emu::e4m3, 448.0f + 8}, std::pair{emu::float8_e4m3fnuz, 240.0f + 4}}) {
    int overflows = 0;
    for (std::uint32_t word = 0; word < 256; ++word) {
      const emu::Rounded got = emu::round_to(format, beyond, stochastic(8), word);
      overflows += got.outcome == emu::Outcome::overflow;
      const bool out = got.outcome == emu::Outcome::overflow;
      REQUIRE(got.code == (!out                    ? format.max_finite_code()
                           : format.has_infinity() ? format.infinity_code()
                                                   : format.nan_code()));
    }
    CHECK(overflows == 64);
  }
}

TEST_CASE("a representable number is never moved", "[stochastic]") {
  for (const emu::Format format : {emu::e5m2, emu::e4m3, emu::float8_e5m2fnuz, emu::e3m2, emu::e2m1, emu::e8m0, emu::fp16})
    for (emu::Code code = 0; code <= format.code_mask(); ++code)
      if (!format.is_nan(code)) {
        CHECK(emu::encode(format, emu::decode(format, code), stochastic(32), 0) == code);
        CHECK(emu::encode(format, emu::decode(format, code), stochastic(32), ~0u) == code);
      }
}

TEST_CASE("the generator's words round away as often as they must, within five sigma", "[stochastic]") {
  constexpr int draws = 1'000'000;
  for (const int bits : {1, 8, 16, 32})
    for (const auto& [format, x] : {std::pair{emu::fp16, 1.0003f}, std::pair{emu::bf16, -3.1415926f},
                                    std::pair{emu::e4m3, 0.0011f}, std::pair{emu::e5m2, 999.0f}, std::pair{emu::e2m1, 0.3f}}) {
      const Position at = position(laws::oracle_format(format), static_cast<double>(x));
      const double chance = std::ldexp(std::floor(std::ldexp(at.fraction, bits)), -bits);
      int away = 0;
      for (int i = 0; i < draws; ++i)
        away += emu::encode(format, x, stochastic(bits), emu::rounding_bits(42, static_cast<std::uint64_t>(i))) == at.outer;
      INFO(emu::format_name(format) << " r = " << bits << " x = " << x << ": " << away << " away, chance " << chance);
      CHECK(std::abs(away - draws * chance) <= 5 * std::sqrt(draws * chance * (1 - chance)));
    }
}

TEST_CASE("philox4x32 is Random123's Philox4x32-10", "[philox]") {
  std::mt19937_64 random(99);
  r123::Philox4x32 reference;
  for (int i = 0; i < 100'000; ++i) {
    const bool extreme = i < 8;
    const auto pick = [&](int bit) { return !extreme ? random() : (i >> bit & 1) != 0 ? ~std::uint64_t{0} : std::uint64_t{0}; };
    const std::uint64_t key = pick(0), low = pick(1), high = pick(2);
    const auto half = [](std::uint64_t word, int which) { return static_cast<std::uint32_t>(word >> (32 * which)); };
    const r123::Philox4x32::ctr_type counter{{half(low, 0), half(low, 1), half(high, 0), half(high, 1)}};
    const r123::Philox4x32::key_type keys{{half(key, 0), half(key, 1)}};
    const auto wanted = reference(counter, keys);
    const emu::PhiloxBlock got = emu::philox4x32(key, low, high);
    for (std::size_t j = 0; j < 4; ++j) REQUIRE(got.word[j] == wanted[j]);
    const auto block = reference({{half(low / 4, 0), half(low / 4, 1), 0, 0}}, keys);  // of four elements
    REQUIRE(emu::rounding_bits(key, low) == block[low % 4]);
    REQUIRE(emu::random_word(key, low) == reference({{half(low, 0), half(low, 1), 0, 0}}, keys)[0]);
  }
}

TEST_CASE("philox4x32 gives the published known answers", "[philox]") {
  // Random123 1.14, kat_vectors: philox4x32 10.
  const emu::PhiloxBlock zeros = emu::philox4x32(0, 0, 0);
  CHECK(zeros.word[0] == 0x6627e8d5);
  CHECK(zeros.word[1] == 0xe169c58d);
  CHECK(zeros.word[2] == 0xbc57ac4c);
  CHECK(zeros.word[3] == 0x9b00dbd8);
}

}  // namespace
