// SPDX-License-Identifier: Apache-2.0
// Orders of summation against simulations of their own, whose every step MPFR computes exactly and the oracle rounds.
#include "emu/summation.hpp"

#include <mpfr.h>

#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <random>
#include <vector>

#include "emu/catalogue.hpp"
#include "emu/summation_error.hpp"
#include "tests/emu/encode_laws.hpp"
#include "tests/oracle/rounding_oracle.hpp"

namespace {
using namespace ulpscope;
using laws::deterministic, laws::oracle_format, laws::oracle_mode;
using Codes = std::vector<std::uint64_t>;

/// From the least to the greatest term of a step, products included, there are fewer bits than this.
constexpr mpfr_prec_t exact_precision = 4400;

/// The definitions of docs/numerics.md, written down step by step; operands are finite.
class Simulation {
 public:
  Simulation(emu::Format a, emu::Format b, emu::Format accumulator, const emu::SummationOptions& options)
      : a_(oracle_format(a)), b_(oracle_format(b)), to_(oracle_format(accumulator)), options_(options) {}

  /// b empty: terms a[i].
  emu::Result run(const Codes& a, const Codes& b) {
    std::vector<Number> terms;
    for (std::size_t i = 0; i < a.size(); ++i) {
      Number x = number(a_, a[i]);
      if (!b.empty()) {
        const Number y = number(b_, b[i]);
        mpfr_mul(x->get(), x->get(), y->get(), MPFR_RNDN);
      }
      terms.push_back(x);
    }
    std::uint64_t sum = 0;
    products_ = !b.empty();
    if (a.empty()) return {round(zero()), flags()};
    switch (options_.order) {
      case emu::Summation::sequential: sum = sequential({terms}); break;
      case emu::Summation::pairwise: sum = pairwise({terms}); break;
      case emu::Summation::blocked: {
        std::vector<std::uint64_t> blocks;
        for (std::size_t at = 0; at < terms.size(); at += options_.block_terms)
          blocks.push_back(
              sequential({terms.begin() + static_cast<std::ptrdiff_t>(at),
                          terms.begin() + static_cast<std::ptrdiff_t>(std::min(at + options_.block_terms, terms.size()))}));
        sum = blocks[0];
        for (std::size_t i = 1; i < blocks.size(); ++i) sum = add(held(sum), held(blocks[i]));
        break;
      }
      case emu::Summation::kahan: {
        sum = round(product(terms[0]));
        std::uint64_t c = 0;
        for (std::size_t i = 1; i < terms.size(); ++i) {
          const std::uint64_t y = subtract(product(terms[i]), held(c));
          const std::uint64_t t = add(held(sum), held(y));
          c = subtract(held(subtract(held(t), held(sum))), held(y));
          sum = t;
        }
        break;
      }
    }
    return {sum, flags()};
  }

 private:
  struct Owner {
    oracle::Number value{exact_precision};
    mpfr_ptr get() { return value; }
  };
  using Number = std::shared_ptr<Owner>;

  static Number zero() {
    auto out = std::make_shared<Owner>();
    mpfr_set_zero(out->get(), 1);
    return out;
  }
  Number number(oracle::Format f, std::uint64_t code) const {
    oracle::Number narrow;
    oracle::set_value(narrow, f, code);
    Number out = zero();
    mpfr_set(out->get(), narrow, MPFR_RNDN);
    if (options_.rounding.subnormals_are_zero && f.style != oracle::fnu && !mpfr_zero_p(static_cast<mpfr_srcptr>(narrow)) &&
        mpfr_cmp_ui_2exp(magnitude(narrow), 1, 1 - f.bias) < 0)
      mpfr_set_zero(out->get(), oracle::has_one_zero(f) || !mpfr_signbit(static_cast<mpfr_srcptr>(narrow)) ? 1 : -1);
    return out;
  }
  static mpfr_ptr magnitude(mpfr_srcptr x) {
    static oracle::Number out;
    mpfr_abs(out, x, MPFR_RNDN);
    return out;
  }
  Number held(std::uint64_t code) const { return number(to_, code); }

