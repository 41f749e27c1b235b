// SPDX-License-Identifier: Apache-2.0
// Products of tensors against a loop over emu::inner_product, which reads the tensors by indices of its own.
#include "studies/matmul/matmul.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "emu/catalogue.hpp"
#include "emu/encode.hpp"
#include "emu/engine_step.hpp"
#include "emu/error.hpp"
#include "emu/philox.hpp"

using namespace ulpscope;
using Shape = std::vector<std::uint64_t>;
using Values = std::vector<float>;

namespace {

std::size_t product(const Shape& shape) {
  std::size_t n = 1;
  for (const auto extent : shape) n *= static_cast<std::size_t>(extent);
  return n;
}

/// Numbers of both signs over eight binades, other ones for every key.
Values numbers(std::size_t count, std::uint64_t key) {
  Values values(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t word = emu::random_word(key, i);
    values[i] =
        std::ldexp(static_cast<float>(word >> 8) * 0x1p-24F + 1, static_cast<int>(word % 8) - 4) * (word & 8 ? -1.F : 1.F);
  }
  return values;
}
tensors::Tensor tensor(const Shape& shape, std::uint64_t key) {
  return tensors::from_values("tensor", shape, numbers(product(shape), key));
}
Values values_of(const tensors::Tensor& t) {
  Values values(static_cast<std::size_t>(t.count()));
  t.source->read(0, std::span(values));
  return values;
}
Values rounded(Values values, emu::Format format) {
  for (float& x : values) x = static_cast<float>(emu::round_to(format, x).value);
  return values;
}

studies::MatmulConfig config_of(const std::string& engine, emu::Format format, tensors::Tensor a, tensors::Tensor b) {
  studies::MatmulConfig config{.engines = {engine},
                               .against = {},
                               .product = {.a = {{std::move(a), false}, {format}, {}},
                                           .b = {{std::move(b), false}, {format}, {}},
                                           .acc = emu::float32,
                                           .out = emu::float32,
                                           .threads = 2}};
  return config;
}
Values run(const studies::MatmulConfig& config) { return values_of(studies::matmul(config).products.front().d); }

/// One chain: row and column in the order of k, from c.
float chain(const emu::Engine& engine, emu::Format format, const Values& row, const Values& column, float c = 0) {
  std::vector<emu::Code> a, b;
  for (const float x : row) a.push_back(emu::encode(format, x));
  for (const float x : column) b.push_back(emu::encode(format, x));
  const emu::Code code = emu::inner_product(engine, format, a, format, b, emu::encode(engine.accumulator, c));
  return static_cast<float>(emu::decode(engine.accumulator, code));
}

emu::Engine engine_of(const std::string& word, emu::Format format, emu::Format accumulator = emu::float32) {
  return emu::parse_engine(word, {format, format, accumulator});
}

/// Elements first, first + step, ...
Values line(const Values& values, std::size_t first, std::size_t step, std::size_t count) {
  Values out;
  for (std::size_t k = 0; k < count; ++k) out.push_back(values[first + k * step]);
  return out;
}
Values part(const Values& values, std::size_t first, std::size_t end) {
  return {values.begin() + static_cast<std::ptrdiff_t>(first),
          values.begin() + static_cast<std::ptrdiff_t>(std::min(end, values.size()))};
}

}  // namespace

TEST_CASE("a product of matrices is a chain for each element", "[studies][matmul]") {
  constexpr std::size_t m = 5, n = 7, k = 37;
  const auto a = tensor({m, k}, 1), b = tensor({k, n}, 2);
  const Values x = rounded(values_of(a), emu::e4m3), y = rounded(values_of(b), emu::e4m3);
  for (const char* const word : {"sm_89", "sm_90", "sm_90/mma", "fma", "block:n=4,f=9,out=rn"}) {
    CAPTURE(word);
    const Values d = run(config_of(word, emu::e4m3, a, b));
    for (std::size_t i = 0; i < m; ++i)
      for (std::size_t j = 0; j < n; ++j) {
        CAPTURE(i, j);
        REQUIRE(d[i * n + j] == chain(engine_of(word, emu::e4m3), emu::e4m3, line(x, i * k, 1, k), line(y, j, n, k)));
      }
  }
}

TEST_CASE("batches are broadcast and matrices transposed", "[studies][matmul]") {
  constexpr std::size_t m = 3, n = 2, k = 9;
  auto config = config_of("sm_80", emu::fp16, tensor({2, 1, k, m}, 3), tensor({4, n, k}, 4));
  config.product.a.input.transposed = config.product.b.input.transposed = true;
  const Values x = rounded(values_of(config.product.a.input.tensor), emu::fp16),
               y = rounded(values_of(config.product.b.input.tensor), emu::fp16);

  const auto result = studies::matmul(config);

  CHECK(result.shape.d == Shape{2, 4, m, n});
  const Values d = values_of(result.products.front().d);
  for (std::size_t p = 0; p < 2; ++p)
    for (std::size_t q = 0; q < 4; ++q)
      for (std::size_t i = 0; i < m; ++i)
        for (std::size_t j = 0; j < n; ++j) {
          const float expected =
              chain(engine_of("sm_80", emu::fp16), emu::fp16, line(x, p * k * m + i, m, k), line(y, (q * n + j) * k, 1, k));
          REQUIRE(d[((p * 4 + q) * m + i) * n + j] == expected);
        }
}

