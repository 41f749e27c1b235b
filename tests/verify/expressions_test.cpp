// SPDX-License-Identifier: Apache-2.0
// Formulas: their words, and their values against 200 digits and against kernels that compute them in float32, node by node.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "emu/catalogue.hpp"
#include "emu/encode.hpp"
#include "emu/error.hpp"
#include "verify/expressions/evaluation.hpp"
#include "verify/expressions/expression.hpp"
#include "verify/expressions/overflows.hpp"
#include "verify/expressions/syntax.hpp"

namespace {

using namespace ulpscope;
using namespace ulpscope::verify;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

using Inputs = std::vector<std::pair<std::string, Values>>;

Values tensor(Extents shape, std::vector<float> elements) { return {std::move(shape), std::move(elements)}; }

Evaluation evaluated(const std::string& text, const Inputs& inputs, const KernelArithmetic& arithmetic = {},
                     const std::vector<FormulaNumber>& numbers = {}) {
  std::vector<FormulaInput> names;
  std::vector<Values> values;
  for (const auto& [name, x] : inputs) {
    names.push_back({name, x.shape});
    values.push_back(x);
  }
  return {read_formula(text, names, numbers, arithmetic), std::move(values), 1};
}

std::vector<Approximate> all_of(const Evaluation& evaluation) {
  std::vector<Approximate> all(static_cast<std::size_t>(element_count(evaluation.formula().value().shape)));
  evaluation.values(0, all);
  return all;
}

/// The values, which are known nearly exactly.
std::vector<double> exactly(const std::string& text, const Inputs& inputs) {
  std::vector<double> values;
  for (const Approximate& x : all_of(evaluated(text, inputs))) {
    CHECK(x.radius < 1e-12);
    values.push_back(x.value);
  }
  return values;
}

const Inputs small{{"x", tensor({2, 3}, {1, 2, 3, 4, 5, 6})}, {"v", tensor({3}, {10, 20, 30})}, {"i", tensor({2}, {2, 0})}};

}  // namespace

