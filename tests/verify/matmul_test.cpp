// SPDX-License-Identifier: Apache-2.0
// Enclosures and verdicts of matrix products.
#include "verify/matmul.hpp"

#include <mpfr.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cmath>
#include <random>

#include "emu/catalogue.hpp"
#include "emu/encode.hpp"
#include "emu/names.hpp"
#include "verify/engine_output.hpp"
#include "verify/matmul_bound.hpp"
#include "verify/verdict.hpp"

namespace {

using namespace ulpscope;
using tensors::Tensor;

/// Numbers of `format` with exponents from -spread to spread.
std::vector<float> numbers(std::size_t count, emu::Format format, int spread, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> values(count);
  for (float& x : values) {
    const double fraction = static_cast<double>(random()) / 0x1p32 - 0.5;
    const int exponent = spread == 0 ? 0 : static_cast<int>(random() % static_cast<unsigned>(2 * spread)) - spread;
    x = static_cast<float>(emu::round_to(format, std::ldexp(fraction, exponent), {.policy = emu::Policy::saturating}).value);
  }
  return values;
}

products::Product problem(emu::Format format, std::size_t m, std::size_t n, std::size_t k, int spread, unsigned seed) {
  const auto operand = [&](std::uint64_t rows, std::uint64_t columns, unsigned s) {
    return products::MatmulOperand{
        {tensors::from_values("x", {rows, columns}, numbers(rows * columns, format, spread, s))}, {format}, {}};
  };
  return {.engine = {},
          .a = operand(m, k, seed),
          .b = operand(k, n, seed + 1),
          .c = {},
          .acc = emu::float32,
          .out = emu::float32,
          .beta = {}};
}

std::vector<double> values_of(const Tensor& tensor) {
  std::vector<double> values(static_cast<std::size_t>(tensor.count()));
  tensor.source->read(0, std::span(values));
  return values;
}

/// The exact sum and the sum of magnitudes in enough bits for every exponent of the test.
class Exact {
 public:
  Exact() { mpfr_inits2(4000, sum_, term_, size_, static_cast<mpfr_ptr>(nullptr)); }
  ~Exact() { mpfr_clears(sum_, term_, size_, static_cast<mpfr_ptr>(nullptr)); }
  void clear() { mpfr_set_zero(sum_, 1), mpfr_set_zero(size_, 1); }
  void add(double x, double y) {
    mpfr_set_d(term_, x, MPFR_RNDN);
    mpfr_mul_d(term_, term_, y, MPFR_RNDN);
    mpfr_add(sum_, sum_, term_, MPFR_RNDN);
    mpfr_abs(term_, term_, MPFR_RNDN);
    mpfr_add(size_, size_, term_, MPFR_RNDN);
  }
  /// |exact - high - low|
  double distance(double high, double low) {
    mpfr_sub_d(term_, sum_, high, MPFR_RNDN);
    mpfr_sub_d(term_, term_, low, MPFR_RNDN);
    return std::fabs(mpfr_get_d(term_, MPFR_RNDA));
  }
  double value() const { return mpfr_get_d(sum_, MPFR_RNDN); }
  double size() const { return mpfr_get_d(size_, MPFR_RNDN); }

 private:
  mpfr_t sum_, term_, size_;
};

}  // namespace

TEST_CASE("the exact product lies within the radius, and the precise value is it", "[verify]") {
  const auto format = GENERATE(emu::bfloat16, emu::float16, emu::float32, emu::float8_e4m3fn);
  const auto spread = GENERATE(0, 6, 60);
  const std::size_t m = 7, n = 19, k = GENERATE(as<std::size_t>(), 1, 33, 700);
  const auto config = problem(format, m, n, k, spread, 3);
  const auto expectation = verify::expect_matmul(config, {.relative = 0});
  const auto a = values_of(config.a.input.tensor), b = values_of(config.b.input.tensor);

  std::vector<verify::Expected> expected(m * n);
  expectation->expect(0, expected);

  Exact exact;
  for (std::size_t i = 0; i < m * n; ++i) {
    exact.clear();
    for (std::size_t j = 0; j < k; ++j) exact.add(a[i / n * k + j], b[j * n + i % n]);
    CAPTURE(i);
    CHECK(exact.distance(expected[i].value, 0) <= expected[i].radius);
    CHECK(std::fabs(exact.size() - expected[i].magnitude) <= expected[i].radius);
    const verify::Precise precise = expectation->precise(i);
    CHECK(exact.distance(precise.high, precise.low) <= std::fabs(exact.value()) * 0x1p-100);
    CHECK(precise.rounded == static_cast<double>(static_cast<float>(precise.high)));
  }
}

