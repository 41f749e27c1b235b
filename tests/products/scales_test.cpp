// SPDX-License-Identifier: Apache-2.0
// Scaled products, and the exact product, against sums without rounding.
#include "products/scales.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "emu/catalogue.hpp"
#include "emu/encode.hpp"
#include "emu/engine_step.hpp"
#include "emu/error.hpp"
#include "emu/exact_sum.hpp"
#include "emu/philox.hpp"
#include "products/product.hpp"

using namespace ulpscope;
using products::MatmulSide;
using Shape = std::vector<std::uint64_t>;
using Values = std::vector<float>;

namespace {

/// Numbers of `format` of both signs.
Values numbers(std::size_t count, std::uint64_t key, emu::Format format) {
  Values values(count);
  for (std::size_t i = 0; i < count; ++i) {
    const double x = static_cast<double>(emu::random_word(key, i)) * 0x1p-29 - 4;
    values[i] = static_cast<float>(emu::round_to(format, x).value);
  }
  return values;
}
/// Positive numbers of `format` from 1/8 to 8.
Values factors(std::size_t count, std::uint64_t key, emu::Format format) {
  Values values = numbers(count, key, emu::float32);
  for (float& x : values)
    x = static_cast<float>(emu::round_to(format, std::ldexp(1 + std::fabs(x) / 5, static_cast<int>(x))).value);
  return values;
}
tensors::Tensor scale_tensor(const Shape& shape, std::uint64_t key, emu::Format format) {
  std::size_t count = 1;
  for (const auto extent : shape) count *= static_cast<std::size_t>(extent);
  auto tensor = tensors::from_values("scales", shape, factors(count, key, format));
  tensor.dtype.format = format;
  return tensor;
}

struct Problem {
  std::size_t m, n, k;
  emu::Format format;
  Values a, b;  // m by k, k by n

  Problem(std::size_t rows, std::size_t columns, std::size_t depth, emu::Format f)
      : m(rows), n(columns), k(depth), format(f), a(numbers(m * k, 1, f)), b(numbers(k * n, 2, f)) {}

  products::Product config(const std::string& engine, const tensors::Tensor* scale_a, const tensors::Tensor* scale_b) const {
    products::Product config{.engine = engine,
                             .a = {{tensors::from_values("a", {m, k}, a), false}, {format}, {}},
                             .b = {{tensors::from_values("b", {k, n}, b), false}, {format}, {}},
                             .c = {},
                             .acc = emu::float32,
                             .out = emu::float32,
                             .beta = {}};
    if (scale_a != nullptr) config.a.scales = products::fit_scales(*scale_a, config.a.input, MatmulSide::a);
    if (scale_b != nullptr) config.b.scales = products::fit_scales(*scale_b, config.b.input, MatmulSide::b);
    return config;
  }

  /// The sum of scaled products without rounding; a scale is given by its function of (line, k).
  using Scale = std::function<double(std::size_t, std::size_t)>;
  double exact(std::size_t i, std::size_t j, const Scale& of_a, const Scale& of_b) const {
    emu::ExactSum sum;
    for (std::size_t p = 0; p < k; ++p)
      sum.add_product(static_cast<double>(a[i * k + p]) * of_a(i, p), static_cast<double>(b[p * n + j]) * of_b(j, p));
    return sum.value();
  }
};

Values values_of(const tensors::Tensor& t) {
  Values values(static_cast<std::size_t>(t.count()));
  t.source->read(0, std::span(values));
  return values;
}
struct Run {
  products::ChosenEngine engine;
  tensors::Tensor d;
};
Run run(const products::Product& product) { return {products::engine_of(product), products::multiply(product)}; }

std::string word(const Shape& scale, const Shape& operand, MatmulSide side, bool transposed = false,
                 emu::Format format = emu::float32) {
  std::size_t count = 1;
  for (const auto extent : operand) count *= static_cast<std::size_t>(extent);
  return products::fit_scales(scale_tensor(scale, 1, format), {tensors::from_values("x", operand, Values(count)), transposed},
                              side)
      .word();
}

}  // namespace

