// SPDX-License-Identifier: Apache-2.0
// Sums and sums of products against MPFR: mpfr_sum with enough bits to be exact, then the oracle's rounding.
#include "emu/exact_sum.hpp"

#include <mpfr.h>

#include <algorithm>
#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <deque>
#include <limits>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "emu/catalogue.hpp"
#include "tests/emu/encode_laws.hpp"
#include "tests/oracle/rounding_oracle.hpp"

namespace {
using namespace ulpscope;
using laws::deterministic, laws::oracle_format, laws::oracle_mode;

constexpr double greatest = std::numeric_limits<double>::max(), least = std::numeric_limits<double>::denorm_min();
constexpr double infinity = std::numeric_limits<double>::infinity(), quiet = std::numeric_limits<double>::quiet_NaN();
const double signaling = std::bit_cast<double>(std::uint64_t{0x7ff0000000000001});

constexpr emu::Format targets[] = {emu::fp64, emu::fp32, emu::tf32, emu::fp16, emu::bf16,
                                   emu::e4m3, emu::e5m2, emu::e2m1, emu::e8m0, emu::float8_e4m3fnuz};

struct Term {
  double a, b = 1;
};
using Terms = std::vector<Term>;

/// From 2^-2148 to 2^2048 and 2^40 terms of them.
constexpr mpfr_prec_t exact_precision = 2148 + 2048 + 40;

/// The exact sum as MPFR has it; its zero is signed for `direction`.
class Reference {
 public:
  explicit Reference(const Terms& terms) : sum_(exact_precision) {
    for (const Term& t : terms) {
      mpfr_ptr product = products_.emplace_back(106);
      oracle::Number b(53);
      mpfr_set_d(product, t.a, MPFR_RNDN);
      mpfr_set_d(b, t.b, MPFR_RNDN);
      mpfr_mul(product, product, b, MPFR_RNDN);
      pointers_.push_back(product);
    }
  }
  mpfr_srcptr sum(emu::Rounding rounding) {
    const int inexact =
        mpfr_sum(sum_, pointers_.data(), pointers_.size(), rounding == emu::Rounding::downward ? MPFR_RNDD : MPFR_RNDN);
    REQUIRE(inexact == 0);
    return sum_;
  }

 private:
  std::deque<oracle::Number> products_;
  std::vector<mpfr_ptr> pointers_;
  oracle::Number sum_;
};

emu::ExactSum accumulate(const Terms& terms) {
  emu::ExactSum sum;
  for (const Term& t : terms) {
    if (t.b == 1 && !std::signbit(t.b))
      sum.add(t.a);
    else
      sum.add_product(t.a, t.b);
  }
  return sum;
}

std::vector<emu::RoundingOptions> variants() {
  std::vector<emu::RoundingOptions> out;
  for (const emu::Rounding rounding : deterministic) {
    out.push_back({.rounding = rounding});
    out.push_back({.rounding = rounding, .policy = emu::Policy::saturating});
    out.push_back({.rounding = rounding, .tininess = emu::Tininess::before_rounding});
    out.push_back({.rounding = rounding, .flush_subnormals = true});
  }
  return out;
}

/// The first disagreement with the oracle: code, outcome or flags.
std::optional<std::string> disagreement(const Terms& terms, const emu::ExactSum& sum, emu::Format f) {
  Reference reference(terms);
  for (const emu::RoundingOptions& o : variants()) {
    const auto expected =
        oracle::round(oracle_format(f), reference.sum(o.rounding), oracle_mode(o.rounding),
                      {o.policy == emu::Policy::saturating, o.tininess == emu::Tininess::before_rounding, o.flush_subnormals});
    const emu::Rounded got = sum.rounded(f, o);
    if (got.code == expected.code && static_cast<int>(got.outcome) == expected.outcome && got.flags == expected.flags) continue;
    std::ostringstream out;
    out << emu::format_name(f) << ' ' << emu::name_of(o.rounding) << ' ' << emu::name_of(o.policy)
        << (o.tininess == emu::Tininess::before_rounding ? " tiny before" : "") << (o.flush_subnormals ? " flush" : "")
        << ": got " << laws::describe(got.code, got.value, static_cast<int>(got.outcome), got.flags) << "; wanted "
        << laws::describe(expected.code, expected.value, expected.outcome, expected.flags) << "; terms" << std::hexfloat;
    for (const Term& t : terms) out << ' ' << t.a << " * " << t.b;
    return out.str();
  }
  return std::nullopt;
}

void require_agreement(const Terms& terms) {
  const emu::ExactSum sum = accumulate(terms);
  for (const emu::Format f : targets)
    if (const auto wrong = disagreement(terms, sum, f)) FAIL(*wrong);
}

double random_double(std::mt19937_64& random, int lowest, int highest) {
  const auto exponent = lowest + static_cast<int>(random() % static_cast<std::uint64_t>(highest - lowest + 1));
  const std::uint64_t kept = ~std::uint64_t{0} << (random() % 53);
  const double significand = std::bit_cast<double>((random() & kept & 0x800fffffffffffffu) | 0x3ff0000000000000u);
  return std::ldexp(significand, exponent);
}

Terms random_terms(std::mt19937_64& random, int lowest, int highest) {
  Terms terms(random() % 40);
  for (Term& t : terms)
    t = {random_double(random, lowest, highest), random() % 2 == 0 ? 1 : random_double(random, lowest, highest)};
  return terms;
}

/// The same terms with their negatives, in random order: they cancel.
void add_cancelling(Terms& terms, std::mt19937_64& random) {
  const std::size_t count = terms.size();
  for (std::size_t i = 0; i < count; ++i) terms.push_back({-terms[i].a, terms[i].b});
  std::shuffle(terms.begin(), terms.end(), random);
}

}  // namespace

