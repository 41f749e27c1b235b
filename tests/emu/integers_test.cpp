// SPDX-License-Identifier: Apache-2.0
// Conversions to and from integers against MPFR, and stochastic rounding of arithmetic.
#include <mpfr.h>

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <limits>
#include <random>

#include "emu/catalogue.hpp"
#include "emu/integral.hpp"
#include "tests/emu/encode_laws.hpp"
#include "tests/oracle/arithmetic_oracle.hpp"

namespace {
using namespace ulpscope;
using laws::deterministic, laws::oracle_format, laws::oracle_mode;

/// The whole number next to `x`; x is replaced by it.
void round_to_whole(mpfr_ptr x, emu::Rounding rounding) {
  oracle::Number half;
  mpfr_set_prec(half, 300);
  const bool whole = mpfr_integer_p(x) != 0;
  const int sign = mpfr_signbit(x) ? -1 : 1;
  switch (rounding) {
    case emu::Rounding::nearest_even: mpfr_rint(x, x, MPFR_RNDN); break;
    case emu::Rounding::nearest_away: mpfr_round(x, x); break;
    case emu::Rounding::upward: mpfr_ceil(x, x); break;
    case emu::Rounding::downward: mpfr_floor(x, x); break;
    case emu::Rounding::toward_zero: mpfr_trunc(x, x); break;
    default:
      mpfr_trunc(x, x);
      mpfr_div_2ui(half, x, 1, MPFR_RNDN);
      if (!whole && mpfr_integer_p(half)) mpfr_add_si(x, x, sign, MPFR_RNDN);
  }
}

template <class Integer>
void require_to_integer(emu::Format f, emu::Code code, emu::Rounding rounding) {
  using Limits = std::numeric_limits<Integer>;
  oracle::Number x, before;
  oracle::set_value(x, oracle_format(f), code);
  mpfr_prec_round(x, 300, MPFR_RNDN);
  mpfr_set_prec(before, 300);
  mpfr_set(before, x, MPFR_RNDN);
  Integer expected = 0;
  int flags = 0;
  if (mpfr_nan_p(x)) {
    flags = emu::invalid;
  } else {
    if (mpfr_number_p(x)) round_to_whole(x, rounding);
    if (mpfr_cmp_si(x, 0) > 0 && (mpfr_inf_p(x) || mpfr_cmp_ui(x, Limits::max()) > 0)) {
      expected = Limits::max();
      flags = emu::invalid;
    } else if (mpfr_cmp_si(x, static_cast<long>(Limits::min())) < 0) {
      expected = Limits::min();
      flags = emu::invalid;
    } else {
      expected =
          Limits::min() < 0 ? static_cast<Integer>(mpfr_get_si(x, MPFR_RNDN)) : static_cast<Integer>(mpfr_get_ui(x, MPFR_RNDN));
      flags = mpfr_equal_p(x, before) ? 0 : emu::inexact;
    }
  }
  const auto got = emu::to_integer<Integer>(f, code, {.rounding = rounding});
  CAPTURE(emu::format_name(f), code, emu::name_of(rounding), Limits::digits, Limits::is_signed);
  REQUIRE((got.value == expected && got.flags == flags));
}

template <class Integer>
void require_from_integer(emu::Format f, Integer value) {
  oracle::Number x;
  if (std::numeric_limits<Integer>::is_signed)
    mpfr_set_si(x, static_cast<long>(value), MPFR_RNDN);
  else
    mpfr_set_ui(x, static_cast<unsigned long>(value), MPFR_RNDN);
  for (const emu::Rounding rounding : deterministic)
    for (const emu::Policy policy : emu::all_policies) {
      const auto expected =
          oracle::round(oracle_format(f), x, oracle_mode(rounding), {.saturating = policy == emu::Policy::saturating});
      const auto got = emu::from_integer(f, value, {.rounding = rounding, .policy = policy});
      CAPTURE(emu::format_name(f), value, emu::name_of(rounding), emu::name_of(policy));
      REQUIRE((got.code == expected.code && got.flags == expected.flags));
    }
}

}  // namespace

TEMPLATE_TEST_CASE("numbers become integers as MPFR rounds them", "[arithmetic]", std::int8_t, std::uint8_t, std::int16_t,
                   std::int32_t, std::uint32_t, std::int64_t, std::uint64_t) {
  std::mt19937_64 random(1);
  for (const emu::Rounding rounding : deterministic) {
    for (const emu::Format f : {emu::e4m3, emu::e5m2, emu::float8_e3m4, emu::e2m1, emu::e8m0, emu::fp16})
      for (emu::Code code = 0; code <= f.code_mask(); code += f.bits() > 8 ? 7 : 1)
        require_to_integer<TestType>(f, code, rounding);
    for (const emu::Format f : {emu::bf16, emu::fp32, emu::fp64})
      for (int i = 0; i < 3000; ++i) {  // exponents from -4 to 66
        const emu::Code field = static_cast<emu::Code>(f.bias - 4) + random() % 70;
        const emu::Code sign = random() % 2 != 0 ? f.sign_mask() : 0, fraction = random() & f.fraction_mask();
        require_to_integer<TestType>(f, sign | field << f.fraction_bits | (i % 3 == 0 ? 0 : fraction), rounding);
      }
  }
}