TEST_CASE("scales are told by their shapes", "[products]") {
  constexpr auto a = MatmulSide::a, b = MatmulSide::b;
  CHECK(word({}, {256, 384}, a) == "tensor");
  CHECK(word({1, 1}, {256, 384}, b) == "tensor");
  CHECK(word({256}, {256, 384}, a) == "row");
  CHECK(word({256, 1}, {256, 384}, a) == "row");
  CHECK(word({1, 384}, {256, 384}, b) == "row");
  CHECK(word({256, 1}, {256, 384}, b, true) == "row");
  CHECK(word({256, 3}, {256, 384}, a) == "1x128");
  CHECK(word({2, 3}, {256, 384}, a) == "128x128");
  CHECK(word({2, 3}, {256, 300}, b) == "128x128");
  CHECK(word({8, 384}, {256, 384}, b, false, emu::e8m0) == "mx");
  CHECK(word({8, 384}, {256, 384}, b) == "1x32");
  CHECK(word({256, 24}, {256, 384}, b, true, emu::e4m3) == "nvfp4");
  CHECK(word({5, 256, 3}, {5, 256, 384}, a) == "1x128");
  CHECK(word({3}, {384}, a) == "1x128");
  CHECK(word({256, 6}, {256, 384}, a) == "1x64");

  CHECK_THROWS_AS(word({256, 5}, {256, 384}, a), Error);
  CHECK_THROWS_AS(word({384}, {256, 384}, a), Error);
  CHECK_THROWS_AS(word({4, 256, 3}, {5, 256, 384}, a), Error);
}

TEST_CASE("scales that change along K cut the chain", "[products]") {
  const Problem p(3, 130, 300, emu::e4m3);  // blocks of 128 are ragged in both directions
  const auto scale_a = scale_tensor({3, 3}, 5, emu::float32), scale_b = scale_tensor({3, 2}, 6, emu::float32);
  const Values sa = values_of(scale_a), sb = values_of(scale_b);
  const auto engine = emu::parse_engine("sm_90", {emu::e4m3, emu::e4m3});

  const auto product = run(p.config("sm_90", &scale_a, &scale_b));

  CHECK(product.engine.scaled_by == products::ScaledBy::software);
  const Values d = values_of(product.d);
  REQUIRE(d.size() == p.m * p.n);
  for (std::size_t i = 0; i < p.m; ++i)
    for (std::size_t j = 0; j < p.n; ++j) {
      float total = 0;
      for (std::size_t block = 0; block < 3; ++block) {
        std::vector<emu::Code> a, b;
        for (std::size_t k = 128 * block; k < std::min<std::size_t>(p.k, 128 * block + 128); ++k) {
          a.push_back(emu::encode(p.format, p.a[i * p.k + k]));
          b.push_back(emu::encode(p.format, p.b[k * p.n + j]));
        }
        const auto part =
            static_cast<float>(emu::decode(emu::float32, emu::inner_product(engine, p.format, a, p.format, b, 0)));
        total = std::fma(part, sa[i * 3 + block] * sb[block * 2 + j / 128], total);
      }
      CAPTURE(i, j);
      REQUIRE(d[i * p.n + j] == total);
    }
}

TEST_CASE("blocks of scales that K does not fill change neither parts of K nor sums of pairs", "[products]") {
  struct Case {
    std::string engine;
    emu::Format format;
    std::size_t k, block, split, length;  // length: of a chain, K / split in whole steps
  };
  for (const Case& c : {Case{"fma", emu::fp16, 40, 32, 2, 20}, Case{"fma", emu::fp16, 40, 16, 3, 14},
                        Case{"pairwise", emu::fp16, 37, 32, 1, 37}, Case{"pairwise", emu::fp16, 45, 16, 2, 23},
                        Case{"sm_90", emu::e4m3, 576, 128, 2, 288}, Case{"sm_90", emu::e4m3, 70, 32, 3, 32}}) {
    CAPTURE(c.engine, c.k, c.block, c.split);
    const Problem p(3, 2, c.k, c.format);
    const std::size_t blocks = (c.k + c.block - 1) / c.block;
    const auto scale_a = scale_tensor({p.m, blocks}, 5, emu::float32), scale_b = scale_tensor({blocks, p.n}, 6, emu::float32);
    const Values sa = values_of(scale_a), sb = values_of(scale_b);
    const auto engine = emu::parse_engine(c.engine, {c.format, c.format});
    auto config = p.config(c.engine, &scale_a, &scale_b);
    config.split_k = c.split;

    const Values d = values_of(run(config).d);

    for (std::size_t i = 0; i < p.m; ++i)
      for (std::size_t j = 0; j < p.n; ++j) {
        float total = 0, chain = 0;
        for (std::size_t begin = 0, end = 0; begin < p.k; begin = end) {
          std::vector<emu::Code> a, b;
          do {
            a.push_back(emu::encode(p.format, p.a[i * p.k + end]));
            b.push_back(emu::encode(p.format, p.b[end * p.n + j]));
            ++end;
          } while (end % c.block != 0 && end % c.length != 0 && end < p.k);
          const auto part =
              static_cast<float>(emu::decode(emu::float32, emu::inner_product(engine, p.format, a, p.format, b, 0)));
          chain = std::fma(part, sa[i * blocks + begin / c.block] * sb[begin / c.block * p.n + j], chain);
          if (end % c.length == 0 || end == p.k) total += std::exchange(chain, 0.0F);
        }
        CAPTURE(i, j);
        CHECK(d[i * p.n + j] == total);
      }
  }
}

