// SPDX-License-Identifier: Apache-2.0
// What rules have said of outputs, as lines of text: what `audit --resume` keeps.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "studies/kept_rows.hpp"
#include "verify/audit/audit.hpp"

namespace ulpscope::verify {

/// Verdicts to the bit. Nothing where a rule gave none: such an output is asked about again.
std::optional<std::string> verdicts_line(const std::vector<RuleVerdict>& verdicts);
/// Those of so many rules. @throws ulpscope::Error where it is no such line
std::vector<RuleVerdict> verdicts_of(const std::string& line, std::size_t rules);

/// The same of a mutant, and what is known of it beside its kind and its severity.
std::optional<std::string> mutant_line(const AuditedMutant& audited);
/// Puts that into a mutant of this kind and severity. @throws ulpscope::Error where it is no such line
void read_mutant_line(const std::string& line, std::size_t rules, AuditedMutant& audited);

/// What is kept of an audit, output by output, where anything is.
class KeptOutputs {
 public:
  /// Opens it: a row for the correct output, each mutant and each trial.
  explicit KeptOutputs(const AuditPlan& plan);

  /// The verdicts on the correct output, which come first. Where a rule gives none, no more is kept: what it says of others is
  /// worth nothing.
  std::vector<RuleVerdict> correct(const std::function<std::vector<RuleVerdict>()>& judge);
  /// The verdicts on output number `row`: those that are kept, or those that `judge` gives now.
  std::vector<RuleVerdict> verdicts(std::size_t row, const std::function<std::vector<RuleVerdict>()>& judge) const;
  /// The same of a mutant of this kind and severity.
  AuditedMutant mutant(std::size_t row, Mutant named, const std::function<AuditedMutant()>& judge) const;

 private:
  std::optional<std::string> found(std::size_t row) const;
  void keep(std::size_t row, const std::optional<std::string>& line) const;

  studies::KeptRows rows_;
  std::size_t rules_;
};

}  // namespace ulpscope::verify
