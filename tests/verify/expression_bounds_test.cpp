// SPDX-License-Identifier: Apache-2.0
// What the bounds of formulas let pass: outputs of kernels that are right, and of some that are wrong.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "emu/catalogue.hpp"
#include "verify/expected.hpp"
#include "verify/expressions/expression.hpp"
#include "verify/expressions/known_formulas.hpp"
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
/// Those of the inputs that a formula names.
Inputs named_in(const std::string& formula, const Inputs& all) {
  Inputs named;
  for (const auto& input : all)
    if (std::regex_search(formula, std::regex("\\b" + input.first + "\\b"))) named.push_back(input);
  return named;
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
    const Inputs inputs = named_in(formula, {{"x", {3e38F}}, {"y", {-3e38F}}, {"z", {100}}});
    CHECK(passes(formula, inputs, {infinity}) == up);
    CHECK(passes(formula, inputs, {-infinity}) == down);
    CHECK(passes(formula, inputs, {not_a_number}) == undefined);
  };
  check("cosh(z)", true, false, false);
  check("exp10(z)", true, false, false);
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

TEST_CASE("beside a pole or the edge of a domain a kernel may be on the other side", "[verify][expressions]") {
  // 0.6F and 0.8F have squares of the sum 1 + 0.6 * 2^-24 or so: in float32 that is 1 or the next, and exactly more than 1.
  const Inputs u{{"u", {0.6F, 0.8F}}};
  const std::string root = "sqrt(1 - sum(u * u))";
  CHECK(passes(root, u, {0}));
  CHECK(passes(root, u, {not_a_number}));
  CHECK_FALSE(passes(root, u, {1e-2F}));  // 1 - sum is off by some 2^-23 at most, its root by 2^-11.5
  CHECK_FALSE(passes(root, u, {infinity}));
  CHECK(passes("log(1 - sum(u * u))", u, {-infinity}));
  CHECK(passes("log(1 - sum(u * u))", u, {-17}));
  CHECK(passes("rsqrt(1 - sum(u * u))", u, {4096}));
  CHECK(passes("log1p(-sum(u * u))", u, {-16}));

  // 1 + 2^-24 - 1 - 2^-24 in order, in float32: the tie goes to 1, and -2^-24 is left.
  const Inputs x{{"x", {1, 0x1p-24F, -1, -0x1p-24F}}};
  for (const char* formula : {"1 / sum(x)", "rcp(sum(x))", "sum(abs(x)) / sum(x) / 2"}) {
    CAPTURE(formula);
    CHECK(passes(formula, x, {-0x1p24F}));
    CHECK(passes(formula, x, {infinity}));
  }
  CHECK(passes("log(abs(sum(x)))", x, {-16.635532F}));  // -24 log 2
  CHECK(passes("1 / sum(x) + 1", x, {-0x1p24F}));
  CHECK(passes("exp(1 / sum(x))", x, {0}));
  CHECK(passes("max(1 / sum(x), 3)", x, {3}));
  CHECK(passes("where(1 / sum(x) > 0, 1, 2)", x, {2}));
  CHECK(passes("sum(1 / sum(x, axis=-1, keepdims=true))", x, {-0x1p24F}));

  // 1 + (-1e-39 - 1) is 0 in float32.
  const Inputs s{{"x", {-1e-39F}}, {"z", {1}}};
  CHECK(passes("sqrt((x - z) + z)", s, {0}));
  CHECK(passes("sqrt((x - z) + z)", s, {not_a_number}));

  // 29 * 16.03 is 464.87 in float32, give or take: e4m3 has NaN from 464 on.
  const Inputs e{{"x", {29}}, {"y", {16}}};
  CHECK(passes("e4m3(x * y + 1e-9)", e, {not_a_number}));
  CHECK(passes("e4m3(x * y + 1e-9)", e, {448}));
}

TEST_CASE("a sign is certain where its argument's is", "[verify][expressions]") {
  const auto is = [](const std::string& formula, const std::vector<float>& x, const std::vector<float>& output) {
    return passes(formula, {{"x", x}}, output);
  };
  const std::vector<float> x{-3, -0.0F, 0, 1e-45F, infinity, not_a_number};
  CHECK(is("sign(x)", x, {-1, 0, 0, 1, 1, not_a_number}));
  for (std::size_t i = 0; i < x.size(); ++i)
    for (const float wrong : {-1.0F, 0.0F, 1.0F, not_a_number}) {
      std::vector<float> output{-1, 0, 0, 1, 1, not_a_number};
      if (output[i] == wrong || (std::isnan(output[i]) && std::isnan(wrong))) continue;
      output[i] = wrong;
      CAPTURE(i, wrong);
      CHECK_FALSE(is("sign(x)", x, output));
    }
  // Libraries have either zero of -0.
  CHECK(is("1 / sign(x)", {-0.0F}, {infinity}));
  CHECK(is("1 / sign(x)", {-0.0F}, {-infinity}));
  // 0.1 + 0.2 - 0.3 is 0 in some float32 kernels, more than 0 in others, and not a half.
  for (const float sign : {-1.0F, 0.0F, 1.0F}) CHECK(is("sign(sum(x))", {0.1F, 0.2F, -0.3F}, {sign}));
  CHECK_FALSE(is("sign(sum(x))", {0.1F, 0.2F, -0.3F}, {2.5F}));
  CHECK_FALSE(is("sign(sum(x))", {0.1F, 0.2F, 0.3F}, {0}));
}

