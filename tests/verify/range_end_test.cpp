// SPDX-License-Identifier: Apache-2.0
// What sums near the end of the range become: the infinities, NaN and greatest numbers that an order of a sum or the declared
// engine has, and no others.
#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "emu/catalogue.hpp"
#include "emu/decode.hpp"
#include "emu/encode.hpp"
#include "emu/engines.hpp"
#include "emu/names.hpp"
#include "tests/verify/operations_data.hpp"
#include "verify/check.hpp"
#include "verify/engine_output.hpp"
#include "verify/matmul.hpp"
#include "verify/matmul_bound.hpp"
#include "verify/operations/products.hpp"
#include "verify/verdict.hpp"

namespace {

using namespace ulpscope;
using operations::infinite;
using operations::judge_all;
using operations::no_number;
using operations::values;

constexpr float huge = 0x1.ffp127F;  // 2^128 - 2^119: infinite in bfloat16, what is left of it -infinity

/// A of m by k, B of k by 1.
products::Product product(const std::string& engine, emu::Format in, emu::Format acc, std::size_t m,
                          const std::vector<float>& a, const std::vector<float>& b) {
  return {.engine = engine,
          .a = {{tensors::from_values("a", {m, b.size()}, a)}, {in}, {}},
          .b = {{tensors::from_values("b", {b.size(), 1}, b)}, {in}, {}},
          .c = {},
          .acc = acc,
          .out = emu::float32,
          .beta = {}};
}

tensors::Tensor output(std::vector<std::uint64_t> shape, std::vector<float> d) {
  return tensors::from_values("d", std::move(shape), std::move(d));
}

std::unique_ptr<verify::Expectation> expected(const products::Product& product) {
  verify::Arithmetic arithmetic;
  if (!product.engine.empty()) arithmetic.engine = products::engine_of(product);
  return verify::expect_matmul(product, verify::matmul_allowance(product, arithmetic));
}

verify::Verdict judged(const products::Product& product, const tensors::Tensor& d, const verify::LastRounding& last) {
  return verify::verify(*expected(product), d, {.last = last, .threads = 1});
}

/// Whether `d` is right for this row of A and this column, in whatever order they are summed.
bool is_right(const std::vector<float>& a, const std::vector<float>& b, float d, emu::Format in = emu::float32,
              emu::Format acc = emu::float32) {
  return judged(product("", in, acc, 1, a, b), output({1, 1}, {d}), {emu::float32}).wrong() == 0;
}

/// Operands whose products, summed, come near the end of the accumulator's range, or as near as their format lets them.
class NearTheEnd {
 public:
  NearTheEnd(emu::Format accumulator, std::uint64_t seed) : top_(accumulator.max_exponent()), random_(seed) {}

  /// The exponents of two of them add up to that of the greatest number, or four less.
  float operator()(emu::Format f) {
    if (f.has_infinity() && random_() % 24 == 0) return random_() % 2 == 0 ? infinite : -infinite;
    const int middle = std::min(top_ / 2, f.max_exponent() - 1), exponent = middle + 1 - static_cast<int>(random_() % 4);
    const double fraction = 1 + static_cast<double>(random_() % 1024) / 1024, sign = random_() % 3 == 0 ? -1 : 1;
    const double x = sign * std::ldexp(fraction, exponent);
    return static_cast<float>(emu::round_to(f, x, {.policy = emu::Policy::saturating}).value);
  }
  std::vector<float> some(std::size_t count, emu::Format f) {
    std::vector<float> all(count);
    for (float& x : all) x = (*this)(f);
    return all;
  }
  /// About the greatest number of the accumulator, or 0.
  std::vector<float> addends(std::size_t count, emu::Format f) {
    std::vector<float> all(count);
    for (float& x : all) {
      const double sign = random_() % 2 == 0 ? -1 : 1, share = static_cast<double>(random_() % 5) / 4;
      x = static_cast<float>(sign * share * std::min(emu::max_finite(f), 0x1.fffffep127));
    }
    return all;
  }
  /// Powers of two about 2^middle that the format has.
  std::vector<float> scales(std::size_t count, emu::Format f, int middle) {
    std::vector<float> all(count);
    for (float& x : all) {
      const double power = std::ldexp(1.0, middle + static_cast<int>(random_() % 4));
      x = static_cast<float>(emu::round_to(f, power, {.policy = emu::Policy::saturating}).value);
    }
    return all;
  }

