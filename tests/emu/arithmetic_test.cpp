// SPDX-License-Identifier: Apache-2.0
// Arithmetic against MPFR: codes and flags.
#include "emu/arithmetic.hpp"

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <limits>
#include <map>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "emu/catalogue.hpp"
#include "emu/comparison.hpp"
#include "emu/integral.hpp"
#include "tests/emu/encode_laws.hpp"
#include "tests/oracle/arithmetic_oracle.hpp"

namespace {
using namespace ulpscope;
using laws::every_direction, laws::every_option, laws::oracle_format, laws::oracle_mode;
using oracle::Op;
using Operands = oracle::Operation::Operands;

struct NamedOp {
  Op op;
  std::string_view name;
  int operands;
};
constexpr NamedOp ops[] = {{Op::add, "add", 2},
                           {Op::sub, "sub", 2},
                           {Op::mul, "mul", 2},
                           {Op::div, "div", 2},
                           {Op::rem, "rem", 2},
                           {Op::minimum, "minimum", 2},
                           {Op::maximum, "maximum", 2},
                           {Op::minimum_number, "minimum_number", 2},
                           {Op::maximum_number, "maximum_number", 2},
                           {Op::sqrt, "sqrt", 1},
                           {Op::log_b, "log_b", 1},
                           {Op::fma, "fma", 3}};

emu::Result emulate(emu::Format f, Op op, const Operands& x, const emu::RoundingOptions& options) {
  switch (op) {
    case Op::add: return emu::add(f, x.a, x.b, options);
    case Op::sub: return emu::sub(f, x.a, x.b, options);
    case Op::mul: return emu::mul(f, x.a, x.b, options);
    case Op::div: return emu::div(f, x.a, x.b, options);
    case Op::rem: return emu::remainder(f, x.a, x.b, options);
    case Op::fma: return emu::fma(f, x.a, x.b, x.c, options);
    case Op::sqrt: return emu::sqrt(f, x.a, options);
    case Op::minimum: return emu::minimum(f, x.a, x.b, options);
    case Op::maximum: return emu::maximum(f, x.a, x.b, options);
    case Op::minimum_number: return emu::minimum_number(f, x.a, x.b, options);
    case Op::maximum_number: return emu::maximum_number(f, x.a, x.b, options);
    case Op::scale_b: return emu::scale_b(f, x.a, x.count, options);
    case Op::log_b: return emu::log_b(f, x.a, options);
    default: return {};  // the elementary functions have a test of their own
  }
}

std::string describe(emu::Format f, std::string_view op, const Operands& x, const emu::RoundingOptions& o, emu::Result got,
                     const oracle::Answer& expected) {
  std::ostringstream out;
  out << emu::format_name(f) << ' ' << op << ' ' << emu::name_of(o.rounding) << ' ' << emu::name_of(o.policy)
      << (o.tininess == emu::Tininess::before_rounding ? " tiny before" : "") << (o.flush_subnormals ? " flush" : "")
      << (o.subnormals_are_zero ? " daz" : "") << std::hex << " a=" << x.a << " b=" << x.b << " c=" << x.c << std::dec
      << " count=" << x.count << std::hex << ": got " << got.code << " flags " << int{got.flags} << ", expected "
      << expected.code << " flags " << expected.flags;
  return out.str();
}

/// The first disagreement of one operation on one set of operands.
std::optional<std::string> disagreement(emu::Format f, const NamedOp& op, const Operands& x,
                                        const std::vector<emu::RoundingOptions>& options) {
  const oracle::Format of = oracle_format(f);
  const oracle::Operation plain(of, op.op, x);
  std::optional<oracle::Operation> flushed;
  for (const emu::RoundingOptions& o : options) {
    if (o.subnormals_are_zero && !flushed) flushed.emplace(of, op.op, x, true);
    const oracle::Answer expected =
        (o.subnormals_are_zero ? *flushed : plain)
            .round(oracle_mode(o.rounding),
                   {o.policy == emu::Policy::saturating, o.tininess == emu::Tininess::before_rounding, o.flush_subnormals});
    const emu::Result got = emulate(f, op.op, x, o);
    if (got.code != expected.code || got.flags != expected.flags) return describe(f, op.name, x, o, got, expected);
  }
  return std::nullopt;
}

void require_all_pairs(emu::Format f, std::uint64_t step_a, std::uint64_t step_b) {
  const auto options = every_option();
  const emu::Code count = f.code_mask() + 1;
  for (const NamedOp& op : ops) {
    if (op.operands == 3) continue;
    for (emu::Code a = 0; a < count; a += step_a)
      for (emu::Code b = 0; b < (op.operands == 1 ? 1 : count); b += step_b)
        if (const auto wrong = disagreement(f, op, {.a = a, .b = b}, options)) FAIL(*wrong);
  }
  SUCCEED();
}

/// Codes at which arithmetic can go wrong: in every binade the first, the last and the second number and a random one, all
/// subnormal borders, thresholds, infinities and NaNs; of either sign.
std::vector<emu::Code> interesting(emu::Format f, std::mt19937_64& random) {
  std::vector<emu::Code> out;
  for (emu::Code base = 0; base <= f.magnitude_mask(); base += f.fraction_mask() + 1)
    for (const emu::Code fraction : {emu::Code{0}, emu::Code{1}, f.fraction_mask(), random() & f.fraction_mask()})
      for (const emu::Code sign : {emu::Code{0}, f.sign_mask()}) out.push_back(base | fraction | sign);
  return out;
}

emu::Code random_code(emu::Format f, std::mt19937_64& random) { return random() & f.code_mask(); }

/// A code within two of `code`.
emu::Code near(emu::Format f, emu::Code code, std::mt19937_64& random) { return (code + random() % 5 - 2) & f.code_mask(); }

/// Pairs for a binary operation: interesting ones, random ones, and ones of nearly equal magnitude, which cancel.
Operands random_pair(emu::Format f, const std::vector<emu::Code>& special, std::mt19937_64& random) {
  const auto pick = [&] { return special[random() % special.size()]; };
  switch (random() % 4) {
    case 0: return {.a = pick(), .b = pick()};
    case 1: return {.a = random_code(f, random), .b = random_code(f, random)};
    case 2: return {.a = pick(), .b = random_code(f, random)};
    default: {
      const emu::Code a = random_code(f, random), b = near(f, a, random);
      return {.a = a, .b = b ^ (random() % 2 != 0 ? f.sign_mask() : 0)};
    }
  }
}

/// Triples for fma: most of them with c near -a b, or far below a rounding boundary of a b.
Operands random_triple(emu::Format f, const std::vector<emu::Code>& special, std::mt19937_64& random) {
  Operands x = random_pair(f, special, random);
  const emu::Code product = emu::mul(f, x.a, x.b).code;
  switch (random() % 4) {
    case 0: x.c = near(f, product ^ f.sign_mask(), random); break;  // cancels
    case 1: x.c = special[random() % special.size()]; break;
    case 2: {  // half an ulp, an ulp or less away
      const auto below = static_cast<emu::Code>(f.fraction_bits) + random() % 4;
      const emu::Code magnitude = product & f.magnitude_mask(), binade = f.fraction_mask() + 1;
      x.c = magnitude > below * binade ? magnitude - below * binade : random() % 3;
      if (random() % 2 != 0) x.c &= ~f.fraction_mask();
      if (random() % 2 != 0) x.c |= f.sign_mask();
      break;
    }
    default: x.c = random_code(f, random);
  }
  return x;
}

void require_random(emu::Format f, const NamedOp& op, long count, unsigned seed) {
  std::mt19937_64 random(seed);
  const auto special = interesting(f, random);
  const auto options = every_direction(), all_options = every_option();
  for (long i = 0; i < count; ++i) {
    const Operands x = op.operands == 3 ? random_triple(f, special, random) : random_pair(f, special, random);
    if (const auto wrong = disagreement(f, op, x, i % 16 == 0 ? all_options : options)) FAIL(*wrong);
  }
  SUCCEED();
}

/// All pairs; with a step s > 1, each number on the left with one in s on the right.
void require_every_pair_of_interesting(emu::Format f, const NamedOp& op, std::size_t step) {
  std::mt19937_64 random(5);
  const auto special = interesting(f, random);
  const auto options = every_direction();
  for (std::size_t i = 0; i < special.size(); ++i)
    for (std::size_t j = i % step; j < special.size(); j += step)
      if (const auto wrong = disagreement(f, op, {.a = special[i], .b = special[j]}, options)) FAIL(*wrong);
  SUCCEED();
}

const NamedOp& named(Op op) {
  for (const NamedOp& one : ops)
    if (one.op == op) return one;
  return ops[0];
}

}  // namespace

