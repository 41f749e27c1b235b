// SPDX-License-Identifier: Apache-2.0
// Products of kernels that flush subnormal numbers, as AVX512_BF16 does whatever MXCSR says (Intel SDM, VDPBF16PS): declared or
// not.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "emu/catalogue.hpp"
#include "products/product.hpp"
#include "tests/verify/operations_data.hpp"
#include "verify/matmul_request.hpp"
#include "verify/verdict.hpp"

namespace {

using namespace ulpscope;
using namespace ulpscope::operations;

constexpr std::size_t m = 12, n = 8, k = 256;
constexpr float least_normal = 0x1p-126F;

float flushed(float x) { return std::fabs(x) < least_normal ? 0.0F : x; }

struct Operands {
  std::vector<float> a, b;
};
/// Products around the least normal number of float32 and of bfloat16, and below it.
Operands tiny(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Operands in{normals(random, m * k, 0x1p-64, emu::bfloat16), normals(random, k * n, 0x1p-65, emu::bfloat16)};
  return in;
}

/// Flushes operands, products, sums and the result.
std::vector<float> flushing_kernel(const Operands& in) {
  std::vector<float> d;
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      float sum = 0;
      for (std::size_t at = 0; at < k; ++at)
        sum = flushed(sum + flushed(flushed(in.a[i * k + at]) * flushed(in.b[at * n + j])));
      d.push_back(flushed(as(emu::bfloat16, sum)));
    }
  return d;
}

verify::Verdict judged(const Operands& in, const std::vector<float>& d, bool declared) {
  emu::RoundingOptions options;
  options.subnormals_are_zero = declared;
  const products::Product product{.engine = {},
                                  .a = {{tensors::from_values("A", {m, k}, in.a)}, {emu::bfloat16, options}, {}},
                                  .b = {{tensors::from_values("B", {k, n}, in.b)}, {emu::bfloat16, options}, {}},
                                  .acc = emu::float32,
                                  .out = emu::bfloat16,
                                  .beta = {}};
  const auto expectation = verify::expectation_of(product, {.flushes_results = declared});
  verify::LastRounding last{emu::bfloat16};
  last.options.flush_subnormals = declared;
  return verify::verify(*expectation, tensors::from_values("D", {m, n}, d), {.last = last, .threads = 1});
}

bool says(const verify::Verdict& verdict, const std::string& words) {
  return std::any_of(verdict.patterns.begin(), verdict.patterns.end(),
                     [&](const std::string& line) { return line.find(words) != std::string::npos; });
}

}  // namespace

TEST_CASE("a kernel that flushes is right where that is declared, and is told where it is not", "[verify][flush]") {
  const Operands in = tiny(3);
  const std::vector<float> d = flushing_kernel(in);

  CHECK(judged(in, d, true).wrong() == 0);
  const auto undeclared = judged(in, d, false);
  CHECK(undeclared.wrong() > m);
  CHECK(says(undeclared, "subnormal numbers become zero"));
  CHECK(!says(undeclared, "left out"));
}

TEST_CASE("a result that alpha makes subnormal may be flushed where flushing is declared", "[verify][flush]") {
  const float alpha = 0x1p-20F, least = 0x1p-108F;  // of the sums, none of which is subnormal
  std::mt19937_64 random(6);
  Operands in{normals(random, m * 4, least, emu::float32), normals(random, 4 * n, 1, emu::float32)};
  std::vector<float> d;
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      float sum = 0;
      for (std::size_t at = 0; at < 4; ++at) sum = flushed(sum + flushed(in.a[i * 4 + at] * in.b[at * n + j]));
      d.push_back(flushed(alpha * sum));
    }
  products::Product product{.engine = {},
                            .a = {{tensors::from_values("A", {m, 4}, in.a)}, {emu::float32}, {}},
                            .b = {{tensors::from_values("B", {4, n}, in.b)}, {emu::float32}, {}},
                            .acc = emu::float32,
                            .out = emu::float32,
                            .beta = {}};
  product.alpha = static_cast<double>(alpha);
  const auto wrong = [&](bool declared) {
    const auto expectation = verify::expectation_of(product, {.flushes_results = declared});
    return verify::verify(*expectation, tensors::from_values("D", {m, n}, d), {.last = {emu::float32}, .threads = 1}).wrong();
  };
  CHECK(wrong(true) == 0);
  CHECK(wrong(false) > m);
}

TEST_CASE("flushing explains no errors of normal size", "[verify][flush]") {
  std::mt19937_64 random(4);
  const Operands in{normals(random, m * k, 1, emu::bfloat16), normals(random, k * n, 1, emu::bfloat16)};
  Operands cut = in;
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t at = k - 8; at < k; ++at) cut.a[i * k + at] = 0;
  const auto verdict = judged(in, flushing_kernel(cut), true);
  CHECK(verdict.wrong() > m);
  CHECK(says(verdict, "the last 8 of 256"));
  CHECK(!says(verdict, "subnormal"));
}

TEST_CASE("short sums of fp8 are not taken for flushed subnormal numbers", "[verify][flush]") {
  constexpr std::size_t depth = 512;
  std::mt19937_64 random(5);
  const emu::Format e4m3 = emu::float8_e4m3fn;
  products::Product product{.engine = {},
                            .a = {{tensors::from_values("A", {m, depth}, normals(random, m * depth, 1, e4m3))}, {e4m3}, {}},
                            .b = {{tensors::from_values("B", {depth, n}, normals(random, depth * n, 1, e4m3))}, {e4m3}, {}},
                            .acc = emu::float32,
                            .out = emu::float32,
                            .beta = {}};
  products::Product short_sums = product;
  short_sums.engine = "sm_90";
  const auto d = products::multiply(short_sums);
  const auto verdict = verify::verify(*verify::expectation_of(product, {}), d, {.last = {emu::float32}, .threads = 1});
  CHECK(verdict.wrong() > m);
  CHECK(!says(verdict, "subnormal"));
  // --out-flush says nothing of operands.
  const auto flushed_output =
      verify::verify(*verify::expectation_of(product, {.flushes_results = true}), d, {.last = {emu::float32}, .threads = 1});
  CHECK(flushed_output.wrong() == verdict.wrong());
}

TEST_CASE("a result that is tiny before it is rounded may be flushed, one that is not may not", "[verify][flush]") {
  // (1 - 2^-10) 2^-126 rounds to the least normal bfloat16.
  const float below = 0x1.ffcp-127F;
  const products::Product product{
      .engine = {},
      .a = {{tensors::from_values("A", {1, 2}, std::vector<float>{below, 0x1p-125F})}, {emu::float32}, {}},
      .b = {{tensors::from_values("B", {2, 2}, std::vector<float>{1, 0, 0, 1})}, {emu::float32}, {}},
      .acc = emu::float64,
      .out = emu::bfloat16,
      .beta = {}};
  verify::LastRounding last{emu::bfloat16};
  last.options.flush_subnormals = true;
  const auto expectation = verify::expectation_of(product, {.flushes_results = true});
  const auto wrong = [&](float x, float y) {
    return verify::verify(*expectation, tensors::from_values("D", {1, 2}, std::vector<float>{x, y}),
                          {.last = last, .threads = 1})
        .wrong();
  };
  CHECK(wrong(least_normal, 0x1p-125F) == 0);
  CHECK(wrong(0, 0x1p-125F) == 0);
  CHECK(wrong(0, 0) == 1);
}