TEST_CASE("a formula's value is what its words say") {
  using List = std::vector<double>;
  const auto shape = [](const std::string& text) { return evaluated(text, small).formula().value().shape; };
  const auto with_all = [](const std::string& text) { return exactly(text + " + 0 * (sum(x) + sum(v) + sum(i))", small); };
  CHECK(with_all("x + v") == List{11, 22, 33, 14, 25, 36});
  CHECK(with_all("2 * x - 1") == List{1, 3, 5, 7, 9, 11});
  CHECK(with_all("-x ** 2") == List{-1, -4, -9, -16, -25, -36});
  CHECK(with_all("sum(x, axis=0)") == List{5, 7, 9});
  CHECK(with_all("sum(x, axis=-1)") == List{6, 15});
  CHECK(with_all("mean(x, axis=1)") == List{2, 5});
  CHECK(with_all("max(x, axis=0)") == List{4, 5, 6});
  CHECK(with_all("min(x)") == List{1});
  CHECK(with_all("max(x, 3)") == List{3, 3, 3, 4, 5, 6});
  CHECK(with_all("clip(x, 2, 5)") == List{2, 2, 3, 4, 5, 5});
  CHECK(with_all("where(x > 3 and not x == 5, x, 0)") == List{0, 0, 0, 4, 0, 6});
  CHECK(with_all("where(x <= 2 or x >= 6, 1, 0)") == List{1, 1, 0, 0, 0, 1});
  CHECK(with_all("x != 2") == List{1, 0, 1, 1, 1, 1});
  // As NumPy has them of truth values: (a & b) == c, (a | b) == c, a | (b & c), (a + b) & c, (~a) == b.
  CHECK(with_all("(x < 3) & (x > 1) == (x > 4)") == List{1, 0, 1, 1, 0, 0});
  CHECK(with_all("(x > 4) | (x > 2) == (x < 5)") == List{0, 0, 1, 1, 0, 0});
  CHECK(with_all("(x > 4) | (x > 2) & (x < 4)") == List{0, 0, 1, 0, 1, 1});
  CHECK(with_all("(x > 4) + (x > 2) & (x < 6)") == List{0, 0, 1, 1, 1, 0});
  CHECK(with_all("~(x > 2) == (x > 4)") == List{0, 0, 1, 1, 0, 0});
  CHECK(with_all("cumsum(x, axis=1)") == List{1, 3, 6, 4, 9, 15});
  CHECK(with_all("cumsum(x, axis=0)") == List{1, 2, 3, 5, 7, 9});
  CHECK(with_all("einsum(\"ij,j->i\", x, v)") == List{140, 320});
  CHECK(with_all("x @ v") == List{140, 320});
  CHECK(with_all("einsum(\"ij,kj->ik\", x, x)") == List{14, 32, 32, 77});
  CHECK(with_all("einsum(\"ij->ji\", x)") == List{1, 4, 2, 5, 3, 6});
  CHECK(with_all("transpose(x)") == List{1, 4, 2, 5, 3, 6});
  CHECK(with_all("x[:, 1:]") == List{2, 3, 5, 6});
  CHECK(with_all("x[1]") == List{4, 5, 6});
  CHECK(with_all("x[..., -1]") == List{3, 6});
  CHECK(with_all("x[:, ::2]") == List{1, 3, 4, 6});
  CHECK(with_all("x[:, :extent(x) - 1]") == List{1, 2, 4, 5});
  CHECK(with_all("concat(x, x[:, :1], axis=1)") == List{1, 2, 3, 1, 4, 5, 6, 4});
  CHECK(with_all("concat(x, x[:1], axis=0)") == List{1, 2, 3, 4, 5, 6, 1, 2, 3});
  CHECK(with_all("reshape(x, 3, -1)") == List{1, 2, 3, 4, 5, 6});
  CHECK(with_all("gather(x, i)") == List{3, 4});
  CHECK(with_all("take(x, i)") == List{3, 1, 6, 4});
  CHECK(with_all("sum(x, axis=(1, 0))") == List{21});
  CHECK(with_all("sign(x - 2)") == List{-1, 0, 1, 1, 1, 1});
  CHECK(with_all("x ** 1 + 4 * (x / x) ** -2") == List{5, 6, 7, 8, 9, 10});
  CHECK(with_all("positions(x, axis=0) * 10 + positions(x)") == List{0, 1, 2, 10, 11, 12});
  CHECK(with_all("y = x + 1; z = y * y; z - y") == List{2, 6, 12, 20, 30, 42});
  CHECK(with_all("e2m1(x)") == List{1, 2, 3, 4, 4, 6});
  CHECK(with_all("e2m1(x, rounding=\"upward\")") == List{1, 2, 3, 4, 6, 6});
  CHECK(with_all("e4m3(x * 100, policy=\"saturating\")") == List{96, 192, 288, 384, 448, 448});
  CHECK(with_all("round(x / 2)") == List{0, 1, 2, 2, 2, 3});
  CHECK(with_all("floor(x / 2)") == List{0, 1, 1, 2, 2, 3});
  CHECK(shape("x + v + sum(i)") == Extents{2, 3});
}

TEST_CASE("infinities and NaNs go through a formula as IEEE 754 has them") {
  const float inf = HUGE_VALF, nan = std::nanf("");
  const Inputs inputs{{"x", tensor({5}, {inf, -inf, nan, 0, 1})}};
  const auto value = [&](const std::string& text) {
    std::vector<double> values;
    for (const Approximate& x : all_of(evaluated(text, inputs))) values.push_back(x.value);
    return values;
  };
  const auto is_nan = [](double x) { return std::isnan(x); };
  CHECK(std::ranges::all_of(std::vector{value("x - x")[0], value("x * 0")[0], value("x + 1")[2], value("max(x)")[0]}, is_nan));
  CHECK(value("1 / x")[0] == 0);
  CHECK(value("1 / x")[3] == HUGE_VAL);
  CHECK(value("exp(x)")[1] == 0);
  CHECK(value("where(x == x, 1, 0)") == std::vector<double>{1, 1, 0, 1, 1});
  CHECK(value("where(x <= 0, 1, 0)") == std::vector<double>{0, 1, 0, 1, 0});
}