TEMPLATE_TEST_CASE("integers become numbers as MPFR rounds them", "[arithmetic]", std::int8_t, std::int32_t, std::int64_t,
                   std::uint64_t) {
  using Limits = std::numeric_limits<TestType>;
  std::mt19937_64 random(2);
  std::vector<TestType> values{0, 1, 2, 3, 100, Limits::min(), Limits::max(), static_cast<TestType>(Limits::max() - 1)};
  for (int i = 0; i < 500; ++i) values.push_back(static_cast<TestType>(random() >> random() % 64));
  for (const emu::Format f : {emu::e4m3, emu::e5m2, emu::e2m1, emu::e8m0, emu::fp16, emu::bf16, emu::fp32, emu::fp64})
    for (const TestType value : values) require_from_integer(f, value);
}

TEST_CASE("stochastic rounding of a result goes up as often as its discarded fraction says", "[arithmetic]") {
  // With r random bits all 2^r of them are tried: floor(f 2^r) must go away from zero.
  constexpr int r = 8;
  std::mt19937_64 random(3);
  for (const emu::Format f : {emu::e4m3, emu::fp16, emu::bf16, emu::fp32, emu::fp64})
    for (const oracle::Op op : {oracle::Op::add, oracle::Op::mul, oracle::Op::div, oracle::Op::sqrt, oracle::Op::fma})
      for (int i = 0; i < 200; ++i) {
        const emu::Code sign = f.sign_mask();
        const auto pick = [&] { return (random() & f.fraction_mask()) | (static_cast<emu::Code>(f.bias) << f.fraction_bits); };
        const emu::Code a = pick(), b = pick(), magnitude = pick();
        const emu::Code c = magnitude | (random() % 2 != 0 && op == oracle::Op::fma ? sign : 0);
        const emu::RoundingOptions options{.rounding = emu::Rounding::stochastic, .random_bits = r};
        const auto compute = [&](const emu::RoundingOptions& o, std::uint32_t bits) {
          switch (op) {
            case oracle::Op::add: return emu::add(f, a, b, o, bits);
            case oracle::Op::mul: return emu::mul(f, a, b, o, bits);
            case oracle::Op::div: return emu::div(f, a, b, o, bits);
            case oracle::Op::sqrt: return emu::sqrt(f, a, o, bits);
            default: return emu::fma(f, a, b, c, o, bits);
          }
        };
        const emu::Code toward_zero = compute({.rounding = emu::Rounding::toward_zero}, 0).code;
        int ups = 0;
        for (std::uint32_t bits = 0; bits < 1U << r; ++bits) {
          const emu::Code code = compute(options, bits).code;
          REQUIRE((code == toward_zero || code == toward_zero + 1));
          ups += code != toward_zero ? 1 : 0;
        }
        // The discarded fraction, in units of the last place: exact - truncated, from 2048 bits.
        oracle::Number x, y, z, exact, truncated, ulp;
        mpfr_set_prec(exact, 2048);
        const auto of = oracle_format(f);
        oracle::set_value(x, of, a);
        oracle::set_value(y, of, b);
        oracle::set_value(z, of, c);
        oracle::set_value(truncated, of, toward_zero);
        oracle::set_value(ulp, of, toward_zero + 1);
        switch (op) {
          case oracle::Op::add: mpfr_add(exact, x, y, MPFR_RNDZ); break;
          case oracle::Op::mul: mpfr_mul(exact, x, y, MPFR_RNDZ); break;
          case oracle::Op::div: mpfr_div(exact, x, y, MPFR_RNDZ); break;
          case oracle::Op::sqrt: mpfr_sqrt(exact, x, MPFR_RNDZ); break;
          default: mpfr_fma(exact, x, y, z, MPFR_RNDZ); break;
        }
        mpfr_sub(ulp, ulp, truncated, MPFR_RNDN);
        mpfr_sub(exact, exact, truncated, MPFR_RNDZ);
        mpfr_div(exact, exact, ulp, MPFR_RNDZ);
        mpfr_mul_2ui(exact, exact, r, MPFR_RNDZ);
        CAPTURE(emu::format_name(f), static_cast<int>(op), a, b, c);
        REQUIRE(ups == static_cast<int>(mpfr_get_si(exact, MPFR_RNDD)));
      }
}