TEST_CASE("e4m3: every operation on every pair of codes, every direction, policy and switch", "[arithmetic][long]") {
  require_all_pairs(emu::e4m3, 1, 1);
}

TEST_CASE("e5m2: every operation on every pair of codes, every direction, policy and switch", "[arithmetic][long]") {
  require_all_pairs(emu::e5m2, 1, 1);
}

TEST_CASE("fp4 and fp6: every operation on every pair of codes, every direction, policy and switch", "[arithmetic]") {
  for (const emu::Format f : {emu::e2m1, emu::e3m2, emu::e2m3, emu::Format{2, 1, 1, emu::Specials::ieee},
                              emu::Format{3, 0, 3, emu::Specials::finite}, emu::Format{2, 0, 1, emu::Specials::ieee}})
    require_all_pairs(f, 1, 1);
}

namespace {
std::vector<emu::Format> other_small_formats() {
  return {emu::float8_e4m3,
          emu::float8_e3m4,
          emu::float8_e4m3fnuz,
          emu::float8_e5m2fnuz,
          emu::float8_e4m3b11fnuz,
          emu::e8m0,
          emu::binary8p1se,
          emu::binary8p3se,
          emu::binary8p3ue,
          emu::binary8p8uf,
          {5, 3, 15, emu::Specials::fn},
          {4, 4, 20, emu::Specials::fnuz},
          {4, 3, 7, emu::Specials::finite}};
}
}  // namespace