TEST_CASE("sums of random terms of every magnitude are rounded once, in every direction and policy", "[exact_sum]") {
  std::mt19937_64 random(1);
  for (int i = 0; i < 600; ++i) {
    require_agreement(random_terms(random, -1074, 1023));
    require_agreement(random_terms(random, -30, 10));
    require_agreement(random_terms(random, -80, -50));
  }
}

TEST_CASE("what is left of terms that cancel is exact", "[exact_sum]") {
  std::mt19937_64 random(2);
  for (int i = 0; i < 600; ++i) {
    Terms terms = random_terms(random, -1074, 1023);
    add_cancelling(terms, random);
    require_agreement(terms);
    terms.push_back({random_double(random, -20, 5)});
    require_agreement(terms);
    terms.push_back({least, least});
    require_agreement(terms);
    terms.push_back({-least, least});
    terms.push_back({random_double(random, -20, 5), random_double(random, -20, 5)});
    require_agreement(terms);
  }
}

TEST_CASE("the greatest and the least doubles and products together lose nothing", "[exact_sum]") {
  for (const double x : {greatest, -greatest, 1e308, 0x1p1023})
    for (const double y : {least, -least, 0x1p-1022, 1.0, 0x1.fffffffffffffp-1022}) {
      require_agreement({{x}, {y}});
      require_agreement({{x}, {x}, {y}});
      require_agreement({{x}, {y}, {-x}});
      require_agreement({{x, x}, {y, y}});
      require_agreement({{x, x}, {y, y}, {x, -x}});
      require_agreement({{x, x}, {-x, x}, {-y, y}, {y}});
      require_agreement({{x, y}, {1}, {-x, y}, {y, -y}});
    }
}

TEST_CASE("sums at, just below and just above every rounding boundary of a format are told apart", "[exact_sum]") {
  std::mt19937_64 random(3);
  for (const emu::Format f : targets) {
    auto landmarks = laws::landmarks(f, f.bits() <= 8, random);
    std::shuffle(landmarks.begin(), landmarks.end(), random);
    if (landmarks.size() > 300) landmarks.resize(300);
    for (const double x : landmarks) {
      if (!std::isfinite(x)) continue;
      for (const double sign : {1.0, -1.0}) {
        const double noise = random_double(random, -300, 300);
        for (const Term beside : {Term{0.0}, Term{least, least}, Term{-least, least}, Term{least}, Term{-least}}) {
          const Terms terms{{noise, noise}, {sign * x}, {noise}, beside, {-noise}, {-noise, noise}};
          if (const auto wrong = disagreement(terms, accumulate(terms), f)) FAIL(*wrong);
        }
      }
    }
  }
}