TEST_CASE("an index that a kernel may compute otherwise leaves its element open", "[verify][expressions]") {
  const Inputs inputs{{"x", {5, 6, 7}}, {"i", {0.1F, 0.2F, 0.7F}}};
  CHECK(passes("gather(x, floor(sum(i)))", inputs, {6}));  // 0.1 + 0.2 + 0.7 is 1 or the number below it
  CHECK(passes("gather(x, floor(sum(i)))", inputs, {5}));
  CHECK(passes("gather(x, floor(sum(i) + 0.5))", inputs, {6}));
  CHECK_FALSE(passes("gather(x, floor(sum(i) + 0.5))", inputs, {5}));
}

TEST_CASE("sums that are subnormal on the way or at the end may be flushed", "[verify][expressions]") {
  const Inputs inputs{{"x", {2e-38F, -1.5e-38F, 2e-38F, 1e-45F}}, {"y", {1e-39F}}, {"z", {0}}, {"zeros", {0, 0}}};
  const auto is = [&](const std::string& formula, float output) {
    return passes(formula, named_in(formula, inputs), {output});
  };
  CHECK(is("sum(x)", 2e-38F));  // 2e-38 - 1.5e-38 is subnormal, and so is the last term
  CHECK(is("sum(x)", 2.5e-38F));
  CHECK_FALSE(is("sum(x)", 8e-38F));
  CHECK(is("y + z", 0));
  CHECK(is("z - y", 0));
  CHECK(is("y + z", 1e-39F));
  CHECK_FALSE(is("y + z", 2e-38F));
  CHECK_FALSE(is("sum(zeros)", 1e-45F));
  CHECK_FALSE(is("z + z", 1e-45F));
}

TEST_CASE("a negative power is a quotient by products", "[verify][expressions]") {
  const auto is = [](const std::string& formula, float x, float output) { return passes(formula, {{"x", {x}}}, {output}); };
  CHECK(is("x ** -2", 3, 0.11111111F));
  CHECK_FALSE(is("x ** -2", 3, 0.11111111F * 1.000001F));
  CHECK(is("x ** -3", -2, -0.125F));
  CHECK_FALSE(is("x ** -3", -2, 0.125F));
  CHECK(is("x ** -2", -0.0F, infinity));
  CHECK(is("x ** -3", -0.0F, -infinity));
  CHECK_FALSE(is("x ** -2", 0, 0));
  CHECK(is("x ** -2", 1e20F, 0));       // x x is infinite
  CHECK(is("x ** -2", 1e20F, 1e-40F));  // with subnormal numbers
  CHECK(is("x ** -2", infinity, 0));
  CHECK(is("x ** -2", not_a_number, not_a_number));
  CHECK(is("x ** -16", 2, 0x1p-16F));
}

TEST_CASE("what is infinite or NaN of exact arguments is certain", "[verify][expressions]") {
  // Of x = 0, y = -1, z = infinity and the outputs 0, 1, infinity, -infinity, NaN: which are right.
  const auto check = [](const std::string& formula, const char* right) {
    const Inputs inputs = named_in(formula, {{"x", {0}}, {"y", {-1}}, {"z", {infinity}}});
    const std::vector<std::pair<char, float>> outputs{
        {'0', 0}, {'1', 1}, {'+', infinity}, {'-', -infinity}, {'n', not_a_number}};
    std::string passed;
    for (const auto& [name, output] : outputs)
      if (passes(formula, inputs, {output})) passed += name;
    CAPTURE(formula);
    CHECK(passed == right);
  };
  check("1 / x", "+");
  check("y / x", "-");
  check("x / x", "n");
  check("log(x)", "-");
  check("sqrt(y)", "n");
  check("rsqrt(x)", "+");
  check("log1p(y)", "-");
  check("z - z", "n");
  check("x * z", "n");
  check("z * z", "+");
  check("-z", "-");
  check("1 / -x", "-");
  check("z + y * 0.1", "+");
  check("z * (y * 0.1)", "-");
  check("sum(concat(z, y * 0.1, axis=0))", "+");
  check("max(z, y * 0.1)", "+");
  check("max(concat(z, y * 0.1, axis=0))", "+");
  check("z / z + 1 / (y * 0.1 + 0.1)", "n");
  check("sum(concat(z, y * 3e38, y * 3e38, axis=0))", "+n");  // the finite ones may be added first
  // Of arguments whose errors do not reach the edge.
  check("sqrt(y * 0.1)", "n");
  check("log(y * 0.1)", "n");
  check("y * 0.1 / x", "-");
  check("exp(1e4 - y * 0.1)", "+");
}

