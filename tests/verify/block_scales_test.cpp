// SPDX-License-Identifier: Apache-2.0
// Scales of blocks that are applied twice, left out or a neighbour's, in plain loops.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cmath>
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "emu/catalogue.hpp"
#include "tensors/synthetic.hpp"
#include "verify/explain/explain.hpp"

namespace {

using namespace ulpscope;
using verify::ExplainVerdict;

constexpr std::size_t m = 20, n = 136, k = 256;

std::vector<float> values(const tensors::Tensor& tensor) {
  std::vector<float> out(static_cast<std::size_t>(tensor.count()));
  tensor.source->read(0, std::span(out));
  return out;
}

/// Numbers of float32; A has scales of rows by blocks of K, B of blocks of 128 by 128.
struct Problem {
  tensors::Tensor a, b, scale_a, scale_b;
  std::size_t block;  ///< products that share a scale of A

  products::Product product() const {
    products::Product product{.engine = "fma",
                              .a = {{a}, {emu::bfloat16}, {}},
                              .b = {{b}, {emu::bfloat16}, {}},
                              .c = {},
                              .acc = emu::float32,
                              .out = emu::float32,
                              .beta = {}};
    product.a.scales = products::fit_scales(scale_a, product.a.input, products::MatmulSide::a);
    product.b.scales = products::fit_scales(scale_b, product.b.input, products::MatmulSide::b);
    return product;
  }
};

tensors::Tensor scales_of(std::size_t rows, std::size_t columns, bool powers) {
  std::vector<float> scales;
  for (std::size_t i = 0; i < rows * columns; ++i) {
    const std::size_t draw = (i * 2654435761U) % 4093;
    scales.push_back(powers ? std::ldexp(1.0F, static_cast<int>(draw % 5) * 2 - 5) : 0.3F + static_cast<float>(draw) / 4093);
  }
  return tensors::from_values("scales", {rows, columns}, scales);
}

Problem problem(std::size_t block, bool powers) {
  const auto rounded = [](const std::string& words, std::uint64_t seed) {
    const tensors::Tensor drawn = tensors::open_one(words, {.dtype = {}, .seed = seed});
    std::vector<float> all = values(drawn);
    for (float& x : all) x = std::round(x * 64) / 64;  // of few bits: bfloat16 has them
    return tensors::from_values("operand", drawn.shape, all);
  };
  return {rounded("uniform:-2,2:20x256", 1), rounded("uniform:-2,2:256x136", 2), scales_of(m, k / block, powers),
          scales_of(2, 2, powers), block};
}

/// Adds a block's sum to those before it, with the scales of A and B.
using Add = std::function<float(float sum, float part, float a, float b)>;
float declared(float sum, float part, float a, float b) { return std::fma(part, a * b, sum); }

/// D where block (`line`, `in_k`) of A or of B, or each, is added by `add`.
std::vector<float> computed(const Problem& p, bool of_b, int line, std::size_t in_k, const Add& add) {
  const std::vector<float> a = values(p.a), b = values(p.b), sa = values(p.scale_a), sb = values(p.scale_b);
  std::vector<float> d;
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      float sum = 0;
      for (std::size_t begin = 0; begin < k; begin += p.block) {
        float part = 0;
        for (std::size_t at = begin; at < begin + p.block; ++at) part = std::fma(a[i * k + at], b[at * n + j], part);
        const bool is_off = line < 0 || (of_b ? j / 128 == static_cast<std::size_t>(line) && begin / 128 == in_k
                                              : i == static_cast<std::size_t>(line) && begin / p.block == in_k);
        sum = (is_off ? add : Add(declared))(sum, part, sa[i * (k / p.block) + begin / p.block], sb[begin / 128 * 2 + j / 128]);
      }
      d.push_back(sum);
    }
  return d;
}

verify::ExplainResult explained(const Problem& p, const std::vector<float>& d) {
  return verify::explain({p.product(), tensors::from_values("D", {m, n}, d)});
}

bool names(const verify::ExplainResult& result, const std::string& word) {
  for (const verify::Finding& finding : result.findings)
    if (finding.hypothesis.word() == word && finding.explains && finding.matched == result.count) return true;
  return false;
}

}  // namespace

TEST_CASE("a block whose scale is applied twice, left out or a neighbour's is named", "[verify]") {
  struct Case {
    bool of_b;
    const char* word;
    Add add;
  };
  const std::size_t block = GENERATE(as<std::size_t>(), 128, 32, 16);
  const Case x = GENERATE(
      Case{false, "=twice", [](float sum, float part, float a, float b) { return std::fma(part, a * a * b, sum); }},
      Case{false, "=twice:both", [](float sum, float part, float a, float b) { return std::fma(part, a * b * a, sum); }},
      Case{false, "=twice:before", [](float sum, float part, float a, float b) { return std::fma(part * a, a * b, sum); }},
      Case{false, "=twice:after", [](float sum, float part, float a, float b) { return std::fma(part * (a * b), a, sum); }},
      Case{false, "=twice:after-rounded",
           [](float sum, float part, float a, float b) {
             const float once = part * (a * b), twice = once * a;
             return sum + twice;
           }},
      Case{false, "=none", [](float sum, float part, float, float b) { return std::fma(part, b, sum); }},
      Case{true, "=twice", [](float sum, float part, float a, float b) { return std::fma(part, a * (b * b), sum); }},
      Case{true, "=twice:before", [](float sum, float part, float a, float b) { return std::fma(part * b, a * b, sum); }},
      Case{true, "=none", [](float sum, float part, float a, float) { return std::fma(part, a, sum); }});
  const bool powers = block == 32;
  CAPTURE(x.of_b, x.word, block);
  const Problem p = problem(block, powers);

  const verify::ExplainResult result = explained(p, computed(p, x.of_b, x.of_b ? 0 : 7, 1, x.add));

  REQUIRE(result.verdict == ExplainVerdict::explained);
  CHECK(names(result, std::string("scale/") + (x.of_b ? "b[0,1]" : "a[7,1]") + x.word));
}

TEST_CASE("a block that has a neighbour's scale is named", "[verify]") {
  const Problem p = problem(128, false);
  const std::vector<float> sa = values(p.scale_a);
  const bool along_k = GENERATE(false, true);
  const float other = along_k ? sa[std::size_t{7} * 2] : sa[8 * 2 + 1];

  const auto result = explained(
      p, computed(p, false, 7, 1, [other](float sum, float part, float, float b) { return std::fma(part, other * b, sum); }));

  REQUIRE(result.verdict == ExplainVerdict::explained);
  CHECK(result.findings.front().hypothesis.word() == (along_k ? "scale/a[7,1]=of:7,0" : "scale/a[7,1]=of:8,1"));
  CHECK(result.findings.front().hypothesis.sentence() == (along_k ? "the scale of block (7,1) of A taken for that of (7,0)"
                                                                  : "the scale of block (7,1) of A taken for that of (8,1)"));
}

TEST_CASE("scales that are applied twice are named wherever the second factor is rounded", "[verify]") {
  const Problem p = problem(128, false);

  CHECK(names(explained(p, computed(p, false, -1, 0,
                                    [](float sum, float part, float a, float b) {
                                      const float once = part * (a * b), twice = once * a;
                                      return sum + twice;
                                    })),
              "scales=twice/a:after-rounded"));
  CHECK(names(explained(p, computed(p, false, -1, 0,
                                    [](float sum, float part, float a, float b) { return std::fma(part * b, a * b, sum); })),
              "scales=twice/b:before"));
}
