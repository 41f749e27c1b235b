// SPDX-License-Identifier: Apache-2.0
// The C++ interface of operations beside matmul: outputs computed here in float64 pass, those with a fault do not, and each
// part of a check reaches the request.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "emu/encode.hpp"
#include "emu/error.hpp"
#include "verify/catch2.hpp"
#include "verify/check_operations.hpp"
#include "verify/further_names.hpp"

namespace {

using namespace ulpscope;
using Catch::Matchers::ContainsSubstring;
using verify::check_output;
using verify::OperationCheck;
using verify::Outcome;

constexpr std::size_t rows = 5, width = 24;

/// Numbers in [-2, 2) of few bits, so that every format here has them.
std::vector<float> numbers(std::size_t count, std::uint64_t seed) {
  std::vector<float> values(count);
  for (float& x : values) {
    seed = seed * 48271 % 2147483647;
    x = static_cast<float>(seed % 256) / 64 - 2;
  }
  return values;
}

std::vector<float> rounded(const std::vector<double>& values) { return {values.begin(), values.end()}; }

/// The rows of x, each by itself.
template <class Act>
std::vector<float> by_rows(const std::vector<float>& x, std::size_t length, Act act) {
  std::vector<double> out;
  for (std::size_t first = 0; first < x.size(); first += length) {
    std::vector<double> row(x.begin() + static_cast<std::ptrdiff_t>(first),
                            x.begin() + static_cast<std::ptrdiff_t>(first + length));
    act(row);
    out.insert(out.end(), row.begin(), row.end());
  }
  return rounded(out);
}

void exponentials_of(std::vector<double>& row) {
  double sum = 0;
  for (double& x : row) sum += x = std::exp(x);
  for (double& x : row) x /= sum;
}

void norm_of(std::vector<double>& row, double eps) {
  const double squares = std::inner_product(row.begin(), row.end(), row.begin(), 0.0);
  for (double& x : row) x /= std::sqrt(squares / static_cast<double>(row.size()) + eps);
}

std::string refusal_of(const OperationCheck& check, const std::vector<float>& output) {
  try {
    static_cast<void>(check_output(check, output));
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

const std::vector<float> x = numbers(rows * width, 1);

}  // namespace

TEST_CASE("a softmax in memory is judged as the command judges it", "[verify]") {
  std::vector<float> y = by_rows(x, width, exponentials_of);
  const OperationCheck check{.operation = "softmax", .inputs = {{"x", x, {rows, width}}}};
  const verify::CheckReport right = check_output(check, y);
  CHECK(right.passes());
  CHECK_THAT(right.text, ContainsSubstring("X  x (5x24), float32\n") && ContainsSubstring("pass: "));
  CHECK_THAT(verify::Output(y), verify::IsResultOf(check));
  y[7] *= 1.001F;
  const verify::CheckReport wrong = check_output(check, y);
  CHECK(wrong.outcome == Outcome::fail);
  CHECK_THAT(wrong.text, ContainsSubstring("1 of 120 elements") || ContainsSubstring("FAIL: 1 of 120"));
}

TEST_CASE("options and optional inputs reach the request", "[verify]") {
  const std::vector<float> weight = numbers(width, 3);
  for (const double eps : {1e-5, 0.25}) {
    std::vector<float> y = by_rows(x, width, [eps](std::vector<double>& row) { norm_of(row, eps); });
    for (std::size_t i = 0; i < y.size(); ++i) y[i] *= weight[i % width];
    OperationCheck check{.operation = "rms_norm",
                         .inputs = {{"weight", weight, {width}}, {"x", x, {rows, width}}},
                         .options = {{"eps", std::to_string(eps)}, {"sum_depth", "24"}}};
    CHECK(check_output(check, y).passes());
    check.options["eps"] = "0.5";
    CHECK(check_output(check, y).outcome == Outcome::fail);
    check.options.erase("eps");
    CHECK(check_output(check, y).passes() == (eps == 1e-5));
    check.inputs.erase(check.inputs.begin());
    CHECK(check_output(check, y).outcome == Outcome::fail);
  }
}

TEST_CASE("the output's format and the inputs' are declared", "[verify]") {
  std::vector<float> y(x.size());
  for (std::size_t i = 0; i < y.size(); ++i)
    y[i] = static_cast<float>(emu::round_to(emu::bf16, std::exp(static_cast<double>(x[i]))).value);
  OperationCheck check{.operation = "elementwise",
                       .inputs = {{"x", x, {rows, width}, emu::bf16}},
                       .options = {{"function", "exp"}},
                       .out = emu::bf16};
  const verify::CheckReport report = check_output(check, y);
  CHECK(report.passes());
  CHECK_THAT(report.text, ContainsSubstring("X  x (5x24), bfloat16"));
  check.out = emu::float32;
  CHECK(check_output(check, y).outcome == Outcome::fail);
  check.inputs[0].format = emu::float8_e5m2;
  CHECK_THAT(refusal_of(check, y), ContainsSubstring("is no number of float8_e5m2"));
}

TEST_CASE("integers say where groups end, and what a mask lets through", "[verify]") {
  const std::vector<float> a = numbers(24, 5), b = numbers(24, 6);
  std::vector<std::int64_t> ends{2, 6};
  std::vector<double> d;
  for (std::size_t i = 0; i < 6; ++i)
    for (std::size_t j = 0; j < 3; ++j) {
      const std::size_t group = i < 2 ? 0 : 1;
      double sum = 0;
      for (std::size_t k = 0; k < 4; ++k)
        sum += static_cast<double>(a[i * 4 + k]) * static_cast<double>(b[(group * 4 + k) * 3 + j]);
      d.push_back(sum);
    }
  const OperationCheck check{
      .operation = "grouped_matmul",
      .inputs = {{"A", a, {6, 4}}, {"B", b, {2, 4, 3}}, {.role = "offsets", .shape = {2}, .integers = ends}}};
  CHECK(check_output(check, rounded(d)).passes());
  ends[0] = 3;
  CHECK(check_output(check, rounded(d)).outcome == Outcome::fail);
}

TEST_CASE("a kernel's second output is judged beside the first", "[verify]") {
  constexpr std::size_t length = 4, head = 8;
  const std::vector<float> q = numbers(length * head, 7), k = numbers(length * head, 8), v = numbers(length * head, 9);
  std::vector<std::int64_t> seen(length * length);
  std::vector<double> y, lse;
  for (std::size_t i = 0; i < length; ++i) {
    std::vector<double> e(length);
    for (std::size_t j = 0; j < length; ++j) {
      double score = 0;
      for (std::size_t c = 0; c < head; ++c)
        score += static_cast<double>(q[i * head + c]) * static_cast<double>(k[j * head + c]);
      seen[i * length + j] = j != 1 || i == 1 ? 1 : 0;
      e[j] = seen[i * length + j] == 1 ? std::exp(score / std::sqrt(static_cast<double>(head))) : 0;
    }
    const double sum = std::accumulate(e.begin(), e.end(), 0.0);
    lse.push_back(std::log(sum));
    for (std::size_t c = 0; c < head; ++c) {
      double value = 0;
      for (std::size_t j = 0; j < length; ++j) value += e[j] * static_cast<double>(v[j * head + c]);
      y.push_back(value / sum);
    }
  }
  std::vector<float> sums = rounded(lse);
  OperationCheck check{.operation = "attention",
                       .inputs = {{"q", q, {length, head}},
                                  {"k", k, {length, head}},
                                  {"v", v, {length, head}},
                                  {.role = "mask", .shape = {length, length}, .integers = seen}},
                       .further = {{"lse", sums, {length}}}};
  const verify::CheckReport right = check_output(check, rounded(y));
  CHECK(right.passes());
  CHECK_THAT(right.text, ContainsSubstring("\nlse  lse (4), float32\n"));
  sums[2] += 0.01F;
  CHECK(check_output(check, rounded(y)).outcome == Outcome::fail);
  sums[2] -= 0.01F;
  seen[3] = 0;
  CHECK(check_output(check, rounded(y)).outcome == Outcome::fail);
}

TEST_CASE("the inputs of a formula are its names", "[verify]") {
  const std::vector<float> g = numbers(30, 11), u = numbers(30, 12);
  std::vector<double> y;
  for (std::size_t i = 0; i < 30; ++i)
    y.push_back(static_cast<double>(g[i]) / (1 + std::exp(-static_cast<double>(g[i]))) * static_cast<double>(u[i]));
  const OperationCheck check{
      .operation = "expr", .inputs = {{"u", u, {5, 6}}, {"g", g, {5, 6}}}, .options = {{"formula", "silu(g) * u"}}};
  CHECK(check_output(check, rounded(y)).passes());
  CHECK_THAT(refusal_of({.operation = "expr", .inputs = {{"g", g, {5, 6}}}, .options = check.options}, rounded(y)),
             ContainsSubstring("'u' is no input; there are g"));
}

TEST_CASE("whatever is wrong with a check of an operation is said in its own words", "[verify]") {
  const std::vector<float> y(x.size());
  const OperationCheck good{.operation = "rms_norm", .inputs = {{"x", x, {rows, width}}}};
  const auto with = [&](auto change) {
    OperationCheck check = good;
    change(check);
    return refusal_of(check, y);
  };
  CHECK(with([](auto&) {}).empty());
  CHECK(with([](auto& c) { c.operation = "rmsnorm"; }).starts_with("unknown operation 'rmsnorm'; nearest: rms_norm"));
  CHECK(with([](auto& c) { c.inputs.clear(); }) == "rms_norm: x is missing");
  CHECK(with([](auto& c) { c.inputs.push_back(c.inputs[0]); }) == "input 'x' is given twice");
  CHECK(with([](auto& c) { c.inputs[0].role = "y"; }) == "rms_norm has no input 'y'");
  CHECK(with([](auto& c) { c.inputs[0].shape = {4, 4}; }) == "x: 120 elements; 4x4 are 16");
  CHECK(with([](auto& c) { c.options["epsilon"] = "1"; }).starts_with("rms_norm has no option 'epsilon'; nearest: eps"));
  CHECK(with([](auto& c) { c.options["output"] = "d.npy"; }).starts_with("rms_norm has no option 'output'"));
  CHECK(with([](auto& c) { c.options["eps"] = "x"; }).starts_with("eps"));
  CHECK(with([](auto& c) { c.options["sum_depth"] = "-1"; }).starts_with("sum_depth"));
  CHECK(with([](auto& c) { c.options["against"] = "d.npy"; }) == "against 'd.npy': is judged against exact or engine");
  CHECK(with([](auto& c) { c.options["against"] = "engine"; }).starts_with("against engine: engines are"));
  CHECK_THAT(refusal_of(good, std::vector<float>(7)), ContainsSubstring("output: 7 elements; 5x24 are 120"));
  CHECK_THAT(with([](auto& c) { c.inputs.push_back({"weight", x, {rows, width}}); }), !ContainsSubstring("memory:"));
}

TEST_CASE("every operation of the table can be made, and says what is missing", "[verify]") {
  for (const verify::CheckOperation& operation : verify::check_operations()) {
    const std::unique_ptr<verify::Check> check = operation.make();
    CHECK(check->fields().has("output"));
    CHECK(verify::find_check_operation(operation.name).name == operation.name);
    for (const std::string& further : verify::further_names(operation.name)) CHECK(check->fields().has(further));
    CHECK((check->matmul() != nullptr) == (operation.name == "matmul"));
    if (operation.name != "generated") CHECK_FALSE(refusal_of({.operation = operation.name, .inputs = {}}, {}).empty());
  }
}
