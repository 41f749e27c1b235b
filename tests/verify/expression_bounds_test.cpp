// SPDX-License-Identifier: Apache-2.0
// What the bounds of formulas let pass: outputs of kernels that are right, and of some that are wrong.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "emu/catalogue.hpp"
#include "verify/expected.hpp"
#include "verify/expressions/expression.hpp"
#include "verify/operations/rows.hpp"

namespace {

using namespace ulpscope;
using verify::Standing;
using Inputs = std::vector<std::pair<std::string, std::vector<float>>>;

constexpr float infinity = std::numeric_limits<float>::infinity(), greatest = std::numeric_limits<float>::max();
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

/// Where the elements of a float32 output stand; the inputs are vectors.
std::vector<Standing> standings(const std::string& formula, const Inputs& inputs, const std::vector<float>& output) {
  verify::Expression expression{.formula = formula, .last = {emu::float32}, .threads = 1};
  for (const auto& [name, elements] : inputs) expression.inputs.push_back({name, {{elements.size()}, elements}});
  const verify::LastRounding last = expression.last;
  const auto expectation = verify::expect_expression(std::move(expression));
  std::vector<verify::Expected> expected(output.size());
  expectation->expect(0, expected);
  std::vector<Standing> all;
  for (std::size_t i = 0; i < output.size(); ++i)
    all.push_back(verify::judge(*expectation, i, expected[i], static_cast<double>(output[i]), last));
  return all;
}
bool passes(const std::string& formula, const Inputs& inputs, const std::vector<float>& output) {
  for (const Standing standing : standings(formula, inputs, output))
    if (standing != Standing::equal && standing != Standing::within) return false;
  return true;
}

}  // namespace

TEST_CASE("of a greatest element only what may be the greatest has a say", "[verify][expressions]") {
  // 3 * 1 - 0, and 4096.7 * 4095.3 - 2e7, whose error in float32 may be 1.
  const Inputs inputs{{"x", {3, 4096.7F}}, {"y", {1, 4095.3F}}, {"z", {0, 2e7F}}};
  CHECK(passes("max(x * y - z)", inputs, {3}));
  CHECK_FALSE(passes("max(x * y - z)", inputs, {3.4F}));
  CHECK(passes("min(z - x * y)", inputs, {-3}));
  CHECK_FALSE(passes("min(z - x * y)", inputs, {-3.4F}));
}

TEST_CASE("the logarithm of a sum of exponentials is infinite where the sum is 0 or infinite", "[verify][expressions]") {
  const std::string logsumexp = verify::formula_text("logsumexp");
  const auto is = [&](const std::vector<float>& x, float output) { return passes(logsumexp, {{"x", x}}, {output}); };

  CHECK(is({-infinity, -infinity}, -infinity));
  CHECK(is({1, infinity}, infinity));
  CHECK(is({-infinity, 2}, 2));
  CHECK(is({0, 1}, 1.3132617F));  // 1 + log(1 + exp(-1))
  CHECK(is({0, not_a_number}, not_a_number));
  CHECK_FALSE(is({-infinity, -infinity}, not_a_number));
  CHECK_FALSE(is({1, infinity}, not_a_number));
  CHECK_FALSE(is({infinity, -infinity}, not_a_number));
}

TEST_CASE("hidden keys that are masked by a sum leave a softmax its bound", "[verify][expressions]") {
  const std::string softmax = "s = x + m; e = exp(s - max(s, axis=-1, keepdims=true)); e / sum(e, axis=-1, keepdims=true)";
  for (const float hidden : {-1e5F, -1e9F, -1e30F, -greatest, -infinity}) {
    CAPTURE(hidden);
    const Inputs inputs{{"x", {1, 0, 1}}, {"m", {0, 0, hidden}}};
    const float p = 0.73105858F, q = 0.26894142F;  // 1 / (1 + exp(-1)), 1 / (1 + exp(1))

    CHECK(passes(softmax, inputs, {p, q, 0}));
    CHECK_FALSE(passes(softmax, inputs, {p * 1.01F, q, 0}));
    CHECK_FALSE(passes(softmax, inputs, {p, q, 1e-6F}));
  }
}

TEST_CASE("a result that overflows is the infinity of its sign", "[verify][expressions]") {
  // Of x = 3e38, y = -3e38, z = 100 and the outputs infinity, -infinity, NaN: which are right.
  const auto check = [](const std::string& formula, bool up, bool down, bool undefined) {
    CAPTURE(formula);
    const Inputs all{{"x", {3e38F}}, {"y", {-3e38F}}, {"z", {100}}};
    Inputs inputs;
    for (const auto& input : all)
      if (formula.find(input.first) != std::string::npos) inputs.push_back(input);
    CHECK(passes(formula, inputs, {infinity}) == up);
    CHECK(passes(formula, inputs, {-infinity}) == down);
    CHECK(passes(formula, inputs, {not_a_number}) == undefined);
  };
  check("cosh(z)", true, false, false);
  check("x * x", true, false, false);
  check("x * y", false, true, false);
  check("x - y", true, false, false);
  check("sum(concat(x, x, axis=0))", true, false, false);
  check("sum(concat(y, y, x, axis=0))", false, true, false);
  check("x / 0.1", true, false, false);
  check("fp16: y * z", false, true, false);
  check("einsum(\"i,i->\", x, y)", false, true, false);
  // What the operations after it make of it.
  check("-(x * z) + z", false, true, false);
  check("abs(y * z)", true, false, false);
  check("x * z * y", false, true, false);
  check("x * z + y", true, false, false);
  check("max(x * z, y)", true, false, false);
  check("min(concat(x * z, y, axis=0))", false, false, false);
  check("bf16(x * z)", true, false, false);
  check("-(y * z) - y", true, false, false);
  check("x * z - x * z", true, true, true);  // a kernel may keep one of the products unrounded
  check("x * z / (x * z)", true, false, true);
  check("x * z * 0", false, false, true);
}
