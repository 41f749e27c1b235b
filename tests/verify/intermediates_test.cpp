// SPDX-License-Identifier: Apache-2.0
// Intermediate results in declared formats: the norm before the weight, exponentials and their sum, bf16 functions, an absolute
// error of a function. Literal outputs are those of jax 0.10.2 on a CPU, each operation by itself (jax.disable_jit).
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <vector>

#include "tests/verify/operations_data.hpp"
#include "verify/operations/elementwise.hpp"
#include "verify/operations/layer_norm.hpp"
#include "verify/operations/softmax.hpp"

namespace {

using namespace ulpscope;
using namespace ulpscope::operations;

constexpr emu::Format bf16 = emu::bfloat16;
constexpr verify::LastRounding to_bf16{bf16};

const std::vector<float> arguments{-8,
                                   -6,
                                   -5,
                                   -4,
                                   -3.5,
                                   -3,
                                   -2.5,
                                   -2,
                                   -1.5,
                                   -1,
                                   -0.5,
                                   -0.25,
                                   as(bf16, -0.01F),
                                   as(bf16, 0.01F),
                                   as(bf16, 0.3F),
                                   as(bf16, 0.7F),
                                   1,
                                   as(bf16, 1.7F),
                                   2.5,
                                   3,
                                   4,
                                   6};

Tally functions(const char* name, const std::vector<float>& y, const verify::KernelArithmetic& arithmetic,
                const verify::LastRounding& last = to_bf16) {
  return judge_all(*verify::expect_elementwise(
                       {.function = name, .x = values({y.size()}, arguments), .arithmetic = arithmetic, .last = last}),
                   y, last);
}

}  // namespace

TEST_CASE("an RMS norm that is rounded before the weight is right where that is declared", "[verify][intermediates]") {
  std::mt19937_64 random(5);
  constexpr std::size_t n = 256;
  const std::vector<float> x = normals(random, 4 * n, 1, bf16), weight = normals(random, n, 0.3, bf16, 1);
  // Llama's RMSNorm: weight * (x * rsqrt(mean of x^2 + eps)).to(bf16), in bf16.
  std::vector<float> y;
  for (std::size_t i = 0; i < x.size(); i += n) {
    float squares = 0;
    for (std::size_t j = 0; j < n; ++j) squares += x[i + j] * x[i + j];
    const float factor = 1 / std::sqrt(squares / n + 1e-6F);
    for (std::size_t j = 0; j < n; ++j) y.push_back(as(bf16, as(bf16, x[i + j] * factor) * weight[j]));
  }
  verify::LayerNorm operation{
      .x = values({4, n}, x), .weight = values({n}, weight), .eps = 1e-6, .norm = verify::Norm::rms, .last = to_bf16};
  CHECK(judge_all(*verify::expect_layer_norm(operation), y, to_bf16).wrong() > n / 4);
  operation.normalized = bf16;
  CHECK(judge_all(*verify::expect_layer_norm(operation), y, to_bf16).wrong() == 0);
  // Rounded to float8 it is not.
  operation.weight.reset();
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = as(emu::float8_e4m3fn, y[i] / weight[i % n]);
  CHECK(judge_all(*verify::expect_layer_norm(operation), y, to_bf16).wrong() > n);
}

TEST_CASE("softmax: exponentials and their sum in 16 bits have a bound that says something", "[verify][intermediates]") {
  std::mt19937_64 random(6);
  constexpr std::size_t n = 1024;
  const std::vector<float> x = normals(random, 4 * n, 2, bf16);
  const auto kernel = [&](emu::Format shifted, emu::Format each, emu::Format sums) {
    std::vector<float> y;
    for (std::size_t i = 0; i < x.size(); i += n) {
      const float most =
          *std::max_element(x.begin() + static_cast<std::ptrdiff_t>(i), x.begin() + static_cast<std::ptrdiff_t>(i + n));
      std::vector<float> e, tree;
      for (std::size_t j = 0; j < n; ++j) e.push_back(as(each, std::exp(as(shifted, x[i + j] - most))));
      for (tree = e; tree.size() > 1; tree.resize(tree.size() / 2))
        for (std::size_t j = 0; j < tree.size() / 2; ++j) tree[j] = as(sums, tree[j] + tree[tree.size() / 2 + j]);
      for (const float v : e) y.push_back(as(bf16, v / tree[0]));
    }
    return y;
  };
  verify::Softmax operation{.x = values({4, n}, x), .last = to_bf16, .block = n};
  const auto judged = [&](const std::vector<float>& y) {
    const auto exact = verify::expect_softmax(operation);
    CHECK(exact->refusal().empty());
    return judge_all(*exact, y, to_bf16);
  };
  const std::vector<float> narrow = kernel(bf16, bf16, emu::float32), narrow_sums = kernel(bf16, bf16, bf16),
                           wide = kernel(emu::float32, bf16, emu::float32);
  CHECK(judged(narrow).wrong() > n);
  CHECK(judged(wide).wrong() > n / 4);
  operation.exponentials = bf16;
  CHECK(judged(wide).wrong() == 0);
  CHECK(judged(narrow).wrong() > n / 4);
  operation.shifted = bf16;
  CHECK(judged(narrow).wrong() == 0);
  CHECK(judged(narrow).closest > 0.2);
  operation.arithmetic.depth = 10, operation.sums = bf16;
  CHECK(judged(narrow_sums).wrong() == 0);
  // A temperature of 1.25 is no rounding.
  std::vector<float> warm = narrow_sums;
  for (float& v : warm) v = as(bf16, std::pow(v, 0.8F));
  CHECK(judged(warm).beyond > n);
}