TEST_CASE("scales of whole rows and tensors are applied in the end", "[products]") {
  const Problem p(4, 5, 64, emu::fp16);
  const auto scale_a = scale_tensor({4, 1}, 5, emu::float32), scale_b = scale_tensor({}, 6, emu::float32);
  const Values plain = values_of(run(p.config("sm_80", nullptr, nullptr)).d);

  const Values d = values_of(run(p.config("sm_80", &scale_a, &scale_b)).d);

  for (std::size_t i = 0; i < p.m; ++i)
    for (std::size_t j = 0; j < p.n; ++j)
      CHECK(d[i * p.n + j] == plain[i * p.n + j] * (values_of(scale_a)[i] * values_of(scale_b)[0]));
}

TEST_CASE("engines that take block scales get them", "[products]") {
  struct Case {
    emu::Format format, scale_format;
    std::size_t block;
    emu::EngineScales scales;
  };
  for (const Case& c : {Case{emu::e4m3, emu::e8m0, 32, emu::EngineScales::products},
                        Case{emu::e2m1, emu::e8m0, 32, emu::EngineScales::group_sums},
                        Case{emu::e2m1, emu::e4m3, 16, emu::EngineScales::group_sums}}) {
    const Problem p(3, 2, 144, c.format);  // not a multiple of 32, nor of the step of 64
    const std::size_t blocks = (p.k + c.block - 1) / c.block;
    const auto scale_a = scale_tensor({p.m, blocks}, 5, c.scale_format),
               scale_b = scale_tensor({blocks, p.n}, 6, c.scale_format);
    const auto engine = emu::parse_engine("sm_100", {c.format, c.format, emu::float32, c.scales, c.scale_format});

    const auto product = run(p.config("sm_100", &scale_a, &scale_b));

    CHECK(product.engine.scaled_by == products::ScaledBy::engine);
    CHECK(product.engine.model == engine);
    const Values d = values_of(product.d), sa = values_of(scale_a), sb = values_of(scale_b);
    for (std::size_t i = 0; i < p.m; ++i)
      for (std::size_t j = 0; j < p.n; ++j) {
        std::vector<emu::Code> a, b, a_scales, b_scales;
        for (std::size_t k = 0; k < p.k; ++k) {
          a.push_back(emu::encode(c.format, p.a[i * p.k + k]));
          b.push_back(emu::encode(c.format, p.b[k * p.n + j]));
        }
        for (std::size_t block = 0; block < blocks; ++block) {
          a_scales.push_back(emu::encode(c.scale_format, sa[i * blocks + block]));
          b_scales.push_back(emu::encode(c.scale_format, sb[block * p.n + j]));
        }
        const emu::Code code = emu::inner_product(engine, c.format, a, c.format, b, 0, {c.scale_format, a_scales, b_scales});
        REQUIRE(static_cast<double>(d[i * p.n + j]) == emu::decode(emu::float32, code));
      }
  }
}