TEST_CASE("stochastic rounding of a sum draws as that of the same double does; a remainder far below changes no odds",
          "[exact_sum]") {
  std::mt19937_64 random(4);
  for (const emu::Format f : {emu::fp64, emu::fp32, emu::fp16, emu::e4m3, emu::e2m1, emu::e8m0})
    for (int i = 0; i < 3000; ++i) {
      const double x =
          random_double(random, std::max(f.min_spacing_exponent() - 20, -1000), std::min(f.max_exponent() + 1, 1000));
      emu::ExactSum sum;
      sum.add_product(x, 3);
      sum.add_product(x, -2);
      emu::ExactSum more = sum;
      more.add_product(std::copysign(least, x), least);
      for (const int bits : {1, 8, 31, 32}) {
        const emu::RoundingOptions options{.rounding = emu::Rounding::stochastic, .random_bits = bits};
        const auto word = static_cast<std::uint32_t>(random());
        const auto expected = emu::round_to(f, x, options, word);
        CAPTURE(emu::format_name(f), x, bits, word);
        REQUIRE(sum.rounded(f, options, word).code == expected.code);
        REQUIRE(sum.rounded(f, options, word).flags == expected.flags);
        REQUIRE(more.rounded(f, options, word).code == expected.code);
      }
    }
}

TEST_CASE("a million terms of one sign carry as far as they must", "[exact_sum]") {
  constexpr long count = 1L << 20;
  for (const Term t : {Term{greatest, greatest}, Term{-greatest, greatest}, Term{least, least}, Term{-least, least},
                       Term{greatest}, Term{-least}, Term{0x1.fffffffffffffp-50}}) {
    emu::ExactSum sum;
    for (long i = 0; i < count; ++i) {
      if (t.b == 1)
        sum.add(t.a);
      else
        sum.add_product(t.a, t.b);
    }
    oracle::Number expected(exact_precision);
    mpfr_set_d(expected, t.a, MPFR_RNDN);
    mpfr_mul_d(expected, expected, t.b, MPFR_RNDN);
    mpfr_mul_2si(expected, expected, 20, MPFR_RNDN);
    CAPTURE(t.a, t.b);
    for (const emu::Rounding rounding : deterministic) {
      const auto wanted = oracle::round(oracle_format(emu::fp64), expected, oracle_mode(rounding));
      REQUIRE(sum.rounded(emu::fp64, {.rounding = rounding}).code == wanted.code);
    }
    for (long i = 0; i < count; ++i) sum.subtract_product(t.a, t.b);
    REQUIRE(sum.is_zero());
  }
}

TEST_CASE("2^32 terms in one digit: carries that waited are not lost", "[exact_sum][exhaustive]") {
  // All bits of some 32-bit digit are ones: 2^31 such terms overflow an int64.
  emu::ExactSum sum, negative;
  for (std::uint64_t i = 0; i < std::uint64_t{1} << 32; ++i) {
    sum.add(0x1.fffffffffffffp52);
    negative.subtract(0x1.fffffffffffffp52);
  }
  CHECK(sum.value() == 0x1.fffffffffffffp84);
  CHECK(negative.value() == -0x1.fffffffffffffp84);
  sum.subtract(0x1.fffffffffffffp84);
  CHECK(sum.is_zero());
}

TEST_CASE("accumulators added to themselves double, far beyond the greatest product", "[exact_sum]") {
  for (const Term t : {Term{greatest, greatest}, Term{-greatest, greatest}, Term{least, -least}, Term{0x1.5555555555555p300}}) {
    emu::ExactSum sum = accumulate({t});
    const emu::ExactSum once = sum;
    for (int i = 0; i < 80; ++i) sum.add(sum);
    emu::ExactSum whole = sum;
    CHECK(sum.rounded(emu::fp64).code == emu::encode(emu::fp64, std::ldexp(t.a * t.b, 80)));
    // 2^80 - 1 - 2 - 4 ... - 2^79 = 1
    emu::ExactSum power = once;
    for (int i = 0; i < 80; ++i) {
      whole.subtract(power);
      power.add(power);
    }
    CAPTURE(t.a, t.b);
    whole.subtract_product(t.a, t.b);
    REQUIRE(whole.is_zero());
  }
}

TEST_CASE("neither order nor grouping changes a sum, and accumulators of parts add up to the whole", "[exact_sum]") {
  std::mt19937_64 random(5);
  for (int i = 0; i < 300; ++i) {
    Terms terms = random_terms(random, -1074, 1023);
    if (i % 2 == 0) add_cancelling(terms, random);
    for (const double special : {0.0, -0.0, infinity, -infinity, quiet, signaling})
      if (random() % 8 == 0) terms.push_back({special});
    const emu::ExactSum whole = accumulate(terms);
    std::shuffle(terms.begin(), terms.end(), random);
    const std::size_t cut = random() % (terms.size() + 1);
    emu::ExactSum parts = accumulate({terms.begin(), terms.begin() + static_cast<std::ptrdiff_t>(cut)});
    parts.add(accumulate({terms.begin() + static_cast<std::ptrdiff_t>(cut), terms.end()}));
    emu::ExactSum negated, back;
    negated.subtract(whole);
    back.subtract(negated);
    for (const emu::RoundingOptions& o : variants())
      for (const emu::Format f : {emu::fp64, emu::bf16}) {
        const emu::Rounded expected = whole.rounded(f, o);
        for (const emu::ExactSum& other : {accumulate(terms), parts, back}) {
          REQUIRE(other.rounded(f, o).code == expected.code);
          REQUIRE(other.rounded(f, o).flags == expected.flags);
        }
      }
  }
}