TEST_CASE("other 8-bit formats: every operation on one pair of codes in fifteen", "[arithmetic][long]") {
  for (const emu::Format f : other_small_formats()) require_all_pairs(f, 3, 5);  // coprime to 2: every low bit occurs
}

TEST_CASE("other 8-bit formats: every operation on every pair of codes", "[arithmetic][exhaustive]") {
  for (const emu::Format f : other_small_formats()) require_all_pairs(f, 1, 1);
}

TEMPLATE_TEST_CASE_SIG("fp16 and bf16: every pair of interesting numbers, in every direction", "[arithmetic][long]",
                       ((Op op), op), Op::add, Op::sub, Op::mul, Op::div, Op::rem) {
  for (const emu::Format f : {emu::fp16, emu::bf16}) require_every_pair_of_interesting(f, named(op), f == emu::fp16 ? 1 : 3);
}

// Of fma's triples most cancel or lie beside a rounding boundary.
TEMPLATE_TEST_CASE_SIG("fp16 and bf16: 10^6 random operands, in every direction", "[arithmetic][long]", ((Op op), op), Op::add,
                       Op::sub, Op::mul, Op::div, Op::rem, Op::fma) {
  for (const emu::Format f : {emu::fp16, emu::bf16}) require_random(f, named(op), 1'000'000, 1);
}

TEMPLATE_TEST_CASE_SIG("fp16 and bf16: 10^8 random operands, in every direction", "[arithmetic][exhaustive]", ((Op op), op),
                       Op::add, Op::sub, Op::mul, Op::div, Op::rem, Op::fma) {
  for (const emu::Format f : {emu::fp16, emu::bf16}) require_random(f, named(op), 100'000'000, 3);
}