TEST_CASE("scales that no instruction takes are applied in software", "[products]") {
  const Problem p(3, 2, 64, emu::e4m3);
  const auto blocks_of_16 = scale_tensor({3, 4}, 5, emu::e8m0), floats = scale_tensor({3, 2}, 5, emu::float32);
  CHECK(run(p.config("sm_100", &blocks_of_16, nullptr)).engine.scaled_by == products::ScaledBy::software);
  CHECK(run(p.config("sm_100", &floats, nullptr)).engine.scaled_by == products::ScaledBy::software);
  const auto mx = scale_tensor({3, 2}, 5, emu::e8m0);
  CHECK(run(p.config("sm_90", &mx, nullptr)).engine.scaled_by == products::ScaledBy::software);
  CHECK(run(p.config("sm_100", &mx, nullptr)).engine.scaled_by == products::ScaledBy::engine);
}

TEST_CASE("the exact product is rounded once", "[products]") {
  for (const emu::Format format : {emu::e5m2, emu::bf16, emu::float32}) {
    const Problem p(4, 3, 200, format);
    const auto one = [](std::size_t, std::size_t) { return 1.0; };
    for (const emu::Format out : {emu::float32, emu::bf16, emu::e4m3}) {
      auto config = p.config("exact", nullptr, nullptr);
      config.out = out;
      config.promote = 3;  // plays no part
      const Values d = values_of(run(config).d);
      for (std::size_t at = 0; at < d.size(); ++at)
        CHECK(static_cast<double>(d[at]) == emu::round_to(out, p.exact(at / p.n, at % p.n, one, one)).value);
    }
  }
}

TEST_CASE("the exact product has exact scales", "[products]") {
  for (const emu::Format format : {emu::e4m3, emu::float32}) {
    const Problem p(3, 4, 300, format);
    const auto scale_a = scale_tensor({3, 3}, 5, emu::float32), scale_b = scale_tensor({10, 4}, 6, emu::e8m0);
    const Values sa = values_of(scale_a), sb = values_of(scale_b);
    const auto of_a = [&](std::size_t i, std::size_t k) { return static_cast<double>(sa[i * 3 + k / 128]); };
    const auto of_b = [&](std::size_t j, std::size_t k) { return static_cast<double>(sb[k / 32 * 4 + j]); };

    auto config = p.config("exact", &scale_a, &scale_b);
    config.a.scales->whole = 0.5;
    config.alpha = 3;
    config.beta = 2;
    config.c = tensors::from_values("c", {}, Values{7});
    const Values d = values_of(run(config).d);

    for (std::size_t i = 0; i < p.m; ++i)
      for (std::size_t j = 0; j < p.n; ++j) {
        const double expected = 1.5 * p.exact(i, j, of_a, of_b) + 14;
        CHECK(std::fabs(static_cast<double>(d[i * p.n + j]) - expected) <= std::fabs(expected) * 0x1.001p-24);
      }
  }
}

TEST_CASE("the second level of NVFP4 multiplies the whole", "[products]") {
  const Problem p(2, 2, 64, emu::e2m1);
  const auto scale_a = scale_tensor({2, 4}, 5, emu::e4m3), scale_b = scale_tensor({4, 2}, 6, emu::e4m3);
  auto config = p.config("sm_120", &scale_a, &scale_b);
  const Values plain = values_of(run(config).d);

  config.a.scales->whole = 0.3F;
  config.b.scales->whole = 5;

  const Values d = values_of(run(config).d);
  for (std::size_t i = 0; i < d.size(); ++i) CHECK(d[i] == plain[i] * (0.3F * 5));
}

TEST_CASE("telling progress changes no result", "[products]") {
  const Problem p(600, 20, 200, emu::e4m3);
  const auto scale_a = scale_tensor({5, 2}, 5, emu::float32), scale_b = scale_tensor({7, 20}, 6, emu::e8m0);
  auto config = p.config("sm_90", &scale_a, &scale_b);
  config.c = tensors::from_values("c", {600, 1}, numbers(600, 7, emu::float32));
  const products::LoadedProduct loaded(config);
  const products::ChosenEngine engine = products::engine_of(config);
  const Values alone = values_of(loaded.on(engine));

  std::vector<std::uint64_t> told;
  const Values watched = values_of(loaded.on(
      engine, {.progress = [&](std::uint64_t elements) { told.push_back(elements); }, .products_between_progress = 1}));

  CHECK(told.size() == 3);  // 640 lines with those that fill up blocks, 256 at a time
  CHECK(std::accumulate(told.begin(), told.end(), std::uint64_t{0}) == p.m * p.n);
  CHECK(watched == alone);
}