TEST_CASE("zero sums have the sign that mpfr_sum gives them", "[exact_sum]") {
  require_agreement({});
  for (const double x : {0.0, -0.0})
    for (const double y : {0.0, -0.0}) {
      require_agreement({{x}});
      require_agreement({{x}, {y}});
      require_agreement({{x, -2.0}});
      require_agreement({{x, y}, {y, 5.0}, {x}});
    }
  for (const double x : {1.0, -1.0, least, greatest}) {
    require_agreement({{x}, {-x}});
    require_agreement({{-0.0}, {x}, {-x}, {-0.0}});
    require_agreement({{x, x}, {-x, x}});
  }
  CHECK(std::signbit(emu::exact_sum(std::vector{-0.0, -0.0}, emu::fp32).value));
  CHECK(!std::signbit(emu::exact_sum(std::vector<double>{}, emu::fp32, {.rounding = emu::Rounding::downward}).value));
  CHECK(!std::signbit(emu::exact_sum(std::vector{1.0, -1.0}, emu::fp32).value));
  CHECK(std::signbit(emu::exact_sum(std::vector{1.0, -1.0}, emu::fp32, {.rounding = emu::Rounding::downward}).value));
}

TEST_CASE("subtracting an accumulator turns the signs of its zeros and infinities", "[exact_sum]") {
  const auto negated = [](const Terms& terms) {
    emu::ExactSum out;
    out.subtract(accumulate(terms));
    return out.rounded(emu::fp16);
  };
  CHECK(negated({{0.0}}).code == 0x8000);
  CHECK(negated({{-0.0}, {0.0, -1}}).code == 0);
  CHECK(negated({{infinity}}).code == 0xfc00);
  CHECK(negated({{infinity, -1}}).code == 0x7c00);
  CHECK(negated({{quiet}}).flags == emu::no_flags);
  CHECK(negated({{signaling}}).flags == emu::invalid);
  CHECK(negated({{1.0}, {0x1p-11}}).code == 0xbc00);
}

TEST_CASE("infinities and NaNs are infinities and NaNs, and invalid what IEEE 754 says is", "[exact_sum]") {
  const auto sum = [](const Terms& terms, emu::Format f = emu::fp16, emu::RoundingOptions options = {}) {
    const emu::Rounded r = accumulate(terms).rounded(f, options);
    return emu::Result{r.code, r.flags};
  };
  const emu::Result nan{0x7fff, emu::no_flags}, invalid{0x7fff, emu::invalid};

  CHECK(sum({{infinity}, {1}, {-greatest, greatest}}) == emu::Result{0x7c00, emu::no_flags});
  CHECK(sum({{infinity, -2}, {-infinity}}) == emu::Result{0xfc00, emu::no_flags});
  CHECK(sum({{infinity}}, emu::fp16, {.policy = emu::Policy::saturating}) == emu::Result{0x7bff, emu::invalid});
  CHECK(sum({{infinity}}, emu::e4m3) == emu::Result{0x7f, emu::invalid});
  CHECK(sum({{infinity}, {-infinity}}) == invalid);
  CHECK(sum({{infinity, 2}, {infinity, -2}}) == invalid);
  CHECK(sum({{infinity, 0}}) == invalid);
  CHECK(sum({{-0.0, infinity}, {1}}) == invalid);
  CHECK(sum({{quiet}}) == nan);
  CHECK(sum({{quiet}, {infinity}, {-infinity}}) == nan);
  CHECK(sum({{quiet, 0}, {infinity}}) == nan);
  CHECK(sum({{quiet}, {infinity, 0}}) == invalid);
  CHECK(sum({{signaling}}) == invalid);
  CHECK(sum({{signaling, infinity}}) == invalid);
  CHECK(sum({{1, signaling}, {quiet}}) == invalid);
  CHECK(sum({{quiet}}, emu::e2m1) == emu::Result{0x7, emu::invalid});

  emu::ExactSum difference;
  difference.subtract(infinity);
  CHECK(difference.rounded(emu::fp16).code == 0xfc00);
  difference.subtract_product(-infinity, 1);
  CHECK(difference.rounded(emu::fp16).flags == emu::invalid);
  CHECK(emu::exact_sum(emu::fp16, std::vector<std::uint16_t>{0x7d00}, emu::fp32).flags == emu::invalid);
  CHECK(emu::exact_sum(std::vector{std::bit_cast<float>(0x7f800001u)}, emu::fp32).flags == emu::invalid);
}