 private:
  int top_;
  std::mt19937_64 random_;
};

constexpr std::size_t m = 8, n = 12;

products::Product near_the_end(const std::string& engine, emu::Format a, emu::Format b, emu::Format acc, std::size_t k,
                               std::uint64_t seed, bool with_c) {
  NearTheEnd draw(acc, seed);
  products::Product product{.engine = engine,
                            .a = {{tensors::from_values("a", {m, k}, draw.some(m * k, a))}, {a}, {}},
                            .b = {{tensors::from_values("b", {k, n}, draw.some(k * n, b))}, {b}, {}},
                            .c = {},
                            .acc = acc,
                            .out = emu::fits_float(acc) ? emu::float32 : emu::float64,
                            .beta = {}};
  if (with_c) product.c = tensors::from_values("c", {m, n}, draw.addends(m * n, acc));
  return product;
}

/// What came of products on an engine, judged as that engine's, and by its bound alone.
struct Counts {
  std::uint64_t wrong = 0, not_finite = 0, by_engine_alone = 0;
};

void add(Counts& counts, const products::Product& product) {
  const tensors::Tensor d = products::multiply(product);
  std::vector<double> elements(static_cast<std::size_t>(d.count()));
  d.source->read(0, std::span(elements));
  counts.not_finite +=
      static_cast<std::uint64_t>(std::count_if(elements.begin(), elements.end(), [](double x) { return !std::isfinite(x); }));
  const verify::VerdictOptions options{.last = {product.out}, .threads = 1};
  const verify::Arithmetic arithmetic{.engine = products::engine_of(product), .false_alarm = {}};
  verify::Allowance allowance = verify::matmul_allowance(product, arithmetic);
  counts.wrong += verify::verify(*verify::expect_matmul(product, allowance), d, options).wrong();
  allowance.engine.reset();
  counts.by_engine_alone += verify::verify(*verify::expect_matmul(product, allowance), d, options).wrong();
}

}  // namespace

TEST_CASE("what an engine itself returns at the end of its range is right for it", "[verify][matmul]") {
  Counts all;
  for (const emu::EngineMode& mode : emu::engine_modes())
    for (std::size_t i = 0; i < mode.inputs.size(); ++i) {
      const emu::Format a = mode.inputs[i], b = mode.inputs[mode.mixed ? (i + 1) % mode.inputs.size() : i];
      const emu::Format acc = mode.model.accumulator;
      const auto step = static_cast<std::size_t>(std::max(mode.model.products, 1));
      const auto block = static_cast<std::size_t>(mode.model.scale_products);
      const std::size_t k = block == 0 ? std::max<std::size_t>(2 * step, 6) : std::max(2 * block, 2 * step);
      CAPTURE(mode.engine, emu::format_name(a), emu::format_name(b), emu::format_name(acc), k);
      Counts counts;
      for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        auto product = near_the_end(std::string(mode.engine), a, b, acc, k, seed, seed != 1);
        if (block != 0) {
          NearTheEnd draw(acc, seed + 100);
          const auto scales = [&](std::uint64_t rows, std::uint64_t columns) {
            return tensors::from_values("scales", {rows, columns}, draw.scales(rows * columns, mode.scale_format, 58));
          };
          product.a.scales = products::fit_scales(scales(m, k / block), product.a.input, products::MatmulSide::a);
          product.b.scales = products::fit_scales(scales(k / block, n), product.b.input, products::MatmulSide::b);
          product.a.scales->format = product.b.scales->format = mode.scale_format;
        }
        add(counts, product);
        if (mode.model.scales == emu::EngineScales::none && seed == 3) {
          product.alpha = 0.25;
          add(counts, product);
          product.beta = -2;
          add(counts, product);
        }
      }
      CHECK(counts.wrong == 0);
      all.not_finite += counts.not_finite, all.by_engine_alone += counts.by_engine_alone;
    }
  CHECK(all.not_finite > 1000);
  CHECK(all.by_engine_alone == 0);  // of a chain all follows from the terms
}

TEST_CASE("what a split product itself returns at the end of its range is right for it", "[verify][matmul]") {
  for (const std::string engine : {"3xtf32", "tf32x3", "bf16x3", "bf16x6", "bf16x9", "tf32x1", "bf16x1", "f32x1:engine=fma",
                                   "bf16x9:k=8", "ozaki1:slices=4", "ozaki2:moduli=8"}) {
    CAPTURE(engine);
    Counts counts;
    for (std::uint64_t seed = 1; seed <= 6; ++seed)
      add(counts, near_the_end(engine, emu::float32, emu::float32, emu::float32, 16, seed, seed % 2 == 0));
    CHECK(counts.wrong == 0);
    CHECK(counts.not_finite > 0);
  }
}