TEST_CASE("softmax in bfloat16 by jax is right where its intermediate formats are declared", "[verify][intermediates]") {
  const std::vector<float> x{0.37890625F, -0.39453125F, 1.921875F,  0.314453125F, -1.609375F, 1.0859375F,
                             3.90625F,    2.84375F,     -2.109375F, -3.796875F,   -1.875F,    0.1240234375F};
  const std::vector<float> y{0.017822265625F,      0.00811767578125F,     0.08349609375F,       0.0166015625F,
                             0.0024871826171875F,  0.036376953125F,       0.60546875F,          0.2099609375F,
                             0.00150299072265625F, 0.000278472900390625F, 0.00186920166015625F, 0.01385498046875F};
  verify::Softmax operation{.x = values({1, 12}, x), .last = to_bf16};
  operation.shifted = bf16, operation.exponentials = bf16;
  CHECK(judge_all(*verify::expect_softmax(operation), y, to_bf16).wrong() == 0);
}

TEST_CASE("functions in bfloat16 by jax are right where that is declared", "[verify][intermediates]") {
  const std::vector<float> sigmoid{0.000335693359375F,
                                   0.002471923828125F,
                                   0.0067138671875F,
                                   0.01806640625F,
                                   0.0294189453125F,
                                   0.04736328125F,
                                   0.07568359375F,
                                   0.11962890625F,
                                   0.1826171875F,
                                   0.26953125F,
                                   0.376953125F,
                                   0.4375F,
                                   0.5F,
                                   0.50390625F,
                                   0.57421875F,
                                   0.66796875F,
                                   0.73046875F,
                                   0.84765625F,
                                   0.92578125F,
                                   0.95703125F,
                                   0.984375F,
                                   1.0F};
  const std::vector<float> gelu{-5.023759186428833e-15F,
                                -5.529727786779404e-09F,
                                -1.4826655387878418e-06F,
                                -0.00012683868408203125F,
                                -0.0008392333984375F,
                                -0.00396728515625F,
                                -0.015625F,
                                -0.04541015625F,
                                -0.099609375F,
                                -0.158203125F,
                                -0.154296875F,
                                -0.10009765625F,
                                -0.004974365234375F,
                                0.005035400390625F,
                                0.185546875F,
                                0.53125F,
                                0.83984375F,
                                1.6328125F,
                                2.484375F,
                                3.0F,
                                4.0F,
                                6.0F};
  const std::vector<float> gelu_tanh{-0.0F,
                                     -0.0F,
                                     -0.0F,
                                     -0.0F,
                                     -0.0F,
                                     -0.005859375F,
                                     -0.0146484375F,
                                     -0.046875F,
                                     -0.1025390625F,
                                     -0.158203125F,
                                     -0.154296875F,
                                     -0.1005859375F,
                                     -0.004974365234375F,
                                     0.005035400390625F,
                                     0.185546875F,
                                     0.53125F,
                                     0.84375F,
                                     1.625F,
                                     2.484375F,
                                     3.0F,
                                     4.0F,
                                     6.0F};
  const verify::KernelArithmetic narrow{.format = bf16};
  CHECK(functions("sigmoid", sigmoid, narrow).wrong() == 0);
  CHECK(functions("gelu", gelu, narrow).wrong() == 0);
  CHECK(functions("gelu_tanh", gelu_tanh, narrow).wrong() == 0);
  CHECK(functions("sigmoid", sigmoid, {}).wrong() > 5);
  CHECK(functions("gelu", gelu, {}).wrong() > 2);
  CHECK(functions("gelu_tanh", gelu_tanh, {}).wrong() > 5);
  // The one is not the other.
  CHECK(functions("gelu", sigmoid, narrow).wrong() > 15);
}

TEST_CASE("an absolute error of a function is allowed where it is declared", "[verify][intermediates]") {
  constexpr verify::LastRounding single{emu::float32};
  // As torch's vectorised erf: a polynomial whose error is 1.8e-7 at any size.
  std::vector<float> erf, gelu, sigmoid;
  for (const float x : arguments) {
    erf.push_back(static_cast<float>(std::erf(static_cast<double>(x)) + 1.6e-7));
    gelu.push_back(static_cast<float>(static_cast<double>(x) / 2 * (1 + std::erf(static_cast<double>(x) * M_SQRT1_2) + 6e-7)));
    sigmoid.push_back(static_cast<float>(1 / (1 + std::exp(-static_cast<double>(x))) + 1.6e-7));
  }
  const verify::KernelArithmetic declared{.function_abs = 1.8e-7}, less{.function_abs = 0.9e-8};
  CHECK(functions("erf", erf, declared, single).wrong() == 0);
  CHECK(functions("gelu", gelu, {.function_abs = 6.2e-7}, single).wrong() == 0);
  CHECK(functions("sigmoid", sigmoid, declared, single).wrong() == 0);
  CHECK(functions("erf", erf, less, single).wrong() > 0);
  CHECK(functions("gelu", gelu, declared, single).wrong() > 0);
  CHECK(functions("sigmoid", sigmoid, less, single).wrong() > 0);
}
