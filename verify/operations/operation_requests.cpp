// SPDX-License-Identifier: Apache-2.0
// From an operation's request to its open files and what is expected of its output.
#include "verify/operations/operation_requests.hpp"

#include <cstdint>
#include <utility>

#include "emu/catalogue.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"
#include "products/operand.hpp"
#include "verify/expressions/expression.hpp"
#include "verify/expressions/rounding_points.hpp"
#include "verify/operations/attention.hpp"
#include "verify/operations/elementwise.hpp"
#include "verify/operations/layer_norm.hpp"
#include "verify/operations/products.hpp"
#include "verify/operations/rows.hpp"
#include "verify/operations/softmax.hpp"

namespace ulpscope::verify {
namespace {

/// Whether there is a bound for random roundings.
enum class RandomRoundings : std::uint8_t { derived, not_derived };

/// A check in the making: the output is open, inputs are read one by one.
class Making {
 public:
  Making(const OperationRequest& request, std::string operation, RandomRoundings random = RandomRoundings::not_derived)
      : request_(request) {
    check_.operation = std::move(operation);
    if (request.output.against == "engine")
      throw Error("--against engine: engines are models of matrix products; " + check_.operation +
                  " is judged against exact or a FILE");
    if (request.output.false_alarm && random == RandomRoundings::not_derived)
      throw Error("--false-alarm: no probabilistic bound is derived for " + check_.operation);
    const auto out = request.out.empty() ? std::nullopt : std::optional(requests::parse_format(request.out));
    check_.output = request.output.open(request.output.output, out);
    if (!out && !check_.output.dtype.format)
      throw Error(check_.output.label + " holds integers: say with --out which format the output has");
    check_.last = request.output.last_rounding(out ? *out : *check_.output.dtype.format);
  }

  LastRounding last() const { return check_.last; }
  const tensors::Tensor& output() const { return check_.output; }

  /// A tensor, rounded to --in or left in its own format. `prefix` stands before the word in its argument.
  Values read(const std::string& name, const std::string& word, const std::string& prefix = {}) {
    const tensors::Tensor tensor = tensors::open_one(word, request_.reading.options());
    const products::InputRounding rounding = products::input_rounding(
        request_.in.empty() ? tensor.dtype.format.value_or(emu::float32) : requests::parse_format(request_.in));
    check_.inputs.push_back({word, tensor, prefix});
    check_.heading +=
        name + "  " + word + " (" + words_of_shape(tensor.shape) + "), " + emu::format_name(rounding.format) + "\n";
    return read_values(tensor, rounding);
  }

  std::optional<Values> read_if_given(const std::string& name, const std::string& word) {
    if (word.empty()) return std::nullopt;
    return read(name, word);
  }

  void say(const std::string& line) { check_.heading += line + "\n"; }

  ResolvedCheck made(std::unique_ptr<Expectation> expectation) {
    check_.expectation = std::move(expectation);
    check_.heading += check_.operation + "  " + words_of_shape(check_.expectation->shape()) + ", out " +
                      emu::format_name(check_.expectation->out()) + "\n";
    if (request_.out.empty()) check_.stated = {"--out", emu::format_name(check_.last.out)};
    return std::move(check_);
  }

 private:
  const OperationRequest& request_;
  ResolvedCheck check_;
};

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

Causal parse_causal(const std::string& word) {
  if (word == "none") return Causal::none;
  if (word == "top_left") return Causal::top_left;
  if (word == "bottom_right") return Causal::bottom_right;
  throw Error("--causal '" + word + "': give none, top_left or bottom_right");
}

FullyMasked parse_fully_masked(const std::string& word) {
  if (word.empty()) return FullyMasked::undeclared;
  if (word == "nan") return FullyMasked::nan;
  if (word == "zero") return FullyMasked::zero;
  throw Error("--fully-masked '" + word + "': give nan or zero");
}

/// What stands before and behind the first `=` of an option's value.
std::pair<std::string, std::string> named(const char* option, const std::string& word) {
  const std::size_t equals = word.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == word.size())
    throw Error(std::string(option) + " '" + word + "': give NAME=VALUE");
  return {word.substr(0, equals), word.substr(equals + 1)};
}

std::optional<emu::Format> format_if_given(const std::string& word) {
  return word.empty() ? std::nullopt : std::optional(requests::parse_format(word));
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
                                     .false_alarm = request.output.false_alarm}));
}

namespace {

Expression expression_of(const ExprRequest& request, Making& making) {
  Expression expression{.formula = formula_text(request.formula),
                        .arithmetic = request.arithmetic(),
                        .last = making.last(),
                        .threads = request.threads};
  for (const std::string& word : request.input) {
    const auto [name, file] = named("--input", word);
    expression.inputs.emplace_back(name, making.read(name, file, name + "="));
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
  std::vector<emu::Format> formats;
  for (const std::string& word : request.points) formats.push_back(requests::parse_format(word));
  const RoundingSearch search = search_rounding_points(expression, making.output(), formats);
  const bool holds = search.holds() && search.found() == nullptr;
  const std::string sentence = request.claim.output.output + ": " + sentence_of(search);
  studies::StudyResult study;
  study.tables.push_back(table_of(search));
  study.findings.push_back({.what = "verdict",
                            .where = request.claim.output.output,
                            .value = holds                       ? "holds"
                                     : search.found() != nullptr ? "explained"
                                                                 : "unexplained",
                            .threshold = "holds",
                            .source = {},
                            .severity = holds ? reports::Severity::good : reports::Severity::bad,
                            .sentence = sentence});
  study.text = sentence + ".\n";
  study.outcome = holds ? studies::StudyOutcome::done : studies::StudyOutcome::failed;
  return study;
}

studies::Work work_of(const ExplainExprRequest& request) {
  return {.operations = tensors::open_one(request.claim.output.output, {}).count(), .rows = 16};
}

ResolvedCheck resolve(const RmsNormRequest& request) { return resolve_norm(request, Norm::rms, Variance::centred); }

ResolvedCheck resolve(const LayerNormRequest& request) {
  return resolve_norm(request, Norm::layer, parse_variance(request.variance));
}

ResolvedCheck resolve(const AttentionRequest& request) {
  Making making(request, "attention");
  Values q = making.read("Q", request.q), k = making.read("K", request.k), v = making.read("V", request.v);
  auto mask = making.read_if_given("mask", request.mask);
  return making.made(expect_attention({.q = std::move(q),
                                       .k = std::move(k),
                                       .v = std::move(v),
                                       .mask = std::move(mask),
                                       .scale = request.scale,
                                       .causal = parse_causal(request.causal),
                                       .arithmetic = request.arithmetic(),
                                       .scores = format_if_given(request.scores),
                                       .probabilities = format_if_given(request.probabilities),
                                       .fully_masked = parse_fully_masked(request.fully_masked),
                                       .block = request.block,
                                       .last = making.last()}));
}

}  // namespace ulpscope::verify