TEST_CASE("sums and products of codes are those of their values, and subnormal operands may count as zero", "[exact_sum]") {
  std::mt19937_64 random(6);
  const auto check = [&](emu::Format fa, emu::Format fb, auto word) {
    std::vector<decltype(word)> a(30), b(30);
    for (auto& x : a) x = static_cast<decltype(word)>(random() & fa.code_mask());
    for (auto& x : b) x = static_cast<decltype(word)>(random() & fb.code_mask());
    for (const bool zeroed : {false, true}) {
      const emu::RoundingOptions options{.subnormals_are_zero = zeroed};
      emu::ExactSum sum, dot;
      for (std::size_t i = 0; i < a.size(); ++i) {
        if (fa.is_nan(a[i]) || fa.is_infinite(a[i])) a[i] = 1;
        if (fb.is_nan(b[i]) || fb.is_infinite(b[i])) b[i] = 1;
        const double x = zeroed && fa.is_subnormal(a[i]) ? 0 : emu::decode(fa, a[i]);
        const double y = zeroed && fb.is_subnormal(b[i]) ? 0 : emu::decode(fb, b[i]);
        sum.add(x);
        dot.add_product(x, y);
      }
      for (const emu::Format to : targets) {
        REQUIRE(emu::exact_sum(fa, a, to, options).code == sum.rounded(to).code);
        REQUIRE(emu::exact_dot(fa, a, fb, b, to, options).code == dot.rounded(to).code);
        REQUIRE(emu::exact_dot(fa, a, fb, b, to, options).flags == dot.rounded(to).flags);
      }
    }
  };
  for (int i = 0; i < 50; ++i) {
    check(emu::e4m3, emu::e5m2, std::uint8_t{});
    check(emu::e2m1, emu::e8m0, std::uint8_t{});
    check(emu::fp16, emu::bf16, std::uint16_t{});
    check(emu::tf32, emu::fp32, std::uint32_t{});
    check(emu::fp64, emu::fp16, std::uint64_t{});
  }
  const std::vector x{1e-45f, 1.0f}, y{1e30f, 2.0f};
  CHECK(emu::exact_dot(x, y, emu::fp64).value == 2.0 + static_cast<double>(1e-45f) * static_cast<double>(1e30f));
  CHECK(emu::exact_dot(x, y, emu::fp64, {.subnormals_are_zero = true}).value == 2.0);
  CHECK(emu::exact_sum(x, emu::fp64, {.rounding = emu::Rounding::upward}).value == 0x1.0000000000001p0);
}

TEST_CASE("a scaled integer is a term like any other", "[exact_sum]") {
  for (const std::int64_t integer : {std::int64_t{1}, std::int64_t{-1}, std::numeric_limits<std::int64_t>::min(),
                                     std::numeric_limits<std::int64_t>::max(), std::int64_t{-0x123456789abcdef}})
    for (const int exponent : {-2148, -2147, -1000, -63, -1, 0, 31, 1000, 1984, 2043}) {
      emu::ExactSum sum;
      sum.add_scaled(integer, exponent);
      oracle::Number expected(64);
      mpfr_set_si_2exp(expected, integer, exponent, MPFR_RNDN);
      for (const emu::Rounding rounding : deterministic) {
        CAPTURE(integer, exponent, emu::name_of(rounding));
        REQUIRE(sum.rounded(emu::fp64, {.rounding = rounding}).code ==
                oracle::round(oracle_format(emu::fp64), expected, oracle_mode(rounding)).code);
      }
    }
}

namespace {
constexpr double at_compile_time() {
  emu::ExactSum sum;
  sum.add(1e308);
  sum.add_product(1e308, 1e308);
  sum.add(5e-324);
  sum.subtract_product(1e308, 1e308);
  sum.subtract(1e308);
  return sum.value();
}
static_assert(at_compile_time() == 5e-324);
}  // namespace
