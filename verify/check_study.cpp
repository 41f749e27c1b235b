// SPDX-License-Identifier: Apache-2.0
// Verdicts as tables and findings.
#include "verify/check_study.hpp"

#include "emu/error.hpp"
#include "verify/baseline.hpp"
#include "verify/further_output.hpp"
#include "verify/verdict.hpp"
#include "verify/verdict_text.hpp"

namespace ulpscope::verify {
namespace {

studies::StudyOutcome outcome_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::pass: return studies::StudyOutcome::done;
    case Outcome::fail: return studies::StudyOutcome::failed;
    case Outcome::vacuous: break;
  }
  return studies::StudyOutcome::vacuous;
}

reports::Finding finding_of(const std::string& where, const std::string& bound, Outcome outcome, const std::string& sentence) {
  return {.what = "outcome",
          .where = where,
          .value = std::string(name_of(outcome)),
          .threshold = std::string(name_of(Outcome::pass)),
          .source = bound,
          .severity = outcome == Outcome::pass   ? reports::Severity::good
                      : outcome == Outcome::fail ? reports::Severity::bad
                                                 : reports::Severity::warning,
          .sentence = sentence};
}

/// Its tables under names of their own, a finding and its text.
void add_further(studies::StudyResult& result, const ResolvedCheck& check, const FurtherVerdict& other) {
  const Verdict& verdict = other.verdict;
  VerdictTables tables = tables_of(verdict);
  result.text += "\n" + verdict_text(other.heading, verdict, tables);
  for (reports::Table* const table : {&tables.counts, &tables.histogram, &tables.worst}) {
    table->name = table == &tables.counts ? other.name : other.name + "_" + table->name;
    result.tables.push_back(std::move(*table));
  }
  result.findings.push_back(finding_of(check.operation + " " + other.name + " " + verdict.label, verdict.bound,
                                       verdict.outcome(), verdict.sentence()));
}

}  // namespace

studies::StudyResult judged(const ResolvedCheck& check, const OutputRequest& output, int threads,
                            const studies::Progress& progress) {
  const VerdictOptions options{.last = check.last, .threads = threads, .progress = progress};
  const std::string where = check.operation + " " + check.output.label, bound = check.expectation->bound();
  if (!output.is_against_file()) {
    const Verdict verdict = verify(*check.expectation, check.output, options);
    VerdictTables tables = tables_of(verdict);
    std::string text = verdict_text(check.heading, verdict, tables);
    studies::StudyResult result{.tables = {std::move(tables.counts), std::move(tables.histogram), std::move(tables.worst)},
                                .findings = {finding_of(where, bound, verdict.outcome(), verdict.sentence())},
                                .text = std::move(text)};
    const std::vector<FurtherVerdict> further = verify_further(check, threads);
    for (const FurtherVerdict& other : further) add_further(result, check, other);
    result.outcome = outcome_of(together(verdict.outcome(), further));
    return result;
  }
  if (!(output.at_most > 0)) throw Error("--at-most: a factor above 0, e.g. 1.1");
  const tensors::Tensor baseline = output.open(output.against, check.expectation->out());
  const BaselineVerdict verdict = verify_against_baseline(*check.expectation, check.output, baseline, options, output.at_most);
  reports::Table table = baseline_table(verdict);
  std::string text = verdict_text(check.heading, verdict, table);
  return {.tables = {std::move(table)},
          .findings = {finding_of(where, bound, verdict.outcome(), verdict.sentence())},
          .outcome = outcome_of(verdict.outcome()),
          .text = std::move(text)};
}

}  // namespace ulpscope::verify
