// SPDX-License-Identifier: Apache-2.0
// Statements beside the measurements that decide them: tables, findings and the figure of all studies that judge some.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "reports/finding.hpp"
#include "reports/page.hpp"
#include "reports/table.hpp"
#include "studies/study.hpp"

namespace ulpscope::studies {

/// What is said of a statement.
struct Verdict {
  std::string_view name;       ///< `true`, ...
  reports::Severity severity;  ///< of the finding
};
/// All verdicts that there are.
namespace verdicts {
constexpr Verdict holds{"true", reports::Severity::good};                           ///< as it is said
constexpr Verdict within_limits{"true within limits", reports::Severity::warning};  ///< not always, or not here
constexpr Verdict fails{"false", reports::Severity::bad};                           ///< it does not
constexpr Verdict unmeasured{"unmeasured", reports::Severity::warning};             ///< nothing is known of it here
}  // namespace verdicts

/// A number, and what it is held to.
struct Measurement {
  std::string what, where;       ///< its name, and of what it is
  reports::Cell value;           ///< empty text: none
  reports::Cell threshold = "";  ///< empty text: none
  std::string source = "";       ///< of the threshold
};

/// How a statement came out. The first measurement is the one that decides.
struct Judgement {
  Verdict verdict{};                           ///< what is said of it
  std::string sentence = {};                   ///< why
  std::vector<Measurement> measurements = {};  ///< at least one
};

/// A statement and how it is measured.
struct Statement {
  std::string name, statement;       ///< as tables have it, and as a sentence
  std::function<Judgement()> judge;  ///< measures
};

/// The tables `claims` (claim, statement, verdict, sentence) and `measurements` (claim, what, where, value, threshold, source),
/// a finding a statement, and a remark that counts verdicts. `things` are what the statements are called: `claims`.
StudyResult judge_all(const std::vector<Statement>& statements, const std::string& things, const Progress& progress);

/// From these tables, or tables with more columns in front: each statement's measurements, and which of them decides.
std::vector<reports::Figure> claims_figures(const std::vector<reports::Table>& tables);

}  // namespace ulpscope::studies