TEST_CASE("infinities and NaN that the declared engine makes itself are right, where it makes them", "[verify][matmul]") {
  // The second row of A is of ones, and has the same product on all engines, which the first one's must not excuse.
  const auto wrong = [](const std::string& engine, std::vector<float> a, const std::vector<float>& b, float d, float other) {
    a.resize(2 * b.size(), 1.0F);
    return judged(product(engine, emu::float32, emu::float32, 2, a, b), output({2, 1}, {d, other}), {emu::float32}).wrong();
  };
  struct {
    std::string engine;
    std::vector<float> a, b;
    std::vector<float> right, wrong;
  } const cases[]{
      // The small sum is NaN, which becomes 0, or -infinity from parts of -infinity.
      {"bf16x9", {huge}, {0.5F}, {infinite, huge / 2}, {-infinite, no_number}},
      {"bf16x3", {huge}, {0.5F}, {infinite, huge / 2}, {-infinite, no_number}},
      {"bf16x3", {huge}, {0.5F - 0x1p-20F}, {no_number, huge * (0.5F - 0x1p-20F)}, {infinite, -infinite}},
      {"3xtf32", {huge}, {0.5F}, {huge / 2}, {infinite, -infinite, no_number}},  // cut off: no part is infinite
      {"fma", {huge}, {0.5F}, {huge / 2}, {infinite, -infinite, no_number}},
      {"3xtf32", {infinite}, {0.5F}, {infinite, no_number}, {-infinite, 1}},  // the small part is NaN
      {"ozaki2:moduli=8", {infinite}, {0.5F}, {infinite, no_number}, {-infinite, 1}},
      {"bf16x9", {infinite}, {0.5F}, {infinite}, {-infinite, no_number, 1}},
      {"fma", {infinite}, {0.5F}, {infinite}, {-infinite, no_number, 1}},
      // The product is beyond the range, and so is that of its parts with the other sign.
      {"bf16x3", {0x1.fep126F - 0x1p111F}, {0x1p120F}, {infinite, -infinite}, {no_number, 1}},
      // No order of positive terms is finite.
      {"fma", {0x1p100F, 0x1p100F}, {0x1p29F, 1}, {infinite}, {-infinite, no_number, std::numeric_limits<float>::max()}},
  };
  for (const auto& [engine, a, b, right, other] : cases) {
    float sum = 0;
    for (const float x : b) sum += x;
    for (const float d : right) {
      CAPTURE(engine, a, b, d);
      CHECK(wrong(engine, a, b, d, sum) == 0);
      CHECK(wrong(engine, a, b, d, no_number) == 1);
    }
    for (const float d : other) {
      CAPTURE(engine, a, b, d);
      CHECK(wrong(engine, a, b, d, sum) == 1);
    }
  }
}

TEST_CASE("infinities of the declared engine are counted where the exact result is finite", "[verify][matmul]") {
  const auto one = [](const std::string& engine, float a, float b, float d) {
    return judged(product(engine, emu::float32, emu::float32, 1, {a}, {b}), output({1, 1}, {d}), {emu::float32});
  };
  CHECK(one("bf16x9", huge, 0.5F, infinite).nonfinite_admitted == 1);
  CHECK(one("bf16x9", huge, 0.5F, infinite).max_ulp == HUGE_VAL);
  const verify::Verdict of_infinity = one("3xtf32", infinite, 0.5F, no_number);
  CHECK(of_infinity.within == 1);
  CHECK(of_infinity.nonfinite_admitted == 0);
  CHECK(of_infinity.max_ulp == 0);
}

