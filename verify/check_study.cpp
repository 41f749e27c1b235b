// SPDX-License-Identifier: Apache-2.0
// Verdicts as tables and findings.
#include "verify/check_study.hpp"

#include "emu/error.hpp"
#include "verify/baseline.hpp"
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

reports::Finding finding_of(const ResolvedCheck& check, Outcome outcome, const std::string& sentence) {
  return {.what = "outcome",
          .where = check.operation + " " + check.output.label,
          .value = std::string(name_of(outcome)),
          .threshold = std::string(name_of(Outcome::pass)),
          .source = check.expectation->bound(),
          .severity = outcome == Outcome::pass   ? reports::Severity::good
                      : outcome == Outcome::fail ? reports::Severity::bad
                                                 : reports::Severity::warning,
          .sentence = sentence};
}

}  // namespace

studies::StudyResult judged(const ResolvedCheck& check, const OutputRequest& output, int threads,
                            const studies::Progress& progress) {
  const VerdictOptions options{.last = check.last, .threads = threads, .progress = progress};
  if (!output.is_against_file()) {
    const Verdict verdict = verify(*check.expectation, check.output, options);
    VerdictTables tables = tables_of(verdict);
    std::string text = verdict_text(check.heading, verdict, tables);
    return {.tables = {std::move(tables.counts), std::move(tables.histogram), std::move(tables.worst)},
            .findings = {finding_of(check, verdict.outcome(), verdict.sentence())},
            .outcome = outcome_of(verdict.outcome()),
            .text = std::move(text)};
  }
  if (!(output.at_most > 0)) throw Error("--at-most: a factor above 0, e.g. 1.1");
  const tensors::Tensor baseline = output.open(output.against, check.expectation->out());
  const BaselineVerdict verdict = verify_against_baseline(*check.expectation, check.output, baseline, options, output.at_most);
  reports::Table table = baseline_table(verdict);
  std::string text = verdict_text(check.heading, verdict, table);
  return {.tables = {std::move(table)},
          .findings = {finding_of(check, verdict.outcome(), verdict.sentence())},
          .outcome = outcome_of(verdict.outcome()),
          .text = std::move(text)};
}

}  // namespace ulpscope::verify
