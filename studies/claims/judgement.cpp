// SPDX-License-Identifier: Apache-2.0
// Verdicts as tables and sentences.
#include "studies/claims/judgement.hpp"

#include <algorithm>

namespace ulpscope::studies {

StudyResult judge_all(const std::vector<Statement>& statements, const std::string& things, const Progress& progress) {
  reports::Table table{"claims", {"claim", "statement", "verdict", "sentence"}, {}};
  reports::Table numbers{"measurements", {"claim", "what", "where", "value", "threshold", "source"}, {}};
  std::vector<reports::Finding> findings;
  std::string answer = "Of " + std::to_string(statements.size()) + " " + things;
  for (const Statement& statement : statements) {
    const Judgement judgement = statement.judge();
    table.rows.push_back({statement.name, statement.statement, std::string(judgement.verdict.name), judgement.sentence});
    for (const Measurement& m : judgement.measurements)
      numbers.rows.push_back({statement.name, m.what, m.where, m.value, m.threshold, m.source});
    const Measurement& first = judgement.measurements.front();
    findings.push_back({first.what, statement.name + ", " + first.where, first.value, first.threshold, first.source,
                        judgement.verdict.severity,
                        "\"" + statement.statement + "\": " + std::string(judgement.verdict.name) + ". " + judgement.sentence});
    if (progress) progress(findings.size(), statements.size());
  }
  for (const Verdict& verdict : {verdicts::holds, verdicts::within_limits, verdicts::fails, verdicts::unmeasured}) {
    const auto count = std::count_if(table.rows.begin(), table.rows.end(),
                                     [&](const auto& row) { return row[2] == reports::Cell(std::string(verdict.name)); });
    answer += (verdict.name == verdicts::holds.name ? ": " : ", ") + std::to_string(count) + " " + std::string(verdict.name);
  }
  return {.tables = {table, numbers}, .findings = findings, .remarks = {answer + "."}};
}

}  // namespace ulpscope::studies