TEST_CASE("an engine's infinity saturates where the last rounding is declared to", "[verify][matmul]") {
  // 256, which is infinite on the engine.
  const auto is_right = [](float d, const verify::LastRounding& last) {
    auto config = product("bf16x9", emu::float32, emu::float32, 1, {huge}, {0x1p-120F});
    config.out = last.out;
    return judged(config, output({1, 1}, {d}), last).wrong() == 0;
  };
  const auto all = [&](std::array<float, 4> outputs, const verify::LastRounding& last) {
    std::array<bool, 4> right{};
    std::transform(outputs.begin(), outputs.end(), right.begin(), [&](float d) { return is_right(d, last); });
    return right;
  };
  const emu::RoundingOptions saturating{.policy = emu::Policy::saturating};
  const std::array of_fp8{256.0F, 448.0F, -448.0F, no_number}, of_half{256.0F, 65504.0F, infinite, no_number};
  CHECK(all(of_fp8, {emu::float8_e4m3fn}) == std::array{true, false, false, true});
  CHECK(all(of_fp8, {emu::float8_e4m3fn, saturating}) == std::array{true, true, false, false});
  CHECK(all(of_half, {emu::float16}) == std::array{true, false, true, false});
  CHECK(all(of_half, {emu::float16, saturating}) == std::array{true, true, false, false});
  CHECK(all(of_half, {emu::float16, {.rounding = emu::Rounding::stochastic, .policy = emu::Policy::saturating}}) ==
        std::array{true, true, false, false});
}

TEST_CASE("terms of one sign overflow that float64 sums lose beside those of the other", "[verify][matmul][products]") {
  // 2^137 and -2^194: both leave the range of float32. The greatest sums of terms of one sign alone do not leave it to the
  // other.
  const std::vector<float> x{0x1p67F, -0x1p97F}, w{0x1p70F, 0x1p97F}, positive{0x1p97F, 0x1p97F};
  const auto conv = [](const std::vector<float>& in, const std::vector<float>& weight, float d) {
    const auto expectation =
        verify::expect_convolution({.x = values({1, 1, 2}, in), .weight = values({1, 1, 2}, weight), .last = {emu::float32}});
    return judge_all(*expectation, {d}, {emu::float32}).wrong() == 0;
  };
  const auto dot = [](const std::vector<float>& in, const std::vector<float>& weight, float d) {
    const auto expectation = verify::expect_dot({.a = values({1, 2}, in), .b = values({1, 2}, weight), .last = {emu::float32}});
    return judge_all(*expectation, {d}, {emu::float32}).wrong() == 0;
  };
  const auto matmul = [](const std::vector<float>& a, const std::vector<float>& b, float d) { return is_right(a, b, d); };
  const auto all = [](const auto& of, const std::vector<float>& a, const std::vector<float>& b) {
    return std::array{of(a, b, infinite), of(a, b, -infinite), of(a, b, no_number), of(a, b, 0)};
  };
  const std::array both{true, true, true, false}, upward{true, false, false, false};
  CHECK(all(conv, x, w) == both);
  CHECK(all(dot, x, w) == both);
  CHECK(all(matmul, x, w) == both);
  CHECK(all(conv, positive, positive) == upward);
  CHECK(all(dot, positive, positive) == upward);
  CHECK(all(matmul, positive, positive) == upward);
}

TEST_CASE("NaN beside an infinity needs terms of the other sign that overflow", "[verify][matmul][products]") {
  constexpr float large = 3e38F;
  const std::vector<float> same{infinite, large, large}, opposite{infinite, -large, -large}, few{infinite, large, -large};
  const auto sum = [](const std::vector<float>& x, float d) {
    return judge_all(*verify::expect_sum({.x = values({1, x.size()}, x), .last = {emu::float32}}), {d}, {emu::float32})
               .wrong() == 0;
  };
  const auto formula = [](const std::vector<float>& x, float d) {
    return verify::check_output(
               {.operation = "expr", .inputs = {{"x", x, {2, x.size() / 2}}}, .options = {{"formula", "sum(x, axis=-1)"}}},
               std::vector<float>{d, 1})
               .outcome == verify::Outcome::pass;
  };
  const auto matmul = [](const std::vector<float>& x, float d) { return is_right(x, {1, 1, 1}, d); };
  const auto rows_of_formula = [&](std::vector<float> x, float d) {
    x.insert(x.end(), {1, 0, 0});  // a second row that is in range
    return formula(x, d);
  };
  for (const float sign : {1.0F, -1.0F}) {
    const auto times = [sign](std::vector<float> x) {
      for (float& v : x) v *= sign;
      return x;
    };
    const auto nan_is_right = [&](const std::vector<float>& x) {
      CHECK(sum(times(x), sign * infinite));
      CHECK(matmul(times(x), sign * infinite));
      CHECK(rows_of_formula(times(x), sign * infinite));
      CHECK_FALSE((sum(times(x), -sign * infinite) || matmul(times(x), -sign * infinite)));
      return std::array{sum(times(x), no_number), matmul(times(x), no_number), rows_of_formula(times(x), no_number)};
    };
    CAPTURE(sign);
    CHECK(nan_is_right(same) == std::array{false, false, false});
    CHECK(nan_is_right(few) == std::array{false, false, false});
    CHECK(nan_is_right(opposite) == std::array{true, true, true});
  }
  // C is a term like the others.
  auto with_c = product("", emu::float32, emu::float32, 1, {infinite, -large}, {1, 1});
  with_c.c = output({1, 1}, {-large});
  CHECK(judged(with_c, output({1, 1}, {no_number}), {emu::float32}).wrong() == 0);
  with_c.c = output({1, 1}, {large});
  CHECK(judged(with_c, output({1, 1}, {no_number}), {emu::float32}).wrong() == 1);
}

