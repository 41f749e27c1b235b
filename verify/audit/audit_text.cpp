// SPDX-License-Identifier: Apache-2.0
// Sentences of an audit.
#include "verify/audit/audit_text.hpp"

#include <fmt/format.h>

#include "emu/error.hpp"
#include "emu/names.hpp"
#include "reports/render.hpp"
#include "tensors/tensor.hpp"

namespace ulpscope::verify {
namespace {

std::string mutant_word(const Mutant& mutant) {
  const std::string severity = mutant.severity_word();
  return mutant.kind->name + (severity.empty() ? "" : " " + severity);
}

/// What a rule makes of right outputs.
std::string of_right_outputs(const AuditResult& result, std::size_t rule) {
  const RuleVerdict& verdict = result.correct[rule];
  const FalseAlarms& alarms = result.false_alarms[rule];
  std::string text = result.rules[rule] + (verdict.passes ? ": accepts" : ": REJECTS") + " the correct output (" +
                     reports::shortest(verdict.figure) + ", limit " + reports::shortest(verdict.limit) + ")";
  if (alarms.trials == 0) return text + ".\n";
  text += "; rejects " + std::to_string(alarms.alarms) + " of " + std::to_string(alarms.trials) +
          " correct computations in other orders";
  if (alarms.alarms == 0) text += fmt::format(" (rate below {:.2g} at 95 % confidence)", alarms.most_where_none());
  if (alarms.alarms != 0) text += ", the first: " + alarms.first;
  if (alarms.broken != 0) text += ", gives no verdict on " + std::to_string(alarms.broken);
  return text + ".\n";
}

/// What it makes of the mutants that every check must reject.
std::string of_required(const AuditResult& result, std::size_t rule) {
  const auto living = result.required_that_live(rule);
  const auto within = result.required_within_bound(rule);
  if (living.empty()) {
    std::string text = result.rules[rule] + ": every required mutant that is not equivalent is killed";
    for (const AuditedMutant* mutant : within)
      text += (mutant == within.front() ? ", but " : ", ") + mutant_word(mutant->mutant);
    return text + (within.empty() ? "" : ", which a correct kernel may return") + ".\n";
  }
  std::string text = result.rules[rule] + ": " + std::to_string(living.size()) + " required mutants LIVE:";
  for (const AuditedMutant* mutant : living)
    text += (mutant == living.front() ? " " : ", ") + mutant_word(mutant->mutant) +
            (mutant->fate(rule) == Fate::broken ? " (no verdict: the rule " + mutant->verdicts[rule].broken + ")" : "");
  return text + ".\n";
}

}  // namespace

std::string audit_heading(const AuditConfig& config) {
  const products::MatmulShape shape = products::matmul_shape(config.product.a.input, config.product.b.input);
  const products::Product& p = config.product;
  std::string text = "A  " + p.a.input.words() + ", " + emu::format_name(p.a.rounding.format) + "\n";
  text += "B  " + p.b.input.words() + ", " + emu::format_name(p.b.rounding.format) + "\n";
  if (p.c) text += "C  " + p.c->label + " (" + tensors::shape_text(p.c->shape) + "), " + emu::format_name(p.acc) + "\n";
  text += "D  " + tensors::shape_text(shape.d) + ", K = " + std::to_string(shape.k) + ", engine " + p.engine +
          ", accumulator " + emu::format_name(p.acc) + ", out " + emu::format_name(p.out) + "\n";
  const bool exact = config.reference == AuditReference::exact;
  return text + "Compared with " + (exact ? "the exact product, rounded once" : "the engine's own product") + ".\n\n";
}

std::string audit_sentences(const AuditResult& result) {
  std::string text = "\n";
  for (std::size_t rule = 0; rule < result.rules.size(); ++rule) text += of_right_outputs(result, rule);
  if (!result.not_measured.empty()) text += "False alarms are not measured " + result.not_measured + ".\n";
  text += "\n";
  if (result.bound_is_vacuous)
    text += "No mutant is left out as what a correct kernel may return: of these inputs it may return zeros.\n";
  const bool shows_none = result.shows_no_wrong_number();
  if (shows_none)
    text +=
        "These inputs cannot show a wrong number: every required mutant but NaN and infinity is the right output; give "
        "others.\n";
  for (std::size_t rule = 0; rule < result.rules.size(); ++rule)
    if (!shows_none || !result.required_that_live(rule).empty()) text += of_required(result, rule);
  return text;
}

std::string audit_text(const std::string& heading, const AuditResult& result) {
  return heading + reports::to_text(audit_summary(result), {.key_columns = 2}) + audit_sentences(result);
}

Outcome outcome_of(const AuditResult& result) {
  Outcome outcome = result.shows_no_wrong_number() ? Outcome::vacuous : Outcome::pass;
  for (std::size_t rule = 0; rule < result.rules.size(); ++rule) {
    if (result.rejects_correct(rule)) return Outcome::fail;
    if (!result.required_that_live(rule).empty()) outcome = Outcome::vacuous;
  }
  return outcome;
}

void check_unbroken(const AuditResult& result) {
  for (std::size_t rule = 0; rule < result.rules.size(); ++rule)
    if (result.breaks_on_correct(rule))
      throw Error("rule '" + result.rules[rule] + "': on the correct output it " + result.correct[rule].broken);
}

}  // namespace ulpscope::verify
