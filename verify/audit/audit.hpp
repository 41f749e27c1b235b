// SPDX-License-Identifier: Apache-2.0
// Can a check fail at all? Rules are asked about wrong outputs, each of which a good rule rejects (kills), and about right ones
// computed in other orders, none of which it may reject. Here is what audits of all operations have in common, and that of a
// product. docs/audit.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "products/product.hpp"
#include "reports/table.hpp"
#include "studies/kept_rows.hpp"
#include "tensors/tensor.hpp"
#include "verify/audit/mutants.hpp"
#include "verify/audit/rules.hpp"

namespace ulpscope::verify {

/// What outputs are compared with.
enum class AuditReference : std::uint8_t {
  exact,   ///< the exact product, rounded once
  engine,  ///< the correct output itself
};

/// What is audited, and how hard.
struct AuditConfig {
  products::Product product;                                                   ///< computed on its engine
  std::vector<Rule> rules;                                                     ///< each is asked about every output
  AuditReference reference = AuditReference::exact;                            ///< what rules compare an output with
  std::uint64_t seed = 0;                                                      ///< of the mutants and of the trials
  std::size_t trials = 0;                                                      ///< correct computations in other orders
  std::optional<Rule> bound = {};                                              ///< what a correct kernel may return, if derived
  std::function<void(std::uint64_t done, std::uint64_t total)> progress = {};  ///< told of outputs judged
  studies::OpenKeptRows kept = {};                                             ///< of verdicts; empty: none are kept
};
/// A, B, C and the scales: what an audit of them is kept for.
std::vector<tensors::Tensor> tensors_of(const AuditConfig& config);

/// What became of a mutant under a rule.
enum class Fate : std::uint8_t {
  killed,          ///< rejected, as it should be
  lived,           ///< accepted
  equivalent,      ///< it is the correct output
  not_applicable,  ///< the problem does not have what the mutant changes
  broken,          ///< the rule gave no verdict
};
/// `killed`, `LIVE` and so on, as in tables.
std::string_view name_of(Fate fate) noexcept;

/// One mutant under all rules.
struct AuditedMutant {
  Mutant mutant;                           ///< without its output
  std::optional<bool> beyond_bound = {};   ///< whether AuditConfig::bound rejects it; nothing without a bound
  std::vector<RuleVerdict> verdicts = {};  ///< of each rule; empty where none was asked
  /// What became of it under rule number `rule`.
  Fate fate(std::size_t rule) const;
};

/// Correct computations that a rule rejected.
struct FalseAlarms {
  /// Computations; those that were rejected; those on which the rule gave no verdict.
  std::size_t trials = 0, alarms = 0, broken = 0;
  std::string first = {};  ///< the first that was rejected: engine, split, promotion, order of K
  /// Upper end of the 95 % interval of the rate where there were none: the rate p with (1 - p)^trials = 5 %, of which 3 /
  /// trials
  /// ("rule of three", Hanley and Lippman-Hand, JAMA 249 (1983), 1743) is the limit for many.
  double most_where_none() const;
};

/// What an audit found.
struct AuditResult {
  std::vector<std::string> rules;         ///< their words
  std::vector<RuleVerdict> correct;       ///< of each rule about the correct output
  std::vector<AuditedMutant> mutants;     ///< in the order of `kinds`
  std::vector<FalseAlarms> false_alarms;  ///< of each rule
  /// Of the mutants: those that every check must reject first.
  std::vector<std::shared_ptr<const MutantName>> kinds = {};
  /// Whether the derived bound could tell nothing here: zeros are within it everywhere.
  bool bound_is_vacuous = false;
  std::string not_measured = {};  ///< why false alarms are not: of what, or with which options; empty where they are

  /// Whether a rule gave no verdict or rejected the correct output.
  bool breaks_on_correct(std::size_t rule) const { return !correct[rule].broken.empty(); }
  /// Whether a rule rejected the correct output.
  bool rejects_correct(std::size_t rule) const { return !breaks_on_correct(rule) && !correct[rule].passes; }
  /// Required mutants that a rule did not reject, except required_within_bound().
  std::vector<const AuditedMutant*> required_that_live(std::size_t rule) const;
  /// Those of them that a correct kernel may return: no beyond_bound, of a bound that is not vacuous.
  std::vector<const AuditedMutant*> required_within_bound(std::size_t rule) const;
  /// Whether every required mutant is the right output, but those that are NaN or infinite somewhere: no rule could tell a
  /// wrong number from a right one.
  bool shows_no_wrong_number() const;
  /// The least severity from which on every mutant of `kind` is killed (equivalent ones aside); nothing where even the
  /// greatest lives, or where there is none.
  std::optional<double> kills_from(std::size_t rule, const MutantName& kind) const;
};

/// An audit of whatever was computed: what asking the rules takes.
struct AuditPlan {
  const std::vector<Rule>& rules;                                   ///< each is asked about every output
  const std::optional<Rule>& bound;                                 ///< what a correct kernel may return, if derived
  RuleProblem problem;                                              ///< that rules are made ready for
  const std::vector<double>& reference;                             ///< what rules compare an output with
  const std::vector<double>& correct;                               ///< the correct output
  std::vector<std::shared_ptr<const MutantName>> kinds;             ///< of mutants
  std::function<Mutant(std::size_t kind, double severity)> mutant;  ///< of `kinds`, made
  std::size_t trials = 0;                                           ///< correct computations in other orders
  /// One of them, and what it is in words.
  std::function<std::pair<std::vector<double>, std::string>(std::size_t index)> trial = {};
  std::function<void(std::uint64_t done, std::uint64_t total)> progress = {};  ///< told of outputs judged
  std::vector<tensors::Tensor> inputs = {};                                    ///< what was computed of
  studies::OpenKeptRows kept = {};                                             ///< of verdicts; empty: none are kept
};
/// Asks every rule about every mutant, then about correct computations.
AuditResult asked(const AuditPlan& plan);

/// @throws ulpscope::Error as studies::matmul.
AuditResult audit(const AuditConfig& config);

/// audit.csv: for each rule a row for the correct output and one for each mutant.
reports::Table audit_table(const AuditResult& result);

/// For readers: a row for each kind of mutant, a column for each rule, whose name is without its middle where it is long.
reports::Table audit_summary(const AuditResult& result);

/// audit_power.csv: every mutant against every rule over standard problems (formats, K, distributions); the columns of
/// audit_table() after those of the problem.
reports::Table power_table(const std::vector<Rule>& rules, std::uint64_t seed, int threads,
                           const std::function<void(std::uint64_t problems, std::uint64_t total)>& progress = {});

}  // namespace ulpscope::verify
