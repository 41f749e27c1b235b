// SPDX-License-Identifier: Apache-2.0
// Scales of blocks that software applies to the sums of blocks: products written as plain loops, and what went wrong with them.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "emu/catalogue.hpp"
#include "emu/philox.hpp"
#include "emu/rounding.hpp"
#include "tensors/tensor.hpp"
#include "verify/explain/explain.hpp"
#include "verify/explain/replay.hpp"

namespace {

using namespace ulpscope;
using verify::ExplainVerdict;

/// A product of bfloat16 numbers by multiply-adds in float32, in blocks of K that have scales.
struct Blocks {
  static constexpr std::size_t m = 12, n = 10, k = 128, block = 32, count = k / block;
  std::vector<float> a, b;              ///< M by K, and K by N
  std::vector<float> scale_a, scale_b;  ///< M by blocks, and blocks by N

  float scale(std::size_t i, std::size_t j, std::size_t x) const {
    return scale_a[i * count + x / block] * scale_b[x / block * n + j];
  }
  /// `onto` and products [begin, end) of output (i, j), one after another.
  float chain(std::size_t i, std::size_t j, std::size_t begin, std::size_t end, float onto = 0) const {
    for (std::size_t x = begin; x < end; ++x) onto = std::fma(a[i * k + x], b[x * n + j], onto);
    return onto;
  }
};

float to_bfloat16(float x) { return static_cast<float>(emu::round_to(emu::bfloat16, static_cast<double>(x)).value); }

/// Random ones: bfloat16 numbers between -2 and 2, scales around 2^`exponent`.
Blocks drawn(int exponent) {
  Blocks p;
  std::uint64_t next = 0;
  const auto uniform = [&] { return static_cast<float>(emu::philox4x32(7, next++).word[0] >> 8) * 0x1p-24F; };
  const auto fill = [](std::vector<float>& values, std::size_t size, const auto& value) {
    while (values.size() < size) values.push_back(value());
  };
  const auto number = [&] { return to_bfloat16(4 * uniform() - 2); };
  const auto scale = [&] { return std::ldexp(1 + uniform(), exponent); };
  fill(p.a, Blocks::m * Blocks::k, number), fill(p.b, Blocks::k * Blocks::n, number);
  fill(p.scale_a, Blocks::m * Blocks::count, scale), fill(p.scale_b, Blocks::count * Blocks::n, scale);
  return p;
}

products::Product claimed(const Blocks& p) {
  const auto tensor = [](const char* name, std::size_t rows, std::size_t columns, const std::vector<float>& values) {
    return tensors::from_values(name, {rows, columns}, values);
  };
  products::Product product{.engine = "fma",
                            .a = {{tensor("A", Blocks::m, Blocks::k, p.a)}, {emu::bfloat16}, {}},
                            .b = {{tensor("B", Blocks::k, Blocks::n, p.b)}, {emu::bfloat16}, {}},
                            .c = {},
                            .acc = emu::float32,
                            .out = emu::float32,
                            .beta = {}};
  product.a.scales = products::fit_scales(tensor("scales of A", Blocks::m, Blocks::count, p.scale_a), product.a.input,
                                          products::MatmulSide::a);
  product.b.scales = products::fit_scales(tensor("scales of B", Blocks::count, Blocks::n, p.scale_b), product.b.input,
                                          products::MatmulSide::b);
  return product;
}

using Kernel = std::function<float(const Blocks&, std::size_t, std::size_t)>;

verify::ExplainResult explained(const Blocks& p, const Kernel& kernel) {
  std::vector<float> d;
  for (std::size_t i = 0; i < Blocks::m; ++i)
    for (std::size_t j = 0; j < Blocks::n; ++j) d.push_back(kernel(p, i, j));
  return verify::explain({claimed(p), tensors::from_values("D", {Blocks::m, Blocks::n}, d)});
}

/// Sums of `every` products, each onto what `onto` makes of output (i, j).
float in_parts(std::size_t every, const std::function<float(float, std::size_t)>& onto) {
  float sum = 0;
  for (std::size_t x = 0; x < Blocks::k; x += every) sum = onto(sum, x);
  return sum;
}

}  // namespace