TEST_CASE("what a kernel's float32 cannot hold may be infinite") {
  const Inputs inputs{{"x", tensor({3}, {60, 100, -100})}};
  const auto all = all_of(evaluated("1 / (1 + exp(-x)) + exp(x)", inputs));
  CHECK(all[0].overflow == Overflow::none);
  CHECK(all[1].overflow == Overflow::upward);
  const auto sigmoid = all_of(evaluated("1 / (1 + exp(-x))", inputs));  // an infinite exponential is a zero in the end
  CHECK(sigmoid[2].overflow == Overflow::none);
  CHECK(sigmoid[2].error >= sigmoid[2].value);
}

TEST_CASE("a malformed formula is refused with its column") {
  const auto answer = [](const std::string& text, const char* message) {
    CAPTURE(text);
    CHECK_THROWS_MATCHES(evaluated(text, small), Error, MessageMatches(ContainsSubstring(message)));
  };
  answer("", "column 1: a value is missing before the end");
  answer("x +", "column 4: a value is missing before the end");
  answer("(x", "column 3: ')' is missing before the end");
  answer("x x", "column 3: an operator or ';' is missing before 'x'");
  answer("x $ v", "column 3: no formula has a character such as this");
  answer("1.5.2", "column 4: an operator or ';' is missing");
  answer("x + not v", "column 5: a value is missing before 'not'");
  answer("and = 3; x", "column 1: a value is missing before 'and'");
  answer("2x", "column 2: a number does not go on so");
  const auto chain = [](const std::string& word, int count) {
    std::string text = "x";
    for (int i = 0; i < count; ++i) text += word;
    return text;
  };
  answer(chain(" + x", 1001), "column 4003: more than 1000 operations");
  answer(chain("[0:]", 1001), "column 4002: more than 1000 operations");
  answer("a = x; " + chain("; a = exp(a)", 1001), "more than 1000 operations");
  answer("y", "column 1: 'y' is no input; there are i, v, x");
  answer("silo(x)", "column 1: 'silo' is no function and no format; nearest: silu");
  answer("2 * log_softmax(x)",
         "column 5: 'log_softmax' is no function but a formula of that name, which stands alone: put in what "
         "verify/expressions/library/log_softmax.toml has");
  answer("x < v < x", "column 7: comparisons do not follow each other: use 'and'");
  answer("x ** neg()", "column 6: neg takes one operand");
  answer("neg(x, axis=0)", "column 1: neg takes one operand");
  answer("exp(x, v)", "column 1: exp takes 1 operands, not 2");
  answer("sum(x, axis=2)", "column 1: axis 2 of 2x3, which has 2 dimensions");
  answer("sum(x, axes=1)", "column 13: sum has no argument axes");
  answer("sum(x, axis=-1, axis=0)", "column 17: sum: axis is given twice");
  answer("bf16(x, rounding=\"upward\", rounding=\"downward\")", "rounding is given twice");
  answer("sum(x, axis=0, keepdims=2)", "column 25: keepdims is true or false");
  answer("x[:, :extent(x, axes=0)]", "extent has no argument axes");
  answer("fp64(x)", "column 1: fp64: a rounding point is to a format of at most float32");
  answer("x + x[:, :2]", "column 3: 2x3 and 2x2 do not broadcast");
  answer("x[2]", "column 3: index 2 of 2 elements");
  answer("x[0, 0, 0]", "column 2: 3 indices of 2x3");
  answer("x[v]", "column 3: a whole number stands here");
  answer("x @ x", "column 3: einsum: an axis of 3 meets one of 2");
  answer("einsum(\"ij->k\", x)", "the result's labels are the operands', each once");
  answer("einsum(x, x)", "the labels come first, in quotes");
  answer("reshape(x, 4, -1)", "reshape: 2x3 has other elements than 4x0");
  answer("x ** 0.3", "a whole number stands here");
  answer("x ** 20", "an exponent is a whole number from -16 to 16 but 0, 0.5 or -0.5");
  answer("gather(x, v)", "gather: indices of 3 do not fit 2x3");
  answer("y = x; y", "is not in the formula");
  answer("exp = x; exp", "'exp' is the name of a function");
  answer("y = x; y = v; y", "'y' is defined already");
  answer("x; v", "a line before the last one has a name");
  answer("y = x", "the last line is the formula's value");
  answer("fp99: x", "'fp99' is no format");
  answer("bf16(x, rounding=\"sideways\")", "R is a rounding such as toward_zero");
  answer("x + 'text'", "a text stands only in einsum");
  answer("where(x, v)", "where takes 3 operands, not 2");
  answer((std::string(100, '(') + "x" + std::string(100, ')')).c_str(), "more than 64 levels of brackets");
  answer((std::string(100, '-') + "x").c_str(), "more than 64 levels of brackets");
}