  std::uint64_t round(const Number& x) {
    const auto answer =
        oracle::round(to_, static_cast<mpfr_srcptr>(x->get()), oracle_mode(options_.rounding.rounding),
                      {options_.rounding.policy == emu::Policy::saturating,
                       options_.rounding.tininess == emu::Tininess::before_rounding, options_.rounding.flush_subnormals});
    raised_ |= answer.flags;
    return answer.code;
  }
  /// A term as the order sees it.
  Number product(const Number& exact) {
    return products_ && options_.products == emu::Products::rounded ? held(round(exact)) : exact;
  }
  std::uint64_t combine(const Number& x, const Number& y, int (*operation)(mpfr_ptr, mpfr_srcptr, mpfr_srcptr, mpfr_rnd_t)) {
    Number out = zero();
    const bool down = options_.rounding.rounding == emu::Rounding::downward;
    operation(out->get(), x->get(), y->get(), down ? MPFR_RNDD : MPFR_RNDN);
    if (mpfr_nan_p(static_cast<mpfr_srcptr>(out->get())) && !mpfr_nan_p(static_cast<mpfr_srcptr>(x->get())) &&
        !mpfr_nan_p(static_cast<mpfr_srcptr>(y->get())))
      raised_ |= oracle::flag_invalid;
    return round(out);
  }
  std::uint64_t add(const Number& x, const Number& y) { return combine(x, y, mpfr_add); }
  std::uint64_t subtract(const Number& x, const Number& y) { return combine(x, y, mpfr_sub); }

  std::uint64_t sequential(const std::vector<Number>& terms) {
    std::uint64_t sum = round(product(terms[0]));
    for (std::size_t i = 1; i < terms.size(); ++i) sum = add(held(sum), product(terms[i]));
    return sum;
  }
  std::uint64_t pairwise(const std::vector<Number>& terms) {
    if (terms.size() <= options_.leaf_terms) return sequential(terms);
    const auto middle = terms.begin() + static_cast<std::ptrdiff_t>((terms.size() + 1) / 2);
    const std::uint64_t left = pairwise({terms.begin(), middle}), right = pairwise({middle, terms.end()});
    return add(held(left), held(right));
  }
  emu::Flags flags() const { return static_cast<emu::Flags>(raised_); }

  oracle::Format a_, b_, to_;
  emu::SummationOptions options_;
  bool products_ = false;
  int raised_ = 0;
};

Codes random_codes(emu::Format f, std::size_t count, bool wild, std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  Codes out(count);
  for (auto& code : out) do {
      code = wild ? random() & f.code_mask() : emu::encode(f, f.is_signed() ? normal(random) : std::abs(normal(random)));
    } while (f.is_nan(code) || f.is_infinite(code));
  return out;
}

std::vector<emu::SummationOptions> orders() {
  std::vector<emu::SummationOptions> out;
  for (const emu::Products products : {emu::Products::fused, emu::Products::rounded}) {
    out.push_back({.order = emu::Summation::sequential, .products = products});
    for (const std::size_t leaf : {1U, 2U, 5U})
      out.push_back({.order = emu::Summation::pairwise, .products = products, .leaf_terms = leaf});
    for (const std::size_t block : {1U, 4U, 100U})
      out.push_back({.order = emu::Summation::blocked, .products = products, .block_terms = block});
    out.push_back({.order = emu::Summation::kahan, .products = products});
  }
  return out;
}

std::vector<emu::RoundingOptions> roundings() {
  std::vector<emu::RoundingOptions> out;
  for (const emu::Rounding rounding : deterministic) out.push_back({.rounding = rounding});
  out.push_back({.policy = emu::Policy::saturating});
  out.push_back({.tininess = emu::Tininess::before_rounding});
  out.push_back({.flush_subnormals = true});
  out.push_back({.subnormals_are_zero = true});
  return out;
}

void require_steps(emu::Format fa, emu::Format fb, emu::Format to, std::size_t count, bool wild, std::mt19937_64& random) {
  const Codes a = random_codes(fa, count, wild, random), b = random_codes(fb, count, wild, random);
  for (emu::SummationOptions options : orders())
    for (const emu::RoundingOptions& rounding : roundings()) {
      options.rounding = rounding;
      CAPTURE(emu::format_name(fa), emu::format_name(fb), emu::format_name(to), count, int(options.order),
              int(options.products), options.leaf_terms, options.block_terms, emu::name_of(rounding.rounding),
              rounding.subnormals_are_zero, a, b);
      REQUIRE(emu::sum(fa, a, to, options) == Simulation(fa, fb, to, options).run(a, {}));
      if (count > 0) REQUIRE(emu::dot(fa, a, fb, b, to, options) == Simulation(fa, fb, to, options).run(a, b));
    }
}

}  // namespace

TEST_CASE("every order takes the steps of its definition, in every direction and policy", "[summation]") {
  std::mt19937_64 random(1);
  const emu::Format triples[][3] = {{emu::e4m3, emu::e5m2, emu::fp16}, {emu::fp16, emu::fp16, emu::fp16},
                                    {emu::bf16, emu::bf16, emu::fp32}, {emu::fp32, emu::fp32, emu::bf16},
                                    {emu::fp64, emu::fp64, emu::fp64}, {emu::fp64, emu::fp32, emu::e4m3},
                                    {emu::e2m1, emu::e2m1, emu::e2m1}, {emu::float8_e4m3fnuz, emu::e8m0, emu::float8_e5m2fnuz}};
  for (const auto& f : triples)
    for (const bool wild : {false, true})
      for (const std::size_t count : {0U, 1U, 2U, 3U, 7U, 13U, 60U}) require_steps(f[0], f[1], f[2], count, wild, random);
}