TEST_CASE("elements are the same in whatever pieces they are asked for", "[verify]") {
  const auto config = problem(emu::bfloat16, 13, 21, 100, 3, 5);
  const auto expectation = verify::expect_matmul(config, {.relative = 0x1p-10});
  std::vector<verify::Expected> all(std::size_t{13} * 21), piece;
  expectation->expect(0, all);
  for (const std::size_t size : std::initializer_list<std::size_t>{1, 5, 21, 50})
    for (std::size_t first = 0; first < all.size(); first += size) {
      piece.assign(std::min(size, all.size() - first), {});
      expectation->expect(first, piece);
      for (std::size_t i = 0; i < piece.size(); ++i) {
        CHECK(piece[i].value == all[first + i].value);
        CHECK(piece[i].magnitude == all[first + i].magnitude);
        CHECK(piece[i].allowed == all[first + i].allowed);
      }
    }
}

TEST_CASE("a verdict counts every element once and finds what was planted", "[verify]") {
  const auto config = problem(emu::bfloat16, 40, 48, 320, 0, 9);
  const auto expectation = verify::expect_matmul(config, {.relative = 0x1p-15});
  auto exact = config;
  exact.engine = "exact";
  const auto right = values_of(products::multiply(exact));
  const auto judged = [&](const std::vector<double>& values) {
    const std::vector<float> floats(values.begin(), values.end());
    return verify::verify(*expectation, tensors::from_values("d", {40, 48}, floats), {.last = {emu::float32}});
  };

  const verify::Verdict good = judged(right);
  CHECK(good.equal == right.size());
  CHECK(good.outcome() == verify::Outcome::pass);

  auto one_row = right;
  for (std::size_t j = 0; j < 48; ++j) one_row[std::size_t{17} * 48 + j] *= 1.01;
  const verify::Verdict row = judged(one_row);
  CHECK(row.beyond == 48);
  CHECK(row.equal + row.within + row.beyond + row.nonfinite == row.count);
  CHECK(row.patterns.front() == "all wrong elements are in 1 row of 40: 17");

  auto poisoned = right;
  poisoned[100] = std::nan("");
  CHECK(judged(poisoned).nonfinite == 1);
  CHECK(judged(poisoned).outcome() == verify::Outcome::fail);

  CHECK(judged(std::vector<double>(right.size(), 0)).outcome() == verify::Outcome::fail);

  const auto a = values_of(config.a.input.tensor), b = values_of(config.b.input.tensor);
  std::vector<double> tail = right;
  for (std::size_t i = 0; i < 40; ++i)
    for (std::size_t j = 0; j < 48; ++j)
      for (std::size_t k = 320 - 64; k < 320; ++k) tail[i * 48 + j] -= a[i * 320 + k] * b[k * 48 + j];
  const verify::Verdict lost = judged(tail);
  CHECK(lost.outcome() == verify::Outcome::fail);
  CHECK(lost.patterns.back().find("the last 64 of 320 products") != std::string::npos);
}