TEST_CASE("vectors are rows in A and columns in B", "[studies][matmul]") {
  const auto shape = [](const Shape& a, const Shape& b) {
    return products::matmul_shape({tensor(a, 1), false}, {tensor(b, 2), false}).d;
  };
  CHECK(shape({4}, {4}) == Shape{});
  CHECK(shape({4}, {4, 3}) == Shape{3});
  CHECK(shape({2, 4}, {4}) == Shape{2});
  CHECK(shape({4}, {5, 4, 3}) == Shape{5, 3});
  CHECK(shape({5, 2, 4}, {4}) == Shape{5, 2});
  CHECK(shape({0, 4}, {4, 3}) == Shape{0, 3});

  const auto config = config_of("fma", emu::fp16, tensor({4}, 1), tensor({4}, 2));
  const Values x = rounded(values_of(config.product.a.input.tensor), emu::fp16),
               y = rounded(values_of(config.product.b.input.tensor), emu::fp16);
  CHECK(run(config) == Values{chain(engine_of("fma", emu::fp16), emu::fp16, x, y)});
}

TEST_CASE("nothing to add up is zero, or C", "[studies][matmul]") {
  auto config = config_of("sm_80", emu::fp16, tensor({2, 0}, 1), tensor({0, 3}, 2));
  config.against = {"exact", "pairwise"};

  CHECK(run(config) == Values(6, 0));

  config.product.c = tensors::from_values("c", {3}, Values{1, 2, 3});
  const auto result = studies::matmul(config);
  CHECK(values_of(result.products.front().d) == Values{1, 2, 3, 1, 2, 3});
  CHECK(result.comparisons[0].diff.equal == 6);
}

TEST_CASE("the chain starts from C; beta takes C out of it", "[studies][matmul]") {
  constexpr std::size_t m = 4, n = 3, k = 20;
  auto config = config_of("sm_90", emu::bf16, tensor({m, k}, 5), tensor({k, n}, 6));
  config.product.c = tensor({m, 1}, 7);
  config.product.out = emu::bf16;
  config.product.alpha = 0.75;
  const Values x = rounded(values_of(config.product.a.input.tensor), emu::bf16),
               y = rounded(values_of(config.product.b.input.tensor), emu::bf16);
  const Values c = values_of(*config.product.c);
  const auto sum = [&](std::size_t i, std::size_t j, float start) {
    return chain(engine_of("sm_90", emu::bf16), emu::bf16, line(x, i * k, 1, k), line(y, j, n, k), start);
  };

  const Values from_c = run(config);
  config.product.beta = -2;
  const Values beside_c = run(config);

  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      CHECK(from_c[i * n + j] == rounded({0.75F * sum(i, j, c[i])}, emu::bf16)[0]);
      CHECK(beside_c[i * n + j] == rounded({std::fma(0.75F, sum(i, j, 0), -2 * c[i])}, emu::bf16)[0]);
    }
}

TEST_CASE("parts are added in float32", "[studies][matmul]") {
  constexpr std::size_t k = 300;
  auto config = config_of("sm_90", emu::e4m3, tensor({1, k}, 8), tensor({k, 1}, 9));
  const Values x = rounded(values_of(config.product.a.input.tensor), emu::e4m3),
               y = rounded(values_of(config.product.b.input.tensor), emu::e4m3);
  const auto of = [&](std::size_t begin, std::size_t end) {
    return chain(engine_of("sm_90", emu::e4m3), emu::e4m3, part(x, begin, end), part(y, begin, end));
  };

  config.product.promote = 128;
  CHECK(run(config) == Values{of(0, 128) + of(128, 256) + of(256, 300)});
  config.product.promote = 0;
  config.product.split_k = 2;
  CHECK(run(config) == Values{of(0, 160) + of(160, 300)});
  config.product.promote = 100;
  CHECK_THROWS_AS(run(config), Error);
}

TEST_CASE("a chain of fp8 on sm_90 stops growing, promotion does not", "[studies][matmul]") {
  for (const std::size_t k : {16383U, 16384U, 20000U}) {
    auto config = config_of("sm_90", emu::e4m3, tensors::from_values("a", {1, k}, Values(k, 1)),
                            tensors::from_values("b", {k, 1}, Values(k, 1)));
    CHECK(run(config) == Values{k < 16384 ? static_cast<float>(k) : 16384});
    config.product.promote = 128;
    CHECK(run(config) == Values{static_cast<float>(k)});
  }
}

