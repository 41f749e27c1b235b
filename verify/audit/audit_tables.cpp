// SPDX-License-Identifier: Apache-2.0
// What rules said, as rows and as a summary by kind of mutant.
#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "verify/audit/audit.hpp"

namespace ulpscope::verify {
namespace {

using reports::whole;

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

std::string yes_or_no(bool yes) { return yes ? "yes" : "no"; }

std::string correct_word(const RuleVerdict& verdict) {
  return !verdict.broken.empty() ? "broken" : verdict.passes ? "accepted" : "rejected";
}

void add_verdict(std::vector<reports::Cell>& row, const RuleVerdict* verdict) {
  const bool judged = verdict != nullptr && verdict->broken.empty();
  row.emplace_back(judged ? verdict->figure : not_a_number);
  row.emplace_back(judged ? verdict->limit : not_a_number);
  row.emplace_back(whole(judged ? verdict->violations : 0));
}

void add_alarms(std::vector<reports::Cell>& row, const AuditResult& result, std::size_t rule) {
  if (!result.not_measured.empty()) return static_cast<void>(row.insert(row.end(), {"", ""}));
  const FalseAlarms& alarms = result.false_alarms[rule];
  row.emplace_back(whole(alarms.trials));
  row.emplace_back(whole(alarms.alarms));
}

std::vector<reports::Cell> mutant_row(const AuditResult& result, const AuditedMutant& audited, std::size_t rule) {
  const Mutant& mutant = audited.mutant;
  std::vector<reports::Cell> row{result.rules[rule],
                                 mutant.kind->name,
                                 mutant.kind->is_graded() ? mutant.severity : not_a_number,
                                 std::string(mutant.kind->unit),
                                 yes_or_no(mutant.required),
                                 std::string(name_of(audited.fate(rule)))};
  add_verdict(row, audited.verdicts.empty() ? nullptr : &audited.verdicts[rule]);
  row.emplace_back(whole(mutant.changed));
  row.emplace_back(mutant.applicable ? mutant.max_error_ulp : not_a_number);
  row.emplace_back(audited.beyond_bound ? yes_or_no(*audited.beyond_bound) : std::string());
  add_alarms(row, result, rule);
  return row;
}

/// The mutants of one kind, in the order of their severities.
std::vector<const AuditedMutant*> of_kind(const AuditResult& result, const MutantName& kind) {
  std::vector<const AuditedMutant*> mutants;
  for (const AuditedMutant& mutant : result.mutants)
    if (mutant.mutant.kind == &kind) mutants.push_back(&mutant);
  return mutants;
}

/// What a rule does to a kind, in a word or two.
std::string summary_cell(const AuditResult& result, const MutantName& kind, std::size_t rule) {
  const auto mutants = of_kind(result, kind);
  if (!kind.is_graded()) return std::string(name_of(mutants.front()->fate(rule)));
  const auto has = [&](Fate fate) {
    return std::any_of(mutants.begin(), mutants.end(), [&](const AuditedMutant* m) { return m->fate(rule) == fate; });
  };
  if (const auto from = result.kills_from(rule, kind))
    return "from " + Mutant{.kind = &kind, .severity = *from}.severity_word();
  if (has(Fate::broken)) return "broken";
  if (has(Fate::lived) || has(Fate::killed)) return "lived";
  return std::string(name_of(mutants.front()->fate(rule)));
}

/// The place of a code point's first byte.
std::size_t byte_of(const std::string& text, std::size_t point) {
  std::size_t at = 0;
  for (std::size_t points = 0; at < text.size(); ++at)
    if ((text[at] & 0xC0) != 0x80 && points++ == point) break;
  return at;
}

/// Rules as the heads of columns: long ones, which are programs with their paths, without their middle, so that the columns
/// stand side by side; numbered where they look alike then.
std::vector<std::string> short_labels(const std::vector<std::string>& rules) {
  constexpr std::size_t most = 32, start = 14, end = 15;  // code points; `...` between
  std::vector<std::string> labels;
  for (const std::string& rule : rules) {
    const auto starts = [](char c) { return (c & 0xC0) != 0x80; };
    const auto points = static_cast<std::size_t>(std::count_if(rule.begin(), rule.end(), starts));
    labels.push_back(points <= most ? rule
                                    : rule.substr(0, byte_of(rule, start)) + "..." + rule.substr(byte_of(rule, points - end)));
  }
  std::vector<std::string> numbered = labels;
  for (std::size_t i = 0; i < rules.size(); ++i)
    if (labels[i] != rules[i] && std::count(labels.begin(), labels.end(), labels[i]) > 1)
      numbered[i] = std::to_string(i + 1) + ": " + labels[i];
  return numbered;
}

std::string required_cell(const AuditResult& result, const MutantName& kind) {
  for (const AuditedMutant* mutant : of_kind(result, kind))
    if (mutant->mutant.required) return kind.is_graded() ? "from " + mutant->mutant.severity_word() : "yes";
  return "no";
}

}  // namespace

reports::Table audit_table(const AuditResult& result) {
  reports::Table table{"audit",
                       {"rule", "mutant", "severity", "unit", "required", "fate", "figure", "limit", "violations", "changed",
                        "max_error_ulp", "beyond_bound", "trials", "false_alarms"},
                       {}};
  for (std::size_t rule = 0; rule < result.rules.size(); ++rule) {
    std::vector<reports::Cell> row{result.rules[rule], "none", not_a_number, "", "no", correct_word(result.correct[rule])};
    add_verdict(row, &result.correct[rule]);
    row.insert(row.end(), {std::int64_t{0}, 0.0, ""});
    add_alarms(row, result, rule);
    table.rows.push_back(std::move(row));
    for (const AuditedMutant& mutant : result.mutants) table.rows.push_back(mutant_row(result, mutant, rule));
  }
  return table;
}

reports::Table audit_summary(const AuditResult& result) {
  reports::Table table{"audit", {"mutant", "required"}, {}};
  const std::vector<std::string> labels = short_labels(result.rules);
  table.columns.insert(table.columns.end(), labels.begin(), labels.end());
  for (const auto& kind : result.kinds) {
    std::vector<reports::Cell> row{kind->name, required_cell(result, *kind)};
    for (std::size_t rule = 0; rule < result.rules.size(); ++rule) row.emplace_back(summary_cell(result, *kind, rule));
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace ulpscope::verify