TEST_CASE("what a product leaves of the accumulator when both nearly cancel is exact", "[summation]") {
  std::mt19937_64 random(4);
  constexpr emu::Format seven_bits{8, 6, 127, emu::Specials::ieee};  // with a double's 53 the most that a 64-bit word takes
  for (const emu::Format f : {seven_bits, emu::bf16, emu::Format{8, 9, 127, emu::Specials::ieee}, emu::fp32, emu::fp64})
    for (const emu::Format to : {emu::fp32, emu::fp16, emu::fp64})
      for (int i = 0; i < 500; ++i) {
        const double v = emu::round_to(to, std::ldexp(1.0 + static_cast<double>(random() % (1 << 23)) * 0x1p-23, 3)).value;
        const double b = emu::round_to(f, 1.0 + static_cast<double>(random() >> 11) * 0x1p-53).value;
        const Codes left{emu::encode(emu::fp64, -v), emu::encode(emu::fp64, v / b)},
            right{emu::encode(f, 1.0), emu::encode(f, b)};
        for (const emu::Rounding rounding : deterministic) {
          const emu::SummationOptions options{.rounding = {.rounding = rounding}};
          CAPTURE(emu::format_name(f), emu::format_name(to), v, b, emu::name_of(rounding));
          REQUIRE(emu::dot(emu::fp64, left, f, right, to, options) == Simulation(emu::fp64, f, to, options).run(left, right));
        }
      }
}

TEST_CASE("formats as template arguments change nothing", "[summation]") {
  std::mt19937_64 random(2);
  const Codes wide_a = random_codes(emu::fp16, 1000, false, random), wide_b = random_codes(emu::fp16, 1000, false, random);
  const std::vector<std::uint16_t> a(wide_a.begin(), wide_a.end()), b(wide_b.begin(), wide_b.end());
  std::vector<float> floats;
  std::vector<double> doubles;
  for (const auto code : a) {
    floats.push_back(static_cast<float>(emu::decode(emu::fp16, code)));
    doubles.push_back(emu::decode(emu::fp16, code));
  }
  for (emu::SummationOptions options : orders()) {
    const emu::Result expected = emu::sum(emu::fp16, wide_a, emu::fp16, options);
    CHECK((emu::sum<emu::fp16, emu::fp16>(a, options) == expected));
    CHECK((emu::sum<emu::fp32, emu::fp16>(floats, options) == expected));
    CHECK(emu::sum(floats, emu::fp16, options) == expected);
    CHECK(emu::sum(doubles, emu::fp16, options) == expected);
    CHECK((emu::dot<emu::fp16, emu::fp16, emu::fp32>(a, b, options) ==
           emu::dot(emu::fp16, wide_a, emu::fp16, wide_b, emu::fp32, options)));
    CHECK(emu::dot(doubles, floats, emu::fp32, options) == emu::dot(emu::fp16, a, emu::fp16, a, emu::fp32, options));
  }
}

TEST_CASE("stochastic rounding draws once for each rounding, in order", "[summation]") {
  std::mt19937_64 random(3);
  const Codes a = random_codes(emu::fp16, 50, false, random);
  const emu::RoundingOptions stochastic{.rounding = emu::Rounding::stochastic};
  emu::Code expected = emu::convert(emu::fp16, a[0], emu::e5m2, stochastic, emu::rounding_bits(11, 0)).code;
  for (std::size_t i = 1; i < a.size(); ++i) {
    const double exact = emu::decode(emu::e5m2, expected) + emu::decode(emu::fp16, a[i]);
    expected = emu::encode(emu::e5m2, exact, stochastic, emu::rounding_bits(11, i));
  }
  CHECK(emu::sum(emu::fp16, a, emu::e5m2, {.rounding = stochastic, .seed = 11}).code == expected);
}

