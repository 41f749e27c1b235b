// SPDX-License-Identifier: Apache-2.0
// Asks every rule about every mutant, then about correct computations.
#include "verify/audit/audit.hpp"

#include <array>
#include <utility>

#include "verify/audit/audit_trials.hpp"

namespace ulpscope::verify {
namespace {

/// The rules made ready for one product, and what they compare with.
class Judges {
 public:
  Judges(const AuditConfig& config, const MutationSource& source)
      : reference_(config.reference == AuditReference::exact ? source.reference : source.correct) {
    const RuleProblem problem{source.config.out, source.shape.d, &source.config};
    for (const Rule& rule : config.rules) judges_.push_back(rule.prepare(problem));
    if (config.bound) bound_ = config.bound->prepare(problem);
  }

  std::vector<RuleVerdict> all(const std::vector<double>& output) const {
    std::vector<RuleVerdict> verdicts;
    for (const RuleJudge& judge : judges_) verdicts.push_back(judge(reference_, output));
    return verdicts;
  }
  std::optional<bool> beyond_bound(const std::vector<double>& output) const {
    if (!bound_) return std::nullopt;
    const RuleVerdict verdict = bound_(reference_, output);
    return verdict.broken.empty() ? std::optional(!verdict.passes) : std::nullopt;
  }

 private:
  const std::vector<double>& reference_;
  std::vector<RuleJudge> judges_;
  RuleJudge bound_;
};

AuditedMutant audited(const MutationSource& source, const Judges& judges, const MutantKind& kind, double severity) {
  AuditedMutant audited{make_mutant(source, kind, severity)};
  if (!audited.mutant.applicable || audited.mutant.is_equivalent()) return audited;
  audited.verdicts = judges.all(audited.mutant.output);
  audited.beyond_bound = judges.beyond_bound(audited.mutant.output);
  audited.mutant.output = {};
  return audited;
}

void count_alarm(FalseAlarms& alarms, const RuleVerdict& verdict, const Trial& trial) {
  ++alarms.trials;
  if (!verdict.broken.empty()) {
    ++alarms.broken;
  } else if (!verdict.passes && alarms.alarms++ == 0) {
    alarms.first = trial.word();
  }
}

std::size_t mutant_count() {
  std::size_t count = 0;
  for (const MutantKind& kind : mutant_kinds()) count += kind.severities.size();
  return count;
}

}  // namespace

std::string_view name_of(Fate fate) noexcept {
  constexpr std::array<std::string_view, 5> names{"killed", "lived", "equivalent", "not_applicable", "broken"};
  return names[static_cast<std::size_t>(fate)];
}

Fate AuditedMutant::fate(std::size_t rule) const {
  if (!mutant.applicable) return Fate::not_applicable;
  if (mutant.is_equivalent()) return Fate::equivalent;
  if (!verdicts[rule].broken.empty()) return Fate::broken;
  return verdicts[rule].passes ? Fate::lived : Fate::killed;
}

std::vector<const AuditedMutant*> AuditResult::required_that_live(std::size_t rule) const {
  std::vector<const AuditedMutant*> living;
  for (const AuditedMutant& mutant : mutants) {
    const Fate fate = mutant.fate(rule);
    if (!mutant.beyond_bound.value_or(true)) continue;  // a correct kernel may return it
    if (mutant.mutant.required && (fate == Fate::lived || fate == Fate::broken)) living.push_back(&mutant);
  }
  return living;
}

std::optional<double> AuditResult::kills_from(std::size_t rule, const MutantKind& kind) const {
  std::optional<double> from;
  for (const AuditedMutant& mutant : mutants) {
    if (mutant.mutant.kind != &kind) continue;
    const Fate fate = mutant.fate(rule);
    if (fate == Fate::killed && !from) from = mutant.mutant.severity;
    if (fate == Fate::lived || fate == Fate::broken) from.reset();
  }
  return from;
}

AuditResult audit(const AuditConfig& config) {
  const MutationSource source = mutation_source(config.product, config.seed);
  const Judges judges(config, source);
  AuditResult result;
  for (const Rule& rule : config.rules) result.rules.push_back(rule.word);
  result.correct = judges.all(source.correct);
  result.false_alarms.resize(config.rules.size());

  std::uint64_t done = 0;
  const std::uint64_t total = mutant_count() + config.trials;
  const auto step = [&] {
    if (config.progress) config.progress(++done, total);
  };
  for (const MutantKind& kind : mutant_kinds())
    for (const double severity : kind.severities) result.mutants.push_back(audited(source, judges, kind, severity)), step();
  const std::vector<std::string> engines = trial_engines(source);
  for (std::size_t i = 0; i < config.trials; ++i, step()) {
    const Trial trial = draw_trial(source, engines, i);
    const std::vector<RuleVerdict> verdicts = judges.all(output_of_trial(source, trial, i));
    for (std::size_t rule = 0; rule < verdicts.size(); ++rule) count_alarm(result.false_alarms[rule], verdicts[rule], trial);
  }
  return result;
}

}  // namespace ulpscope::verify
