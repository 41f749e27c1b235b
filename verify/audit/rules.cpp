// SPDX-License-Identifier: Apache-2.0
// The table of rules: their words, their numbers, and what they compute.
#include "verify/audit/rules.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "emu/error.hpp"
#include "emu/names.hpp"
#include "emu/suggestions.hpp"
#include "verify/audit/bound_rule.hpp"
#include "verify/audit/compound_rules.hpp"
#include "verify/audit/rule_kinds.hpp"
#include "verify/audit/rule_parameters.hpp"

namespace ulpscope::verify {
namespace {

constexpr const char* bound_word = "bound";

constexpr std::array<std::string_view, 5> nan_words{"fails", "equal", "passes", "zero", "skip"};
constexpr std::array<std::string_view, 4> relative_words{"reference", "output", "larger", "sum"};
constexpr std::array<std::string_view, 2> terms_words{"sum", "greater"};

/// The parameters of a rule by name, each with its number for this problem.
class RuleNumbers {
 public:
  RuleNumbers(std::span<const RuleParameter> parameters, std::vector<double> numbers)
      : parameters_(parameters), numbers_(std::move(numbers)) {}

  /// Of a parameter that the rule has.
  double operator[](std::string_view key) const {
    return numbers_[static_cast<std::size_t>(std::ranges::find(parameters_, key, &RuleParameter::key) - parameters_.begin())];
  }
  template <class Choice>
  Choice choice(std::string_view key) const {
    return static_cast<Choice>(static_cast<int>((*this)[key]));
  }
  NanMeans nan() const { return choice<NanMeans>("nan"); }