TEST_CASE("tf32 operands are cut unless they are to be rounded", "[studies][matmul]") {
  const float between = 1 + 0x1.8p-11F;  // three quarters of the way to the next tf32 number
  auto config =
      config_of("sm_80", emu::tf32, tensors::from_values("a", {1}, Values{between}), tensors::from_values("b", {1}, Values{1}));
  CHECK(run(config) == Values{1 + 0x1p-10F});
  config.product.a.rounding.options.rounding = emu::Rounding::toward_zero;
  config.product.a.rounding.of_float32 = true;
  CHECK(run(config) == Values{1});

  // A float64 just below a number of tf32 is that number as a float32.
  config.product.a.input.tensor = tensors::from_values("a", {1}, std::vector<double>{1 - 0x1p-50});
  CHECK(run(config) == Values{1});
  CHECK(studies::matmul(config).a.changed == 1);
}

TEST_CASE("float64 is multiplied in float64", "[studies][matmul]") {
  auto config = config_of("sm_80", emu::float64, tensors::from_values("a", {2}, std::vector<double>{1, 0x1p-40}),
                          tensors::from_values("b", {2}, std::vector<double>{1, 1}));
  config.product.acc = config.product.out = emu::float64;
  config.against = {"exact"};

  const auto result = studies::matmul(config);

  std::vector<double> d(1);
  result.products.front().d.source->read(0, std::span(d));
  CHECK(d[0] == 1 + 0x1p-40);
  CHECK(result.comparisons[0].diff.equal == 1);
}

TEST_CASE("what rounding did to the inputs is counted", "[studies][matmul]") {
  const auto config = config_of("fma", emu::e4m3, tensors::from_values("a", {4}, Values{1, 1.01F, 465, std::nanf("")}),
                                tensors::from_values("b", {4}, Values{1, 2, 3, 4}));
  const auto result = studies::matmul(config);
  CHECK(result.a.changed == 2);
  CHECK(result.a.lost == 1);
  CHECK(result.b.changed == 0);
  CHECK(result.products.front().nan == 1);
}

TEST_CASE("comparisons state errors, signs and evidence", "[studies][matmul]") {
  auto config = config_of("sm_90", emu::e4m3, tensors::open("uniform:0,1:16x4096", {{}, 0}).front(),
                          tensors::open("uniform:0,1:4096x16", {{}, 1}).front());
  config.against = {"exact", "sm_90", "sm_100"};

  const auto result = studies::matmul(config);

  REQUIRE(result.comparisons.size() == 3);
  CHECK(std::fabs(result.comparisons[0].mean_signed_rel_error + 0.066) < 0.001);
  CHECK(result.comparisons[0].diff.equal == 0);
  CHECK(result.comparisons[1].diff.equal == 256);
  CHECK(result.comparisons[1].max_ulp_error == 0);
  const auto table = studies::matmul_table(config, result);
  CHECK(table.rows.size() == 3);
  for (const auto& row : table.rows) CHECK(row.size() == table.columns.size());
  CHECK(std::get<std::string>(table.rows[0][1]) == "device");
  CHECK(std::get<std::string>(table.rows[2][3]) == "published");
}

TEST_CASE("zeros of opposite signs have different codes", "[studies][matmul]") {
  auto config =
      config_of("fma", emu::fp16, tensors::from_values("a", {1}, Values{-0.0F}), tensors::from_values("b", {1}, Values{1}));
  config.product.c = tensors::from_values("c", {}, Values{-0.0F});
  config.against = {"sm_80"};
  const auto result = studies::matmul(config);
  CHECK(result.comparisons[0].diff.equal == 1);
  CHECK(result.comparisons[0].differing_codes == (std::signbit(values_of(result.products[1].d)[0]) ? 0 : 1));
}

TEST_CASE("shapes that do not fit are named", "[studies][matmul]") {
  const auto message = [](const Shape& a, const Shape& b, const Shape& c) -> std::string {
    auto config = config_of("fma", emu::fp16, tensor(a, 1), tensor(b, 2));
    config.product.c = tensor(c, 3);
    try {
      run(config);
    } catch (const Error& error) {
      return error.what();
    }
    return {};
  };
  using Catch::Matchers::ContainsSubstring;
  CHECK_THAT(message({2, 3}, {4, 5}, {}),
             ContainsSubstring("2x3") && ContainsSubstring("4x5") && ContainsSubstring("3 columns"));
  CHECK_THAT(message({2, 2, 3}, {3, 3, 5}, {}), ContainsSubstring("batches 2 and 3"));
  CHECK_THAT(message({}, {3, 5}, {}), ContainsSubstring("scalar"));
  CHECK_THAT(message({2, 3}, {3, 5}, {2}), ContainsSubstring("C") && ContainsSubstring("2x5"));
  CHECK_THAT(message({2, 3}, {3, 5}, {1, 2, 5}), ContainsSubstring("1x2x5"));
  CHECK(message({2, 3}, {3, 5}, {2, 1}).empty());
}
