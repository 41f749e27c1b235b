// SPDX-License-Identifier: Apache-2.0
// The table of rules: their words, their numbers, and what they compute.
#include "verify/audit/rules.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "emu/error.hpp"
#include "emu/names.hpp"
#include "emu/suggestions.hpp"
#include "verify/audit/bound_rule.hpp"
#include "verify/audit/rule_kinds.hpp"

namespace ulpscope::verify {
namespace {

constexpr const char* bound_word = "bound";

/// A number that a rule takes. Without a key it is all that stands after the colon.
struct Parameter {
  std::string_view key;
  double value;  ///< unless the word says otherwise
};

struct RuleKind {
  std::string_view name;
  std::vector<Parameter> parameters;
  TensorJudge (*make)(std::span<const double> numbers);
};

/// A judge that does not ask for the format.
template <class Judge>
TensorJudge of_values(Judge judge) {
  return [judge](emu::Format, std::span<const double> r, std::span<const double> o) { return judge(r, o); };
}

template <RuleVerdict (*judge)(double, std::span<const double>, std::span<const double>)>
TensorJudge with_limit(std::span<const double> numbers) {
  return of_values([limit = numbers[0]](auto r, auto o) { return judge(limit, r, o); });
}

TensorJudge make_assert_close(std::span<const double>) {
  return [](emu::Format out, auto r, auto o) { return judge_close(assert_close_tolerance(out), r, o); };
}
TensorJudge make_allclose(std::span<const double> numbers) {
  return of_values(
      [tolerance = CloseTolerance{numbers[0], numbers[1]}](auto r, auto o) { return judge_close(tolerance, r, o); });
}
TensorJudge make_matched_ratio(std::span<const double> numbers) {
  const MatchedRatio rule{{numbers[0], numbers[1]}, numbers[2]};
  return of_values([rule](auto r, auto o) { return judge_matched_ratio(rule, r, o); });
}
TensorJudge make_ulp(std::span<const double> numbers) {
  return [most = numbers[0]](emu::Format out, auto r, auto o) { return judge_ulp(out, most, r, o); };
}
TensorJudge make_bitwise(std::span<const double>) {
  return [](emu::Format out, auto r, auto o) { return judge_bitwise(out, r, o); };
}

/// A new rule about two tensors is a line here; one that needs the operands is a Rule made elsewhere, as is `program:` in cli/.
const std::vector<RuleKind>& kinds() {
  static const std::vector<RuleKind> all{
      {"assert_close", {}, make_assert_close},
      {"allclose", {{"rtol", 1e-5}, {"atol", 1e-8}}, make_allclose},  // the defaults of numpy.allclose
      {"calc_diff", {{"", 1e-3}}, with_limit<judge_calc_diff>},       // DeepGEMM, tests/test_core.py
      {"cosine", {{"", 0.999}}, with_limit<judge_cosine>},
      {"sqnr", {{"", 25}}, with_limit<judge_sqnr>},
      {"frobenius", {{"", 0.01}}, with_limit<judge_frobenius>},
      {"ulp", {{"", 1}}, make_ulp},
      // flashinfer, tests/moe/test_trtllm_gen_fused_moe.py, for fp8
      {"matched_ratio", {{"rtol", 0.85}, {"atol", 0.1}, {"ratio", 0.925}}, make_matched_ratio},
      {"bitwise", {}, make_bitwise},
  };
  return all;
}

std::string number_text(double value) {
  std::array<char, 32> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  return {text.data(), end};
}

std::string form_of(const RuleKind& kind) {
  std::string form(kind.name);
  for (const Parameter& parameter : kind.parameters) {
    form += &parameter == kind.parameters.data() ? ":" : ",";
    form += (parameter.key.empty() ? "" : std::string(parameter.key) + "=") + number_text(parameter.value);
  }
  return form;
}

const RuleKind& find_kind(std::string_view name) {
  std::vector<std::string> names{bound_word};
  for (const RuleKind& kind : kinds()) {
    if (kind.name == name) return kind;
    names.emplace_back(kind.name);
  }
  const std::string known = emu::comma_separated(emu::closest_words(name, names));
  throw Error("rule '" + std::string(name) + "' is not known; the closest are " + known);
}

[[noreturn]] void refuse(const RuleKind& kind, std::string_view word, const std::string& why) {
  throw Error("rule '" + std::string(word) + "': " + why + "; write " +
              (kind.parameters.empty() ? std::string(kind.name) + " alone" : "it like " + form_of(kind)));
}

double parse_number(const RuleKind& kind, std::string_view word, std::string_view digits) {
  double value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc{} || end != digits.data() + digits.size() || !std::isfinite(value))
    refuse(kind, word, "'" + std::string(digits) + "' is no number");
  // A limit of an elementwise rule, a share or a norm below 0 could not be met; cosine and sqnr may be negative.
  if (value < 0 && kind.name != "cosine" && kind.name != "sqnr")
    refuse(kind, word, "'" + std::string(digits) + "' is negative");
  return value;
}

/// Reads `key=number` or, for a rule of one nameless number, `number`.
void read_parameter(const RuleKind& kind, std::string_view word, std::string_view part, std::span<double> numbers) {
  const std::size_t equals = part.find('=');
  const std::string_view key = equals == std::string_view::npos ? std::string_view{} : part.substr(0, equals);
  const auto found =
      std::find_if(kind.parameters.begin(), kind.parameters.end(), [&](const Parameter& p) { return p.key == key; });
  if (found == kind.parameters.end()) refuse(kind, word, "'" + std::string(part) + "' is nothing that it takes");
  const std::string_view digits = equals == std::string_view::npos ? part : part.substr(equals + 1);
  numbers[static_cast<std::size_t>(found - kind.parameters.begin())] = parse_number(kind, word, digits);
}

}  // namespace

Rule rule_of(std::string word, TensorJudge judge) {
  return {std::move(word), [judge = std::move(judge)](const RuleProblem& problem) -> RuleJudge {
            return [judge, out = problem.out](auto reference, auto output) { return judge(out, reference, output); };
          }};
}

Rule parse_rule(std::string_view word) {
  if (word == bound_word) return bound_rule();
  const std::size_t colon = word.find(':');
  const RuleKind& kind = find_kind(word.substr(0, colon));
  std::vector<double> numbers;
  for (const Parameter& parameter : kind.parameters) numbers.push_back(parameter.value);
  std::string_view rest = colon == std::string_view::npos ? std::string_view{} : word.substr(colon + 1);
  if (colon != std::string_view::npos && rest.empty()) refuse(kind, word, "nothing follows the colon");
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    read_parameter(kind, word, rest.substr(0, comma), numbers);
    rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 1);
  }
  return rule_of(std::string(word), kind.make(numbers));
}

std::vector<std::string> rule_forms() {
  std::vector<std::string> forms{bound_word};
  for (const RuleKind& kind : kinds()) forms.push_back(form_of(kind));
  return forms;
}

}  // namespace ulpscope::verify