TEST_CASE("a formula that is written as text again is read as the same") {
  const auto again = [](const std::string& text) { return verify::text_of(verify::parse_formula(text)); };
  CHECK(again("((x)+(v*2))") == "x + v * 2");
  CHECK(again("(x + v) * 2 - (x - v - 1) - (x - (v - 1))") == "(x + v) * 2 - (x - v - 1) - (x - (v - 1))");
  CHECK(again("(-x)**2**0.5 + -x**2") == "(-x)**2**0.5 + -x**2");
  CHECK(again("(x < v) & ~(v == 1) | ~x") == "x < v and not v == 1 or not x");
  CHECK(again("x & v == 0 or ~x + (x == v | v)") == "(x and v) == 0 or (not x) + (x == (v or v))");
  CHECK(again("(fp16: x) + e4m3(v,rounding='upward')[1:, ..., ::2]") ==
        "(fp16: x) + e4m3(v, rounding=\"upward\")[1:, ..., ::2]");
  CHECK(again("f('\"')") == "f('\"')");
  CHECK(again("sum(x,axis=(0,)) + max(v, axis=((0), -1,)) + sum(x, axis=((0)))") ==
        "sum(x, axis=(0,)) + max(v, axis=(0, -1)) + sum(x, axis=0)");
  CHECK(again("a = x; bf16: a # b") == "a = x; bf16: a");
}

TEST_CASE("gather refuses what is no index") {
  for (const float index : {-1.0F, 3.0F, 0.5F, std::nanf("")}) {
    const Inputs inputs{{"x", tensor({2, 3}, {1, 2, 3, 4, 5, 6})}, {"i", tensor({2}, {0, index})}};
    CHECK_THROWS_MATCHES(all_of(evaluated("gather(x, i)", inputs)), Error,
                         MessageMatches(ContainsSubstring("gather takes elements 0 to 2; element 1 of the indices is")));
  }
}

TEST_CASE("a number that is given from outside takes the place of a default") {
  const Inputs inputs{{"x", tensor({1}, {3})}};
  CHECK(all_of(evaluated("a = 2; a * x", inputs))[0].value == 6);
  CHECK(all_of(evaluated("a = 2; a * x", inputs, {}, {{"a", "-5"}}))[0].value == -15);
}

namespace {

/// A kernel that computes a formula node by node in float32, sums in an order of its own, functions to two units.
class Kernel {
 public:
  Kernel(const Formula& formula, const Inputs& inputs, std::uint64_t seed)
      : formula_(formula), inputs_(inputs), random_(seed) {}

  float of(std::size_t node, std::uint64_t index) {
    const auto key = std::pair(node, index);
    if (const auto known = known_.find(key); known != known_.end()) return known->second;
    const float value = computed(formula_.nodes[node], index);
    known_[key] = value;
    return value;
  }