TEST_CASE("the replay of no products is a zero, whatever is done to their sum", "[verify]") {
  const Blocks p = drawn(0);
  const products::Product product = claimed(p);
  verify::Kernel kernel = verify::declared_kernel(product);
  const bool is_lost = GENERATE(false, true);
  if (is_lost)
    kernel.parts.lost = 0;
  else
    kernel.order.skipped = {0, Blocks::k};
  kernel.parts.promote = GENERATE(as<std::size_t>(), 0, 16);
  const bool is_carried = GENERATE(false, true);
  if (is_carried) kernel.parts.carried = emu::bfloat16;
  kernel.epilogue.scales = GENERATE(verify::ScaleUse::declared, verify::ScaleUse::none, verify::ScaleUse::twice_a);
  CAPTURE(is_lost, kernel.parts.promote, is_carried, kernel.epilogue.scales);

  const std::vector<double> d = verify::replay(verify::load_matmul(product), kernel, {0, {0, 5}, {1, 2, 9}});

  CHECK(d == std::vector<double>(6));
}

TEST_CASE("outputs far smaller than scales of blocks make them are none of the hypotheses", "[verify]") {
  const Kernel noise = [](const Blocks&, std::size_t i, std::size_t j) {
    return std::ldexp(static_cast<float>(emu::philox4x32(8, i * Blocks::n + j).word[0]), -60);
  };

  const auto result = explained(drawn(4), noise);

  CHECK(result.verdict == ExplainVerdict::unexplained);
}

TEST_CASE("a K of no products has scales of no blocks", "[verify]") {
  const auto zeros = [](std::size_t rows, std::size_t columns) {
    return tensors::from_values("zeros", {rows, columns}, std::vector<float>(rows * columns));
  };
  products::Product product{.engine = "fma",
                            .a = {{zeros(2, 0)}, {emu::bfloat16}, {}},
                            .b = {{zeros(0, 3)}, {emu::bfloat16}, {}},
                            .c = {},
                            .acc = emu::float32,
                            .out = emu::float32,
                            .beta = {}};
  product.a.scales = products::fit_scales(zeros(2, 0), product.a.input, products::MatmulSide::a);

  CHECK(verify::explain({product, zeros(2, 3)}).verdict == ExplainVerdict::vacuous);
}

TEST_CASE("scales of blocks that are forgotten are named, where sums that are rounded on the way are the same", "[verify]") {
  Blocks p = drawn(-7);
  for (float& x : p.a) x = std::round(x / 2);  // -1, 0 and 1: sums of 128 products are numbers of bfloat16
  for (float& x : p.b) x = std::round(x / 2);

  const auto result = explained(p, [](const Blocks& q, std::size_t i, std::size_t j) { return q.chain(i, j, 0, Blocks::k); });

  REQUIRE(result.verdict == ExplainVerdict::explained);
  CHECK(result.findings.front().hypothesis.word() == "scales=none");
}

TEST_CASE("sums that are rounded on the way are named beside scales of blocks, applied or forgotten", "[verify]") {
  constexpr std::size_t every = 16;
  const auto scaled = [](const Blocks& p, std::size_t i, std::size_t j) {
    return in_parts(Blocks::block, [&](float sum, std::size_t block) {
      float part = 0;
      for (std::size_t x = block; x < block + Blocks::block; x += every) part = to_bfloat16(p.chain(i, j, x, x + every, part));
      return std::fma(part, p.scale(i, j, block), sum);
    });
  };
  const auto scaled_first = [](const Blocks& p, std::size_t i, std::size_t j) {
    return in_parts(every, [&](float sum, std::size_t x) {
      return to_bfloat16(std::fma(p.chain(i, j, x, x + every), p.scale(i, j, x), sum));
    });
  };
  const auto forgotten = [](const Blocks& p, std::size_t i, std::size_t j) {
    return in_parts(every, [&](float sum, std::size_t x) { return to_bfloat16(p.chain(i, j, x, x + every, sum)); });
  };
  const auto forgotten_in_blocks = [](const Blocks& p, std::size_t i, std::size_t j) {
    return in_parts(Blocks::block, [&](float sum, std::size_t x) { return sum + p.chain(i, j, x, x + Blocks::block); });
  };
  const auto [word, kernel] = GENERATE_COPY(table<std::string, Kernel>({
      {"accumulator=bfloat16x16", scaled},
      {"accumulator=bfloat16x16,scaled", scaled_first},
      {"accumulator=bfloat16x16 + scales=none", forgotten},
      {"promote=32 + scales=none", forgotten_in_blocks},
  }));
  CAPTURE(word);

  const auto result = explained(drawn(-3), kernel);

  REQUIRE(result.verdict == ExplainVerdict::explained);
  CHECK(result.findings.front().matched == result.count);
  CHECK(std::any_of(result.findings.begin(), result.findings.end(), [&, named = word](const verify::Finding& finding) {
    return finding.explains && finding.group == 1 && finding.hypothesis.is(named);
  }));
}
