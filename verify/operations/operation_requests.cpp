// SPDX-License-Identifier: Apache-2.0
// From an operation's request to its open files and what is expected of its output.
#include "verify/operations/operation_requests.hpp"

#include <cstdint>
#include <set>
#include <string>
#include <utility>

#include "emu/bulk.hpp"
#include "emu/catalogue.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"
#include "emu/visible.hpp"
#include "products/operand.hpp"
#include "verify/expressions/expression.hpp"
#include "verify/expressions/known_formulas.hpp"
#include "verify/expressions/rounding_points.hpp"
#include "verify/expressions/syntax.hpp"
#include "verify/operations/elementwise.hpp"
#include "verify/operations/layer_norm.hpp"
#include "verify/operations/making.hpp"
#include "verify/operations/products.hpp"
#include "verify/operations/rows.hpp"
#include "verify/operations/softmax.hpp"

namespace ulpscope::verify {
namespace {

Axis parse_axis(const std::string& word) {
  if (word == "last") return Axis::last;
  if (word == "all") return Axis::all;
  throw Error("--axis '" + word + "': give last or all");
}

Variance parse_variance(const std::string& word) {
  if (word == "centred") return Variance::centred;
  if (word == "two_pass") return Variance::two_pass;
  if (word == "one_pass") return Variance::one_pass;
  throw Error("--variance '" + word + "': give centred, two_pass or one_pass");
}

/// What stands before and behind the first `=` of an option's value.
std::pair<std::string, std::string> named(const char* option, const std::string& word) {
  const std::size_t equals = word.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == word.size())
    throw Error(std::string(option) + " '" + word + "': give NAME=VALUE");
  return {word.substr(0, equals), word.substr(equals + 1)};
}

ResolvedCheck resolve_norm(const RmsNormRequest& request, Norm norm, Variance variance) {
  Making making(request, norm == Norm::layer ? "layer_norm" : "rms_norm", RandomRoundings::derived);
  Values x = making.read("X", request.x);
  auto weight = making.read_if_given("weight", request.weight), bias = making.read_if_given("bias", request.bias);
  return making.made(expect_layer_norm({.x = std::move(x),
                                        .weight = std::move(weight),
                                        .bias = std::move(bias),
                                        .eps = request.eps,
                                        .norm = norm,
                                        .variance = variance,
                                        .arithmetic = request.arithmetic(),
                                        .normalized = format_if_given(request.normalized),
                                        .false_alarm = request.output.false_alarm,
                                        .last = making.last()}));
}

}  // namespace

ResolvedCheck resolve(const SumRequest& request) {
  Making making(request, "sum");
  Values x = making.read("X", request.x);
  return making.made(expect_sum(
      {.x = std::move(x), .axis = parse_axis(request.axis), .arithmetic = request.arithmetic(), .last = making.last()}));
}

ResolvedCheck resolve(const DotRequest& request) {
  Making making(request, "dot");
  Values a = making.read("A", request.a), b = making.read("B", request.b);
  return making.made(expect_dot({.a = std::move(a),
                                 .b = std::move(b),
                                 .axis = parse_axis(request.axis),
                                 .arithmetic = request.arithmetic(),
                                 .last = making.last()}));
}

ResolvedCheck resolve(const ConvRequest& request) {
  Making making(request, "conv");
  Values x = making.read("X", request.x), w = making.read("W", request.w);
  auto bias = making.read_if_given("bias", request.bias);
  return making.made(expect_convolution({.x = std::move(x),
                                         .weight = std::move(w),
                                         .bias = std::move(bias),
                                         .stride = request.stride,
                                         .padding = request.padding,
                                         .dilation = request.dilation,
                                         .groups = request.groups,
                                         .arithmetic = request.arithmetic(),
                                         .last = making.last()}));
}

ResolvedCheck resolve(const CastRequest& request) {
  Making making(request, "cast");
  Values x = making.read("X", request.x);
  return making.made(expect_conversion({.x = std::move(x), .last = making.last()}));
}