TEST_CASE("a sum overflows before alpha makes it small", "[verify][matmul]") {
  const auto is_right = [](float alpha, float d) {
    auto config = product("", emu::float16, emu::float16, 1, {300, 300}, {200, 100});  // 90000
    config.alpha = static_cast<double>(alpha);
    return judged(config, output({1, 1}, {d}), {emu::float32}).wrong() == 0;
  };
  CHECK(is_right(0.125F, 11250));
  CHECK(is_right(0.125F, infinite));
  CHECK(is_right(-0.125F, -infinite));
  CHECK_FALSE(is_right(0.125F, -infinite));
  CHECK_FALSE(is_right(-0.125F, infinite));
  CHECK_FALSE(is_right(0.125F, no_number));
}

TEST_CASE("NaN is right where terms of both signs leave the range of float64", "[verify][matmul]") {
  const auto is_right = [](const std::vector<double>& a, double d) {
    products::Product config =
        product("", emu::float64, emu::float64, 1, std::vector<float>(a.size(), 1), std::vector<float>(a.size(), 1));
    config.out = emu::float64;
    config.a.input.tensor = tensors::from_values("a", {1, a.size()}, a);
    return judged(config, tensors::from_values("d", {1, 1}, std::vector<double>{d}), {emu::float64}).wrong() == 0;
  };
  const std::vector<double> both{1.5e308, -1.5e308, 1.5e308, -1.5e308}, up{1.5e308, 1.5e308, -1.5e308};
  CHECK((is_right(both, 0) && is_right(both, HUGE_VAL) && is_right(both, -HUGE_VAL) && is_right(both, std::nan(""))));
  CHECK((is_right(up, 1.5e308) && is_right(up, HUGE_VAL)));
  CHECK_FALSE(is_right(up, std::nan("")));
}

TEST_CASE("against an engine an overflow saturates to the number of its sign, where that is declared", "[verify][matmul]") {
  const auto wrong = [](products::Product config, emu::Format out, emu::Policy policy, verify::ReductionOrder order,
                        const std::vector<float>& d) {
    config.out = out;
    return verify::verify(*verify::expect_engine(config, order, policy), output({d.size(), 1}, d),
                          {.last = {out, {.policy = policy}}, .threads = 1})
        .wrong();
  };
  const emu::Policy saturating = emu::Policy::saturating, plain = emu::Policy::nonsaturating;
  const auto ascending = verify::ReductionOrder::ascending, any = verify::ReductionOrder::any;

  const auto rows = product("fma", emu::float32, emu::float32, 5, {500, -500, 2, no_number, infinite}, {1});
  const std::vector<float> saturated{448, -448, 2, no_number, 448}, overflown{no_number, no_number, 2, no_number, no_number};
  CHECK(wrong(rows, emu::float8_e4m3fn, saturating, ascending, saturated) == 0);
  CHECK(wrong(rows, emu::float8_e4m3fn, saturating, ascending, overflown) == 3);
  CHECK(wrong(rows, emu::float8_e4m3fn, plain, ascending, overflown) == 0);
  CHECK(wrong(rows, emu::float8_e4m3fn, plain, ascending, saturated) == 3);

  auto split = product("fma", emu::float32, emu::float32, 1, {3e38F, 3e38F, -3e38F}, {1, 1, 1});
  split.split_k = 3;
  for (const emu::Format out : {emu::float16, emu::float8_e4m3fn}) {
    const auto greatest = static_cast<float>(emu::max_finite(out));
    CHECK(wrong(split, out, saturating, any, {greatest}) == 0);
    CHECK(wrong(split, out, saturating, any, {-greatest}) == 1);
    CHECK(wrong(split, out, plain, any, {greatest}) == 1);
  }
}