TEST_CASE("what underflows to 0 makes NaN where 0 does", "[verify][expressions]") {
  // Of x = 1e-30, y = 0, z = infinity and the outputs infinity, 1, NaN: which are right.
  const auto check = [](const std::string& formula, bool infinite, bool one, bool undefined) {
    CAPTURE(formula);
    const Inputs inputs = named_in(formula, {{"x", {1e-30F}}, {"y", {0}}, {"z", {infinity}}});
    CHECK(passes(formula, inputs, {infinity}) == infinite);
    CHECK(passes(formula, inputs, {1}) == one);
    CHECK(passes(formula, inputs, {not_a_number}) == undefined);
  };
  check("x * x / y", true, false, true);
  check("x * x * z", true, false, true);
  check("x / y", true, false, false);
  check("x * z", true, false, false);
  check("rcp(exp(100 + y)) / y", true, false, true);
  check("einsum(\"i,i->\", x * x, z)", true, false, true);
  CHECK(passes("sqrt(x * y)", {{"x", {1e-30F}}, {"y", {-1e-30F}}}, {-0.0F}));
  CHECK(passes("sqrt(x * y)", {{"x", {1e-30F}}, {"y", {-1e-30F}}}, {not_a_number}));
}

TEST_CASE("of zeros of both signs the greatest and the least are either", "[verify][expressions]") {
  // Of y = 1 and x = -0 and +0: the outputs infinity, -infinity, NaN.
  const auto check = [](const std::string& formula, bool up, bool down, bool undefined) {
    CAPTURE(formula);
    const Inputs inputs = named_in(formula, {{"x", {-0.0F, 0}}, {"y", {1}}});
    CHECK(passes(formula, inputs, {infinity}) == up);
    CHECK(passes(formula, inputs, {-infinity}) == down);
    CHECK(passes(formula, inputs, {not_a_number}) == undefined);
    CHECK_FALSE(passes(formula, inputs, {7}));
  };
  check("y / max(x)", true, true, false);
  check("y / min(x)", true, true, false);
  check("y / maximum(x[:1], x[1:])", true, true, false);
  check("y / (maximum(x[1:], x[:1]) * 3)", true, true, false);
  check("y / -(max(x) + x[:1])", true, true, false);
  check("y / (max(x) + x[1:])", true, false, false);
  check("y / abs(max(x))", true, false, false);
  check("rcp(sqrt(max(x)))", true, true, false);
  check("y / bf16(max(x))", true, true, false);
  check("y / max(x[:1])", false, true, false);
  check("y / max(x[1:])", true, false, false);
  check("y / maximum(x[1:], x[1:])", true, false, false);
  check("max(x) / x[1:]", false, false, true);
  check("y / sum(maximum(x[1:], x[:1]))", true, true, false);
  for (const char* formula :
       {"maximum(y / max(x), y)", "max(concat(y / max(x), y, axis=0))", "where(y / max(x) > y, inf, y)"}) {
    CAPTURE(formula);
    CHECK(passes(formula, {{"x", {-0.0F, 0}}, {"y", {1}}}, {1}));
    CHECK(passes(formula, {{"x", {-0.0F, 0}}, {"y", {1}}}, {infinity}));
  }
  CHECK(passes("where(maximum(y / max(x), y) > 2, 5, maximum(y / max(x), y))", {{"x", {-0.0F, 0}}, {"y", {1}}}, {1}));
  CHECK_FALSE(passes("maximum(y / max(x), y)", {{"x", {-0.0F, 0}}, {"y", {1}}}, {3}));
  // Zeros of either sign are 0, and 1 is not: nothing is left open.
  CHECK_FALSE(passes("where(maximum(x, -x) > 0, 1, 2)", {{"x", {0}}}, {1}));
  CHECK_FALSE(passes("maximum(x, -x) + 1", {{"x", {0}}}, {1.0000001F}));
}

TEST_CASE("infinities in the place of large numbers compare as such", "[verify][expressions]") {
  // 9e60 < 4e60 is false, 4e60 < 9e60 true; infinity < infinity is false, infinity < 1 too.
  const Inputs inputs{{"x", {2e30F}}, {"y", {3e30F}}};
  const auto is = [&](const std::string& condition, float output) {
    return passes("where(" + condition + ", 1, 2)", named_in(condition, inputs), {output});
  };
  CHECK(is("x * x < y * y", 1));
  CHECK(is("x * x < y * y", 2));
  CHECK(is("x * x == x * x", 1));
  CHECK(is("x * x > 1", 1));
  CHECK_FALSE(is("x * x > 1", 2));
}