TEST_CASE("a check that zeros would pass is vacuous", "[verify]") {
  auto config = problem(emu::bfloat16, 4, 4, 8, 0, 1);
  config.a.input.tensor = tensors::from_values("zeros", {4, 8}, std::vector<float>(32));
  const auto zeros = tensors::from_values("d", {4, 4}, std::vector<float>(16));
  const auto verdict = verify::verify(*verify::expect_matmul(config, {.relative = 0x1p-20}), zeros, {.last = {emu::float32}});
  CHECK(verdict.equal == 16);
  CHECK(verdict.outcome() == verify::Outcome::vacuous);
  const auto says = [](const verify::Verdict& v, const std::string& words) {
    CAPTURE(v.sentence(), words);
    CHECK(v.outcome() == verify::Outcome::vacuous);
    CHECK(v.sentence().starts_with("VACUOUS: an output of zeros would pass" + words));
  };
  says(verdict, ": every exact result is 0;");
  config.a.input.tensor = tensors::from_values("small", {4, 8}, std::vector<float>(32, 0x1p-60F));
  const auto judged = [&](emu::Format out, double relative) {
    config.out = out;
    return verify::verify(*verify::expect_matmul(config, {.relative = relative}), zeros, {.last = {out}});
  };
  says(judged(emu::float16, 0x1p-20), ": every exact result may be rounded to 0 in float16;");
  says(judged(emu::float32, 1e30), "; declare more of the arithmetic");
  CHECK(judged(emu::float32, 0x1p-20).outcome() == verify::Outcome::fail);
}

TEST_CASE("a check that sees no factor is called weak, with the least one that it sees", "[verify]") {
  auto config = problem(emu::bfloat16, 4, 4, 64, 0, 1);
  config.engine = "fma";
  const auto right = values_of(products::multiply(config));
  const auto judged = [&](double factor, double relative) {
    std::vector<float> d;
    for (const double x : right) d.push_back(static_cast<float>(x * factor));
    return verify::verify(*verify::expect_matmul(config, {.relative = relative}), tensors::from_values("d", {4, 4}, d),
                          {.last = {emu::float32}});
  };
  const verify::Verdict weak = judged(1, 0x1p-5);
  REQUIRE(weak.unseen_share > 0.05);
  CHECK(weak.sentence().find("a weak check: all of it ") != std::string::npos);
  CHECK(judged(1 + weak.unseen_share * 0.99, 0x1p-5).wrong() == 0);
  CHECK(judged(1 + weak.unseen_share * 1.01, 0x1p-5).wrong() == 1);
  CHECK(judged(1 - weak.unseen_share * 1.01, 0x1p-5).wrong() == 1);
  // Of a coarse format halves of an ulp say nothing of the check: a number that is not on the grid may be nearer to its end.
  auto coarse = config;
  coarse.out = emu::float8_e5m2;
  const auto of_coarse = products::multiply(coarse);
  const verify::Verdict exact =
      verify::verify(*verify::expect_matmul(coarse, {.relative = 0x1p-20}), of_coarse, {.last = {emu::float8_e5m2}});
  CHECK(exact.unseen_share < 0.05);
  CHECK(exact.sentence().find("weak") == std::string::npos);
  const verify::Verdict strong = judged(1, 0x1p-20);
  CHECK(strong.unseen_share < 0.05);
  CHECK(strong.sentence().find("weak") == std::string::npos);
}