 private:
  std::span<const RuleParameter> parameters_;
  std::vector<double> numbers_;
};

struct RuleKind {
  std::string_view name;
  std::vector<RuleParameter> parameters;
  TensorJudge (*make)(const RuleNumbers& numbers);
};

RuleParameter nan_parameter() { return {.key = "nan", .shown = false, .words = nan_words}; }

/// `own`, and what every elementwise tolerance takes.
std::vector<RuleParameter> with_closeness(std::vector<RuleParameter> own, RelativeTo relative_to = RelativeTo::reference) {
  const auto has_ratio = std::ranges::any_of(own, [](const RuleParameter& p) { return p.key == "ratio"; });
  own.push_back({.key = "relative_to", .value = static_cast<double>(relative_to), .shown = false, .words = relative_words});
  own.push_back({.key = "terms", .shown = false, .words = terms_words});
  own.push_back({.key = "max", .shown = false});
  own.push_back({.key = "rms", .shown = false});
  own.push_back({.key = "ulp", .shown = false});
  if (!has_ratio) own.push_back({.key = "ratio", .value = 1, .shown = false});
  own.push_back(nan_parameter());
  return own;
}

Closeness closeness_of(const RuleNumbers& numbers) {
  return {.max = numbers["max"],
          .rms = numbers["rms"],
          .ulp = numbers["ulp"],
          .relative_to = numbers.choice<RelativeTo>("relative_to"),
          .terms = numbers.choice<Terms>("terms"),
          .nan = numbers.nan(),
          .ratio = numbers["ratio"]};
}

/// The judge asked about what is left when each NaN is 0, or without elements that are not finite in both.
TensorJudge with_nan(NanMeans nan, TensorJudge judge) {
  if (nan != NanMeans::zero && nan != NanMeans::skip) return judge;
  return [nan, judge = std::move(judge)](emu::Format out, std::span<const double> reference, std::span<const double> output) {
    std::vector<double> r, o;
    for (std::size_t i = 0; i < reference.size(); ++i) {
      if (nan == NanMeans::skip && !(std::isfinite(reference[i]) && std::isfinite(output[i]))) continue;
      r.push_back(std::isnan(reference[i]) ? 0 : reference[i]);
      o.push_back(std::isnan(output[i]) ? 0 : output[i]);
    }
    return r.empty() && !reference.empty() ? RuleVerdict{.passes = true} : judge(out, r, o);
  };
}

/// A rule about the whole tensor: one figure against one limit.
template <class Judge>
TensorJudge whole(const RuleNumbers& numbers, Judge judge) {
  return with_nan(numbers.nan(), [judge, nan = numbers.nan()](emu::Format, auto r, auto o) {
    RuleVerdict verdict = judge(r, o);
    if (nan == NanMeans::passes && std::isnan(verdict.figure)) verdict.passes = true, verdict.violations = 0;
    return verdict;
  });
}

template <RuleVerdict (*judge)(double, std::span<const double>, std::span<const double>)>
TensorJudge with_limit(const RuleNumbers& numbers) {
  return whole(numbers, [limit = numbers[""]](auto r, auto o) { return judge(limit, r, o); });
}

TensorJudge close_judge(const Closeness& rule) {
  return with_nan(rule.nan, [rule](emu::Format out, auto r, auto o) { return judge_closeness(rule, out, r, o); });
}
TensorJudge make_assert_close(const RuleNumbers& numbers) {
  return with_nan(numbers.nan(), [rule = closeness_of(numbers)](emu::Format out, auto r, auto o) {
    Closeness of_format = rule;
    of_format.tolerance = assert_close_tolerance(out);
    return judge_closeness(of_format, out, r, o);
  });
}
TensorJudge make_allclose(const RuleNumbers& numbers) {
  Closeness rule = closeness_of(numbers);
  rule.tolerance = {numbers["rtol"], numbers["atol"]};
  return close_judge(rule);
}
TensorJudge make_matched_ratio(const RuleNumbers& numbers) {
  Closeness rule = closeness_of(numbers);
  rule.tolerance = {numbers["rtol"], numbers["atol"]};
  rule.finite = rule.nan == NanMeans::fails;
  return close_judge(rule);
}
TensorJudge make_ulp(const RuleNumbers& numbers) {
  return with_nan(numbers.nan(), [most = numbers[""], ratio = numbers["ratio"], nan = numbers.nan()](
                                     emu::Format out, auto r, auto o) { return judge_ulp(out, most, ratio, nan, r, o); });
}
TensorJudge make_bitwise(const RuleNumbers&) {
  return [](emu::Format out, auto r, auto o) { return judge_bitwise(out, r, o); };
}
TensorJudge make_mean_rel(const RuleNumbers& numbers) {
  return whole(numbers, [limit = numbers[""], of = numbers.choice<RelativeTo>("relative_to")](auto r, auto o) {
    return judge_mean_rel(limit, of, r, o);
  });
}

/// A limit without a key, and what a NaN means.
std::vector<RuleParameter> limit_of(double value) { return {{.key = "", .value = value}, nan_parameter()}; }
std::vector<RuleParameter> signed_limit_of(double value) {
  return {{.key = "", .value = value, .may_be_negative = true}, nan_parameter()};
}

/// A new rule about two tensors is a line here; one that needs the operands is a Rule made elsewhere, as is `program:` in cli/.
const std::vector<RuleKind>& kinds() {
  static const std::vector<RuleKind> all{
      {"assert_close", with_closeness({}), make_assert_close},
      // the defaults of numpy.allclose
      {"allclose", with_closeness({{.key = "rtol", .value = 1e-5}, {.key = "atol", .value = 1e-8}}), make_allclose},
      // flashinfer, tests/moe/test_trtllm_gen_fused_moe.py, for fp8
      {"matched_ratio",
       with_closeness({{.key = "rtol", .value = 0.85}, {.key = "atol", .value = 0.1}, {.key = "ratio", .value = 0.925}},
                      RelativeTo::output),
       make_matched_ratio},
      {"ulp", {{.key = "", .value = 1}, {.key = "ratio", .value = 1, .shown = false}, nan_parameter()}, make_ulp},
      {"bitwise", {}, make_bitwise},
      {"calc_diff", limit_of(1e-3), with_limit<judge_calc_diff>},  // DeepGEMM, tests/test_core.py
      {"cosine", signed_limit_of(0.999), with_limit<judge_cosine>},
      {"pcc", signed_limit_of(0.99), with_limit<judge_pcc>},  // the default of comp_pcc of tt-metal
      {"sqnr", signed_limit_of(25), with_limit<judge_sqnr>},
      {"frobenius", limit_of(0.01), with_limit<judge_frobenius>},
      {"nmse", limit_of(5e-4), with_limit<judge_nmse>},  // ggml, tests/test-backend-ops.cpp, for products
      {"mse", limit_of(0.01), with_limit<judge_mse>},
      {"nrmse", limit_of(0.01), with_limit<judge_nrmse>},
      {"mean_abs", limit_of(0.01), with_limit<judge_mean_abs>},
      {"mean_rel",
       {{.key = "", .value = 0.01}, {.key = "relative_to", .shown = false, .words = relative_words}, nan_parameter()},
       make_mean_rel},
      {"l1", limit_of(0.001), with_limit<judge_l1>},           // vLLM, tests/kernels/quantization/test_block_fp8.py
      {"rms_rel", limit_of(4e-3), with_limit<judge_rms_rel>},  // assert_close of triton_kernels, the default of rmstol
  };
  return all;
}

const RuleKind& find_kind(std::string_view name) {
  std::vector<std::string> names{bound_word, baseline_name()};
  for (const RuleKind& kind : kinds()) {
    if (kind.name == name) return kind;
    names.emplace_back(kind.name);
  }
  const std::string known = emu::comma_separated(emu::closest_words(name, names));
  throw Error("rule '" + std::string(name) + "' is not known; the closest are " + known);
}

/// A rule of a kind. Limits that grow with K are known when the problem is.
Rule rule_of_kind(const RuleKind& kind, std::string_view word) {
  const std::vector<RuleArgument> arguments = read_rule_arguments(kind.name, kind.parameters, word);
  return {
      std::string(word), [&kind, arguments, word = std::string(word)](const RuleProblem& problem) -> RuleJudge {
        const std::optional<std::vector<double>> numbers = rule_numbers(arguments, problem);
        if (!numbers) return without_product(word, "K", problem);
        return [judge = kind.make({kind.parameters, *numbers}), out = problem.out](auto r, auto o) { return judge(out, r, o); };
      }};
}

Rule parse_one(std::string_view word) {
  const std::string_view name = word.substr(0, word.find(':'));
  if (name == bound_word && name == word) return bound_rule();
  if (name == baseline_name()) return baseline_rule(word);
  return rule_of_kind(find_kind(name), word);
}

std::vector<std::string_view> split_at(std::string_view words, std::string_view between) {
  std::vector<std::string_view> parts;
  for (std::size_t at = words.find(between); at != std::string_view::npos; at = words.find(between)) {
    parts.push_back(words.substr(0, at));
    words.remove_prefix(at + between.size());
  }
  parts.push_back(words);
  return parts;
}

}  // namespace

Rule rule_of(std::string word, TensorJudge judge) {
  return {std::move(word), [judge = std::move(judge)](const RuleProblem& problem) -> RuleJudge {
            return [judge, out = problem.out](auto reference, auto output) { return judge(out, reference, output); };
          }};
}

Rule parse_rule(std::string_view word) {
  std::vector<Rule> any;
  for (const std::string_view alternative : split_at(word, " or ")) {
    std::vector<Rule> all;
    for (const std::string_view part : split_at(alternative, " and ")) all.push_back(parse_one(part));
    any.push_back(joined(std::string(alternative), std::move(all), Joined::all));
  }
  return joined(std::string(word), std::move(any), Joined::any);
}

std::vector<std::string> rule_forms() {
  std::vector<std::string> forms{bound_word};
  for (const RuleKind& kind : kinds()) forms.push_back(rule_form(kind.name, kind.parameters));
  forms.push_back(baseline_form());
  return forms;
}

}  // namespace ulpscope::verify