ResolvedCheck resolve(const ElementwiseRequest& request) {
  Making making(request, request.function);
  Values x = making.read("X", request.x);
  KernelArithmetic arithmetic = request.arithmetic();
  arithmetic.function_abs = request.function_abs;
  return making.made(
      expect_elementwise({.function = request.function, .x = std::move(x), .arithmetic = arithmetic, .last = making.last()}));
}

ResolvedCheck resolve(const SoftmaxRequest& request) {
  Making making(request, "softmax", RandomRoundings::derived);
  Values x = making.read("X", request.x);
  return making.made(expect_softmax({.x = std::move(x),
                                     .arithmetic = request.arithmetic(),
                                     .last = making.last(),
                                     .block = request.block,
                                     .shifted = format_if_given(request.shifted),
                                     .exponentials = format_if_given(request.exponentials),
                                     .sums = format_if_given(request.sums),
                                     .fully_masked = parse_fully_masked(request.fully_masked),
                                     .false_alarm = request.output.false_alarm}));
}

namespace {

Expression expression_of(const ExprRequest& request, Making& making) {
  Expression expression{.formula = formula_text(request.formula),
                        .arithmetic = request.arithmetic(),
                        .last = making.last(),
                        .threads = request.threads};
  const std::set<std::string> indices = names_of_indices(parse_formula(expression.formula));
  for (const std::string& word : request.input) {
    const auto [name, file] = named("--input", word);
    expression.inputs.emplace_back(name, making.read_named(name, file, indices.contains(name)));
  }
  for (const std::string& word : request.let) {
    const auto [name, number] = named("--let", word);
    const bool is_decimal = number.find_first_not_of("+-.0123456789eE") == std::string::npos;
    if (!is_decimal || !requests::read_real(number, {}).empty()) throw Error("--let '" + word + "': give NAME=NUMBER");
    expression.numbers.push_back({name, number});
  }
  making.say("formula  " + expression.formula);
  return expression;
}

}  // namespace

ResolvedCheck resolve(const ExprRequest& request) {
  Making making(request, "expr");
  return making.made(expect_expression(expression_of(request, making)));
}

studies::StudyResult run(const ExplainExprRequest& request, const studies::Progress&) {
  Making making(request.claim, "expr");
  const Expression expression = expression_of(request.claim, making);
  std::vector<RoundingPoint> points;
  for (const std::string& word : request.points) points.push_back(parse_rounding_point(word));
  const RoundingSearch search = search_rounding_points(expression, making.output(), points);
  const bool holds = search.holds() && search.found() == nullptr, is_vacuous = search.is_vacuous();
  const std::string sentence = emu::visible(request.claim.output.output) + ": " + sentence_of(search);
  studies::StudyResult study;
  study.tables.push_back(table_of(search));
  study.findings.push_back({.what = "verdict",
                            .where = request.claim.output.output,
                            .value = is_vacuous                  ? "vacuous"
                                     : holds                     ? "holds"
                                     : search.found() != nullptr ? "explained"
                                                                 : "unexplained",
                            .threshold = "holds",
                            .source = {},
                            .severity = is_vacuous ? reports::Severity::warning
                                        : holds    ? reports::Severity::good
                                                   : reports::Severity::bad,
                            .sentence = sentence});
  study.text = sentence + ".\n";
  study.outcome = is_vacuous ? studies::StudyOutcome::vacuous
                  : holds    ? studies::StudyOutcome::done
                             : studies::StudyOutcome::failed;
  return study;
}

studies::Work work_of(const ExplainExprRequest& request) {
  return {.operations = tensors::open_one(request.claim.output.output, {}).count(), .rows = 16};
}

ResolvedCheck resolve(const RmsNormRequest& request) { return resolve_norm(request, Norm::rms, Variance::centred); }

ResolvedCheck resolve(const LayerNormRequest& request) {
  return resolve_norm(request, Norm::layer, parse_variance(request.variance));
}

}  // namespace ulpscope::verify
