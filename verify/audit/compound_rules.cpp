// SPDX-License-Identifier: Apache-2.0
// Joins rules, and holds errors against those of the product's own engine.
#include "verify/audit/compound_rules.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "emu/error.hpp"
#include "products/product.hpp"
#include "verify/audit/rule_kinds.hpp"

namespace ulpscope::verify {
namespace {

const std::array<RuleParameter, 2> baseline_parameters{RuleParameter{.key = "factor", .value = 2},
                                                       RuleParameter{.key = "atol", .value = 0}};

std::vector<double> own_output(const products::Product& product) {
  const tensors::Tensor d = products::multiply(product);
  std::vector<double> values(static_cast<std::size_t>(d.count()));
  d.source->read(0, std::span(values));
  return values;
}

}  // namespace

Rule joined(std::string word, std::vector<Rule> rules, Joined how) {
  if (rules.size() == 1) return std::move(rules.front());
  return {std::move(word), [rules = std::move(rules), how](const RuleProblem& problem) -> RuleJudge {
            std::vector<RuleJudge> judges;
            for (const Rule& rule : rules) judges.push_back(rule.prepare(problem));
            return [judges, how](auto reference, auto output) {
              std::optional<RuleVerdict> decisive;
              for (const RuleJudge& judge : judges) {
                RuleVerdict verdict = judge(reference, output);
                const bool decides = !verdict.broken.empty() || verdict.passes == (how == Joined::any);
                if (decides) return verdict;
                if (!decisive) decisive = std::move(verdict);
              }
              return *decisive;
            };
          }};
}

std::optional<std::vector<double>> rule_numbers(const std::vector<RuleArgument>& arguments, const RuleProblem& problem) {
  const bool grows = std::ranges::any_of(arguments, [](const RuleArgument& a) { return a.factor != LengthFactor::one; });
  if (grows && problem.product == nullptr) return std::nullopt;
  double k = 1;
  if (grows) k = static_cast<double>(products::matmul_shape(problem.product->a.input, problem.product->b.input).k);
  std::vector<double> numbers;
  for (const RuleArgument& argument : arguments) numbers.push_back(argument.at(k));
  return numbers;
}

RuleJudge without_verdict(std::string why) {
  return [why = std::move(why)](std::span<const double>, std::span<const double>) {
    RuleVerdict verdict;
    verdict.broken = why;
    return verdict;
  };
}

RuleJudge without_product(std::string_view word, const std::string& what, const RuleProblem& problem) {
  if (problem.check != nullptr)
    throw Error("rule '" + std::string(word) + "': asks for " + what + ", which audits of matmul alone have");
  return without_verdict("asks for " + what);
}

std::string baseline_name() { return "baseline"; }
std::string baseline_form() { return rule_form(baseline_name(), baseline_parameters); }

Rule baseline_rule(std::string_view word) {
  const std::vector<RuleArgument> arguments = read_rule_arguments(baseline_name(), baseline_parameters, word);
  return {std::string(word), [arguments, word = std::string(word)](const RuleProblem& problem) -> RuleJudge {
            const std::optional<std::vector<double>> numbers = rule_numbers(arguments, problem);
            if (problem.product == nullptr)
              return without_product(word, problem.check == nullptr ? "the operands" : "an engine", problem);
            if (problem.product->engine.empty()) return without_verdict("asks for an engine");
            return [numbers = *numbers, baseline = own_output(*problem.product)](auto reference, auto output) {
              return judge_baseline(numbers[0], numbers[1], baseline, reference, output);
            };
          }};
}

}  // namespace ulpscope::verify