 private:
  float operand(const Node& n, std::size_t which, std::uint64_t index) {
    const Extents& own = formula_.nodes[n.operands[which]].shape;
    std::uint64_t place = 0, step = 1;
    for (std::size_t i = 0; i < n.shape.size(); ++i) {
      const std::uint64_t at = index % n.shape[n.shape.size() - 1 - i];
      index /= n.shape[n.shape.size() - 1 - i];
      if (i >= own.size()) continue;
      if (own[own.size() - 1 - i] != 1) place += at * step;
      step *= own[own.size() - 1 - i];
    }
    return of(n.operands[which], place);
  }

  float computed(const Node& n, std::uint64_t index) {
    switch (n.op) {
      case Op::input: return inputs_[n.index].second.elements[static_cast<std::size_t>(index)];
      case Op::number: return std::stof(n.decimal);
      case Op::sum:
      case Op::mean:
      case Op::greatest:
      case Op::least: return reduced(n, index);
      case Op::reshape: return of(n.operands[0], index);
      default: break;
    }
    const float x = operand(n, 0, index), y = n.operands.size() > 1 ? operand(n, 1, index) : 0;
    switch (n.op) {
      case Op::add: return x + y;
      case Op::subtract: return x - y;
      case Op::multiply: return x * y;
      case Op::divide: return off_by(x / y);
      case Op::negate: return -x;
      case Op::absolute: return std::fabs(x);
      case Op::sign: return x > 0 ? 1.0F : x < 0 ? -1.0F : x;
      case Op::maximum: return std::isnan(x) || std::isnan(y) ? std::nanf("") : std::max(x, y);
      case Op::minimum: return std::isnan(x) || std::isnan(y) ? std::nanf("") : std::min(x, y);
      case Op::function: {
        const double value = n.function->value(static_cast<double>(x));
        return n.function->name == "relu" ? static_cast<float>(value) : off_by(static_cast<float>(value));
      }
      case Op::rounded: return static_cast<float>(emu::round_to(n.format, static_cast<double>(x), n.rounding).value);
      case Op::less: return x < y ? 1.0F : 0.0F;
      case Op::equal: return x == y ? 1.0F : 0.0F;
      case Op::both: return x != 0 && y != 0 ? 1.0F : 0.0F;
      case Op::opposite: return x == 0 ? 1.0F : 0.0F;
      case Op::choose: return x != 0 ? y : operand(n, 2, index);
      default: FAIL("no such operation here"); return 0;
    }
  }

  /// One unit in the last place up or down, or none.
  float off_by(float x) {
    const std::uint64_t draw = random_() % 3;
    return draw == 0 || x == 0 || std::isinf(x) ? x : std::nextafterf(x, draw == 1 ? HUGE_VALF : -HUGE_VALF);
  }

  float reduced(const Node& n, std::uint64_t index) {
    const std::uint64_t before = index / n.behind, behind = index % n.behind;
    std::vector<float> terms;
    for (std::uint64_t k = 0; k < n.along; ++k) terms.push_back(of(n.operands[0], (before * n.along + k) * n.behind + behind));
    if (n.op == Op::greatest) return *std::ranges::max_element(terms);
    if (n.op == Op::least) return *std::ranges::min_element(terms);
    std::shuffle(terms.begin(), terms.end(), random_);
    while (terms.size() > 1) {  // any two at a time
      const std::size_t at = random_() % (terms.size() - 1);
      terms[at] += terms.back();
      terms.pop_back();
    }
    return n.op == Op::mean ? terms[0] / static_cast<float>(n.along) : terms[0];
  }

  const Formula& formula_;
  const Inputs& inputs_;
  std::mt19937_64 random_;
  std::map<std::pair<std::size_t, std::uint64_t>, float> known_;
};

/// A formula of three tensors, drawn.
class Drawn {
 public:
  explicit Drawn(std::uint64_t seed) : random_(seed) {}