TEST_CASE("tf32, float32, float64 and wide custom formats: every operation on random operands", "[arithmetic][long]") {
  for (const emu::Format f : {emu::tf32, emu::fp32, emu::fp64, emu::Format{8, 23, 150, emu::Specials::fn},
                              emu::Format{5, 10, 20, emu::Specials::finite}, emu::Format{6, 9, 31, emu::Specials::fnuz}})
    for (const NamedOp& op : ops) require_random(f, op, 60'000, 5);
}

TEST_CASE("every unary operation on every code of 16 bits", "[arithmetic]") {
  const auto options = every_option();
  for (const emu::Format f : {emu::fp16, emu::bf16})
    for (emu::Code a = 0; a <= f.code_mask(); ++a) {
      for (const Op op : {Op::sqrt, Op::log_b})
        if (const auto wrong = disagreement(f, named(op), {.a = a}, options)) FAIL(*wrong);
    }
  SUCCEED();
}

TEST_CASE("scale_b of every code of 16 bits or fewer by small and absurd powers", "[arithmetic]") {
  const auto options = every_option();
  constexpr NamedOp scale{Op::scale_b, "scale_b", 1};
  for (const emu::Format f : {emu::e4m3, emu::e5m2, emu::e8m0, emu::binary8p4se, emu::binary8p4uf, emu::fp16, emu::bf16})
    for (const long count : {-300L, -20L, -13L, -3L, -1L, 0L, 1L, 2L, 7L, 12L, 40L, 280L})
      for (emu::Code a = 0; a <= f.code_mask(); a += f.bits() > 8 ? 17 : 1)
        if (const auto wrong = disagreement(f, scale, {.a = a, .count = count}, options)) FAIL(*wrong);
  CHECK(emu::scale_b(emu::fp16, 0x3c00, std::numeric_limits<std::int64_t>::max()).code == 0x7c00);
  CHECK(emu::scale_b(emu::fp16, 0xbc00, std::numeric_limits<std::int64_t>::min()).code == 0x8000);
}

TEST_CASE("every code of 16 bits or fewer rounds to a whole number as MPFR rounds it", "[arithmetic]") {
  for (const emu::Format f : {emu::fp16, emu::bf16, emu::e4m3, emu::e5m2, emu::float8_e3m4, emu::float8_e4m3b11fnuz, emu::e8m0,
                              emu::e3m2, emu::e2m3, emu::e2m1})
    for (const emu::RoundingOptions& o : every_option()) {
      if (o.subnormals_are_zero) continue;  // an operand's matter, judged by the other operations
      const oracle::Options oo{o.policy == emu::Policy::saturating, o.tininess == emu::Tininess::before_rounding,
                               o.flush_subnormals};
      for (emu::Code a = 0; a <= f.code_mask(); ++a)
        for (const bool signals_inexact : {false, true}) {
          const auto expected = oracle::round_to_integral(oracle_format(f), a, oracle_mode(o.rounding), oo, signals_inexact);
          const auto got = signals_inexact ? emu::round_to_integral_exact(f, a, o) : emu::round_to_integral(f, a, o);
          if (got.code != expected.code || got.flags != expected.flags)
            FAIL(describe(f, signals_inexact ? "round_to_integral_exact" : "round_to_integral", {.a = a}, o, got, expected));
        }
    }
  SUCCEED();
}

TEST_CASE("comparisons order codes as their values are ordered", "[arithmetic]") {
  for (const emu::Format f :
       {emu::e4m3, emu::e5m2, emu::float8_e4m3fnuz, emu::e8m0, emu::binary8p3se, emu::binary8p3ue, emu::e2m1}) {
    std::vector<double> values;
    for (emu::Code a = 0; a <= f.code_mask(); ++a) values.push_back(oracle::value_of(oracle_format(f), a));
    for (emu::Code a = 0; a <= f.code_mask(); ++a)
      for (emu::Code b = 0; b <= f.code_mask(); ++b) {
        const double x = values[a], y = values[b];
        const emu::Order expected = x < y    ? emu::Order::less
                                    : x > y  ? emu::Order::greater
                                    : x == y ? emu::Order::equal
                                             : emu::Order::unordered;
        const auto quiet = emu::compare_quiet(f, a, b), loud = emu::compare_signaling(f, a, b);
        const bool signaling = f == emu::e5m2 && ((a & 0x7f) == 0x7d || (b & 0x7f) == 0x7d);  // fraction 01
        CAPTURE(emu::format_name(f), a, b);
        REQUIRE((quiet.order == expected && loud.order == expected));
        REQUIRE(quiet.flags == (signaling ? emu::invalid : emu::no_flags));
        REQUIRE(loud.flags == (expected == emu::Order::unordered ? emu::invalid : emu::no_flags));
      }
  }
}

TEST_CASE("next_up and next_down step through the numbers in order", "[arithmetic]") {
  for (const emu::NamedFormat& one : emu::catalogue) {
    const emu::Format f = one.format;
    if (f.bits() > 16) continue;
    std::map<double, emu::Code> sorted;  // one code for each number; of the zeros the positive one
    for (emu::Code a = 0; a <= f.code_mask(); ++a)
      if (const double x = oracle::value_of(oracle_format(f), a); x == x) sorted.emplace(x, a);
    for (auto it = sorted.begin(); it != sorted.end(); ++it) {
      const auto after = std::next(it);
      CAPTURE(one.name, it->second);
      const emu::Code up = emu::next_up(f, it->second).code;
      const emu::Code expected = after == sorted.end() ? it->second : after->second;
      // From below, zero is reached as -0 where there is one.
      REQUIRE((up == expected || (f.is_zero(expected) && up == f.sign_mask() && f.has_negative_zero())));
      if (after != sorted.end() && !f.is_zero(it->second)) REQUIRE(emu::next_down(f, after->second).code == it->second);
      if (it == sorted.begin()) REQUIRE(emu::next_down(f, it->second).code == it->second);
    }
    if (!f.has_negative_zero()) continue;
    CHECK(emu::next_up(f, f.sign_mask()).code == 1);
    CHECK(emu::next_down(f, 0).code == (f.sign_mask() | 1));
  }
}