TEST_CASE("infinities and NaNs go through as they do through additions and multiplications", "[summation]") {
  const Codes infinity{0x3c00, 0x7c00, 0x3c00}, opposed{0x7c00, 0xfc00}, nan{0x7e00, 0x3c00}, loud{0x3c00, 0x7d00},
      zeros{0, 0, 0};
  for (const emu::SummationOptions& options : orders()) {
    if (options.order != emu::Summation::kahan) {
      CHECK(emu::sum(emu::fp16, infinity, emu::fp16, options) == emu::Result{0x7c00, emu::no_flags});
      CHECK(emu::sum(emu::fp16, infinity, emu::e4m3, options) == emu::Result{0x7f, emu::invalid});
    } else {
      CHECK(emu::sum(emu::fp16, infinity, emu::fp16, options) ==
            emu::Result{0x7fff, emu::invalid});  // inf - inf in the correction
    }
    CHECK(emu::sum(emu::fp16, opposed, emu::fp16, options) == emu::Result{0x7fff, emu::invalid});
    CHECK(emu::sum(emu::fp16, nan, emu::fp16, options) == emu::Result{0x7fff, emu::no_flags});
    CHECK(emu::sum(emu::fp16, loud, emu::fp16, options) == emu::Result{0x7fff, emu::invalid});
    CHECK(emu::dot(emu::fp16, infinity, emu::fp16, zeros, emu::fp16, options) == emu::Result{0x7fff, emu::invalid});
    CHECK(emu::dot(emu::fp16, nan, emu::fp16, zeros, emu::fp16, options) == emu::Result{0x7fff, emu::no_flags});
  }
}

TEST_CASE("a sum of negative zeros is a negative zero in every order", "[summation]") {
  const Codes zeros(5, 0x8000), one(5, 0x3c00);
  for (const emu::SummationOptions& options : orders()) {
    CHECK(emu::sum(emu::fp16, zeros, emu::fp32, options).code == 0x80000000);
    CHECK(emu::dot(emu::fp16, zeros, emu::fp16, one, emu::fp32, options).code == 0x80000000);
  }
}

TEST_CASE("a small accumulator stagnates in sequence, not in pairs, and Kahan's correction keeps what is lost", "[summation]") {
  const std::vector<float> ones(4096, 1.0f);
  const auto total = [&](emu::SummationOptions options) {
    return emu::decode(emu::fp16, emu::sum(ones, emu::fp16, options).code);
  };
  CHECK(total({}) == 2048);
  CHECK(total({.order = emu::Summation::pairwise}) == 4096);
  CHECK(total({.order = emu::Summation::blocked, .block_terms = 64}) == 4096);
  CHECK(total({.order = emu::Summation::kahan}) == 4096);
}

TEST_CASE("errors are measured from the exact sum", "[summation]") {
  const std::vector<float> ones(4096, 1.0f);
  const auto stagnated = emu::sum_error(ones, emu::fp16);
  CHECK(stagnated.computed.code == emu::encode(emu::fp16, 2048.0));
  CHECK(stagnated.correct.value == 4096);
  CHECK(stagnated.exact == 4096);
  CHECK(stagnated.error == -2048);
  CHECK(stagnated.error_ulp == -512);  // spacing 4 from 4096 on
  CHECK(stagnated.relative_error == -0.5);

  CHECK(emu::sum_error(ones, emu::fp32).error_ulp == 0);
  const auto lost = emu::sum_error(std::vector{0x1p-40, 1.0, -1.0}, emu::fp32);
  CHECK(lost.computed.code == 0);
  CHECK(lost.error_ulp == -0x1p23);
  CHECK(lost.relative_error == -1);
  const auto of_zero = emu::sum_error(std::vector{0x1p-25, 1.0, -1.0, -0x1p-25}, emu::fp32);
  CHECK(of_zero.exact == 0);
  CHECK(of_zero.error == -0x1p-25);
  CHECK(of_zero.error_ulp == -0x1p124);  // in units of the least subnormal
  CHECK(of_zero.relative_error == -std::numeric_limits<double>::infinity());

  const auto beyond = emu::sum_error(std::vector{65504.0, 65504.0, -65504.0}, emu::fp16);
  CHECK(beyond.exact == 65504);
  CHECK(beyond.error_ulp == std::numeric_limits<double>::infinity());
  const auto infinite = emu::sum_error(std::vector{1.0, std::numeric_limits<double>::infinity()}, emu::fp16);
  CHECK(infinite.error_ulp == 0);
  const auto product = emu::dot_error(std::vector{3.0, 5.0}, std::vector{0x1p-30, 1.0}, emu::bf16,
                                      {.rounding = {.rounding = emu::Rounding::upward}});
  CHECK(product.correct.code == emu::encode(emu::bf16, 5.03125));
  CHECK(product.error == -3 * 0x1p-30 + (emu::decode(emu::bf16, product.computed.code) - 5));
}

namespace {
constexpr std::array<double, 3> at_compile_time{1, 0x1p-24, 0x1p-24};
static_assert(emu::sum(at_compile_time, emu::fp32).code == 0x3f800000);
static_assert(emu::sum(at_compile_time, emu::fp32, {.order = emu::Summation::kahan}).code == 0x3f800001);
static_assert(emu::exact_sum(at_compile_time, emu::fp32).code == 0x3f800001);
}  // namespace