TEST_CASE("against an engine every bit must be right, and any order of the parts where that is declared", "[verify]") {
  auto config = problem(emu::float16, 16, 16, 256, 2, 21);
  config.engine = "sm_80";
  config.split_k = 4;
  const auto d = products::multiply(config);
  const auto check = [&](const Tensor& output, verify::ReductionOrder order) {
    return verify::verify(*verify::expect_engine(config, order), output, {.last = {emu::float32}});
  };
  CHECK(check(d, verify::ReductionOrder::ascending).equal == 256);

  auto whole = config;
  whole.split_k = 1;
  const auto unsplit = products::multiply(whole);
  CHECK(check(unsplit, verify::ReductionOrder::any).beyond > 50);

  // The parts by themselves, added in descending order.
  std::vector<float> sum(256);
  for (std::size_t part = 4; part-- > 0;) {
    auto slice = config;
    slice.split_k = 1;
    const auto a = values_of(config.a.input.tensor), b = values_of(config.b.input.tensor);
    std::vector<float> of_a, of_b;
    for (std::size_t i = 0; i < 16; ++i)
      for (std::size_t k = 0; k < 64; ++k) of_a.push_back(static_cast<float>(a[i * 256 + part * 64 + k]));
    for (std::size_t k = 0; k < 64; ++k)
      for (std::size_t j = 0; j < 16; ++j) of_b.push_back(static_cast<float>(b[(part * 64 + k) * 16 + j]));
    slice.a.input.tensor = tensors::from_values("a", {16, 64}, of_a);
    slice.b.input.tensor = tensors::from_values("b", {64, 16}, of_b);
    const auto values = values_of(products::multiply(slice));
    for (std::size_t i = 0; i < 256; ++i) sum[i] += static_cast<float>(values[i]);
  }
  const auto descending = tensors::from_values("d", {16, 16}, sum);
  CHECK(check(descending, verify::ReductionOrder::ascending).beyond > 0);
  CHECK(check(descending, verify::ReductionOrder::any).wrong() == 0);
}

TEST_CASE("operands may be scaled before they are multiplied, unless sums of blocks are declared", "[verify][matmul]") {
  constexpr std::size_t k = 1024, m = 4, blocks = 8;
  constexpr float a = 1.25F, b = 1.125F, scale_a = 0.1F, scale_b = 0.3F;
  auto config = problem(emu::float8_e4m3fn, m, m, k, 0, 1);
  config.a.input.tensor = tensors::from_values("a", {m, k}, std::vector<float>(m * k, a));
  config.b.input.tensor = tensors::from_values("b", {k, m}, std::vector<float>(k * m, b));
  const auto scales = [](std::vector<std::uint64_t> shape, float scale) {
    return tensors::from_values("scales", std::move(shape), std::vector<float>(m * blocks, scale));
  };
  config.a.scales = products::fit_scales(scales({m, blocks}, scale_a), config.a.input, products::MatmulSide::a);
  config.b.scales = products::fit_scales(scales({blocks, m}, scale_b), config.b.input, products::MatmulSide::b);
  float sum = 0;
  for (std::size_t i = 0; i < k; ++i) sum += (a * scale_a) * (b * scale_b);
  const auto wrong = [&](std::size_t promote) {
    config.promote = promote;
    return verify::verify(*verify::expect_matmul(config, verify::matmul_allowance(config, {})),
                          tensors::from_values("d", {m, m}, std::vector<float>(m * m, sum)), {.last = {emu::float32}})
        .wrong();
  };
  CHECK(wrong(0) == 0);
  CHECK(wrong(k / blocks) == m * m);
}

TEST_CASE("results of a narrower format are said to be that, where they are rounded to it", "[verify][matmul]") {
  auto config = problem(emu::bfloat16, 12, 12, 96, 0, 1);
  config.engine = "fma";
  const std::vector<double> right = values_of(products::multiply(config));
  const auto said = [&](auto change) {
    std::vector<float> d;
    for (const double x : right) d.push_back(static_cast<float>(change(x)));
    const auto verdict = verify::verify(*verify::expect_matmul(config, {.relative = 0x1p-20}),
                                        tensors::from_values("d", {12, 12}, d), {.last = {emu::float32}});
    CHECK(verdict.outcome() == verify::Outcome::fail);
    return verdict.patterns.back();
  };
  const auto is_hint = [](const std::string& text, const std::string& format) {
    return text.find("are numbers of " + format) != std::string::npos &&
           text.find("--out " + format + "?") != std::string::npos;
  };
  for (const emu::Format narrow : {emu::bfloat16, emu::float16})
    CHECK(is_hint(said([&](double x) { return emu::round_to(narrow, x).value; }), emu::format_name(narrow)));
  CHECK(!is_hint(said([](double x) { return emu::round_to(emu::bfloat16, 1.1 * x).value; }), "bfloat16"));
  CHECK(!is_hint(said([](double x) { return x + 1; }), "bfloat16"));
}