  std::string text(int depth) {
    if (depth == 0) return one_of({"x", "v", "c", "x", "0.1", "3", "x * v"});
    const std::string a = text(depth - 1);
    switch (random_() % 8) {
      case 0: {
        const std::string sign = one_of({" + ", " - ", " * ", " / ", " < "});
        return "(" + a + sign + text(depth - 1) + ")";
      }
      case 1: {
        const std::string f =
            one_of({"exp",   "tanh", "sigmoid", "silu",   "gelu", "gelu_tanh", "erf",  "softplus", "relu", "sin", "atan",
                    "expm1", "abs",  "cos",     "square", "sinh", "cosh",      "exp2", "asinh",    "erfc", "sign"});
        return f + "(" + a + ")";
      }
      case 2: {
        const std::string f = one_of({"sqrt", "log", "rsqrt", "log1p", "log2", "cbrt", "rcp"});
        const std::string power = one_of({"", "", "", " ** -2", " ** -3"});
        return f + "((abs(" + a + ") + 0.5)" + power + ")";
      }
      case 3: {
        const std::string f = one_of({"sum", "mean", "max", "min"});
        const std::string axis = one_of({"", ", axis=-1, keepdims=true", ", axis=0, keepdims=true", ", axis=(1, 0)"});
        return f + "(x * 0 + " + a + axis + ")";
      }
      case 4: {
        const std::string condition = text(depth - 1);
        return "where(" + condition + " < " + a + ", " + a + ", " + text(depth - 1) + ")";
      }
      case 5: return one_of({"bf16", "fp16", "e4m3", "e5m2"}) + "(" + a + ")";
      case 6: {
        const std::string f = one_of({"maximum", "minimum"});
        return f + "(" + a + ", " + text(depth - 1) + ")";
      }
      default: return "-(" + a + ")";
    }
  }
  float number() {
    const double significand = 1.0 + static_cast<double>(random_() % 4096) / 4096;
    const double size = std::ldexp(significand, static_cast<int>(random_() % 8) - 5);
    return static_cast<float>(random_() % 2 == 0 ? size : -size);
  }
  Values values(Extents shape) {
    Values out{std::move(shape), {}};
    for (std::uint64_t i = 0; i < element_count(out.shape); ++i) out.elements.push_back(number());
    return out;
  }

 private:
  std::string one_of(const std::vector<std::string>& words) { return words[random_() % words.size()]; }
  std::mt19937_64 random_;
};

}  // namespace

TEST_CASE("drawn formulas: 200 digits lie within the radius, and kernels in float32 within the error") {
  std::size_t kernels = 0, sharp = 0;
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    Drawn drawn(seed);
    const std::string text = drawn.text(static_cast<int>(seed % 5)) + " + 0 * (x + v + c)";
    const Inputs inputs{{"x", drawn.values({3, 5})}, {"v", drawn.values({5})}, {"c", drawn.values({3, 1})}};
    const Evaluation evaluation = evaluated(text, inputs);
    const std::vector<Approximate> all = all_of(evaluation);
    Kernel kernel(evaluation.formula(), inputs, seed);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const Approximate& x = all[i];
      const Real exact = evaluation.precise(i);
      const float computed = kernel.of(evaluation.formula().nodes.size() - 1, i);
      CAPTURE(seed, text, i, x.value, x.radius, x.error, computed);
      if (!std::isfinite(x.value)) continue;
      REQUIRE(isfinite(exact));
      CHECK(abs(exact - x.value) <= x.radius);
      if (includes(x.overflow, overflow_of(static_cast<double>(computed)))) continue;
      REQUIRE(std::isfinite(computed));
      CHECK(abs(exact - static_cast<double>(computed)) <= x.error);
      ++kernels;
      if (x.error < 1e-3 * std::fabs(x.value)) ++sharp;
    }
  }
  CHECK(kernels > 15000);
  CHECK(sharp > kernels / 2);  // the bounds say something
}
