// SPDX-License-Identifier: Apache-2.0
// Shares of a product's error against loops in long double, closed forms, and what is known of engines.
#include "studies/product_sizes/product_sizes.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "emu/catalogue.hpp"
#include "emu/encode.hpp"
#include "emu/error.hpp"
#include "studies/census/sweep.hpp"
#include "tensors/synthetic.hpp"

using namespace ulpscope;
using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;
using studies::ProductSize;

namespace {

studies::ProductSizesRequest asked(const std::string& in, const std::string& engine, const std::string& distribution,
                                   std::vector<std::uint64_t> n) {
  studies::ProductSizesRequest request;
  request.in = {in};
  request.engine = {engine};
  request.distribution = {distribution};
  request.n = std::move(n);
  return request;
}

std::vector<float> elements(const std::string& words, std::uint64_t seed) {
  const tensors::Tensor tensor = tensors::synthetic(words, seed);
  std::vector<float> values(static_cast<std::size_t>(tensor.count()));
  tensor.source->read(0, std::span(values));
  return values;
}

}  // namespace

TEST_CASE("the shares are those of loops in long double", "[product_sizes]") {
  constexpr std::size_t n = 150, rows = 32;
  const std::vector<float> a = elements("normal:0,1:32x150", 0), b = elements("normal:0,1:150x32", 1);
  long double norm = 0, total = 0, inputs = 0, engine = 0, chain = 0;
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < rows; ++j) {
      long double exact = 0, of_rounded = 0;
      float sum = 0, sum_of_rounded = 0;
      for (std::size_t k = 0; k < n; ++k) {
        const float x = a[i * n + k], y = b[k * rows + j];
        const auto rx = static_cast<float>(emu::round_to(emu::bf16, x).value);
        const auto ry = static_cast<float>(emu::round_to(emu::bf16, y).value);
        exact += static_cast<long double>(x) * y;
        of_rounded += static_cast<long double>(rx) * ry;
        sum = std::fma(x, y, sum);
        sum_of_rounded = std::fma(rx, ry, sum_of_rounded);
      }
      norm += exact * exact;
      total += (sum_of_rounded - exact) * (sum_of_rounded - exact);
      inputs += (of_rounded - exact) * (of_rounded - exact);
      engine += (sum_of_rounded - of_rounded) * (sum_of_rounded - of_rounded);
      chain += (sum - exact) * (sum - exact);
    }
  const auto share = [&](long double square) { return static_cast<double>(std::sqrt(square / norm)); };
  const ProductSize row = studies::measure(asked("bf16", "fma", "normal:0,1", {n})).front();
  CHECK(row.outputs == rows * rows);
  CHECK_THAT(row.error, WithinRel(share(total), 1e-9));
  CHECK_THAT(row.of_inputs, WithinRel(share(inputs), 1e-9));
  CHECK_THAT(row.of_engine, WithinRel(share(engine), 1e-6));
  CHECK_THAT(row.of_float32, WithinRel(share(chain), 1e-6));
}

TEST_CASE("two operands of so much noise each change a product of normal numbers by its root of two, at every size",
          "[product_sizes]") {
  // SQNR of normal numbers in e4m3 31.5211 dB, in fp16 73.6509 dB: closed forms.
  for (const auto& [format, db] : {std::pair{"e4m3", 31.5211}, std::pair{"fp16", 73.6509}})
    for (const ProductSize& row : studies::measure(asked(format, "fma", "normal:0,1", {100, 1000, 10000})))
      CHECK_THAT(row.of_inputs, WithinRel(std::sqrt(2.0) * std::pow(10, -db / 20), 0.12));
}

TEST_CASE("truncation to 13 bits takes from positive sums as they grow", "[product_sizes]") {
  const std::vector<ProductSize> rows = studies::measure(asked("e4m3", "sm_90", "uniform:0,1", {128, 1024, 4096}));
  CHECK_THAT(rows[2].mean_signed, WithinAbs(-6.6e-2, 0.2e-2));  // K = 4096
  CHECK(rows[0].of_engine < rows[0].of_inputs);
  CHECK(rows[2].of_engine > rows[2].of_inputs);
}

TEST_CASE("errors that partly cancel are told beside each other, not as parts of their sum", "[product_sizes]") {
  const auto request = asked("fp16", "sm_90", "uniform:0,1", {100, 10000});
  const ProductSize last = studies::measure(request).back();
  REQUIRE(last.of_engine > last.error);
  const std::string sentence = studies::run(request, {}).findings.front().sentence;

  CHECK(sentence.find(" (the engine alone " + studies::percent(last.of_engine) + ", the operands' rounding alone " +
                      studies::percent(last.of_inputs) + ")") != std::string::npos);
}

TEST_CASE("an overflow makes the error infinite", "[product_sizes]") {
  const ProductSize row = studies::measure(asked("bf16", "fma", "uniform:1e38,2e38", {100})).front();
  CHECK(row.nonfinite == row.outputs);
  CHECK(std::isinf(row.error));
  CHECK(std::isinf(row.of_engine));
}

TEST_CASE("rows are by distribution, format, engine, size, at any number of threads", "[product_sizes]") {
  studies::ProductSizesRequest request;
  request.n = {100, 50};
  request.threads = 1;
  const auto rows = studies::run(request, {}).tables.front().rows;
  CHECK(rows.size() == std::size_t{2} * 5 * 2 * 2);
  CHECK(rows[0][4] == reports::Cell(std::int64_t{100}));
  CHECK(rows[1][4] == reports::Cell(std::int64_t{50}));
  CHECK(rows[2][2] == reports::Cell(std::string("sm_90")));
  request.threads = 2;
  CHECK(studies::run(request, {}).tables.front().rows == rows);
  request.engine = {"sm_70"};
  request.in = {"e4m3"};
  CHECK_THROWS_AS(studies::measure(request), Error);
  CHECK_THROWS_AS(studies::measure(asked("bf16", "fma", "normal:0,0", {4})), Error);
  CHECK_THROWS_AS(studies::measure(asked("bf16", "fma", "normal:0,1", {})), Error);
}
