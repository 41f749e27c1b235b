// SPDX-License-Identifier: Apache-2.0
// Asks every rule about every mutant, then about correct computations.
#include "verify/audit/audit.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <utility>

#include "emu/math.hpp"
#include "emu/visible.hpp"
#include "verify/audit/audit_trials.hpp"
#include "verify/audit/kept_audit.hpp"

namespace ulpscope::verify {
namespace {

/// The rules made ready for one problem, and what they compare with.
class Judges {
 public:
  explicit Judges(const AuditPlan& plan) : reference_(plan.reference) {
    for (const Rule& rule : plan.rules) judges_.push_back(rule.prepare(plan.problem));
    if (plan.bound) bound_ = plan.bound->prepare(plan.problem);
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

AuditedMutant audited(const Judges& judges, Mutant mutant) {
  AuditedMutant audited{std::move(mutant)};
  if (!audited.mutant.applicable || audited.mutant.is_equivalent()) return audited;
  audited.verdicts = judges.all(audited.mutant.output);
  audited.beyond_bound = judges.beyond_bound(audited.mutant.output);
  audited.mutant.output = {};
  return audited;
}

void count_alarm(FalseAlarms& alarms, const RuleVerdict& verdict, const std::function<std::string()>& trial) {
  ++alarms.trials;
  if (!verdict.broken.empty()) {
    ++alarms.broken;
  } else if (!verdict.passes && alarms.alarms++ == 0) {
    alarms.first = trial();
  }
}

std::size_t outputs_of(const AuditPlan& plan) {
  std::size_t count = plan.trials;
  for (const auto& kind : plan.kinds) count += kind->severities.size();
  return count;
}

/// Kinds that live as long as the program.
std::vector<std::shared_ptr<const MutantName>> kinds_of_products() {
  std::vector<std::shared_ptr<const MutantName>> kinds;
  for (const MutantKind& kind : mutant_kinds()) kinds.emplace_back(std::shared_ptr<const void>(), &kind);
  return kinds;
}

/// Whether a correct kernel may return it.
bool may_be_right(const AuditResult& result, const AuditedMutant& mutant) {
  return !result.bound_is_vacuous && !mutant.beyond_bound.value_or(true);
}

/// Required mutants that a rule did not reject, of those that are asked for.
template <class Asked>
std::vector<const AuditedMutant*> required_living(const AuditResult& result, std::size_t rule, Asked asked) {
  std::vector<const AuditedMutant*> all;
  for (const AuditedMutant& mutant : result.mutants) {
    const Fate fate = mutant.fate(rule);
    if (mutant.mutant.required && (fate == Fate::lived || fate == Fate::broken) && asked(mutant)) all.push_back(&mutant);
  }
  return all;
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

double FalseAlarms::most_where_none() const { return -emu::expm1(emu::log(0.05) / static_cast<double>(trials)); }

std::vector<const AuditedMutant*> AuditResult::required_that_live(std::size_t rule) const {
  return required_living(*this, rule, [this](const AuditedMutant& mutant) { return !may_be_right(*this, mutant); });
}

std::vector<const AuditedMutant*> AuditResult::required_within_bound(std::size_t rule) const {
  return required_living(*this, rule, [this](const AuditedMutant& mutant) { return may_be_right(*this, mutant); });
}

bool AuditResult::shows_no_wrong_number() const {
  constexpr std::array<std::string_view, 3> not_finite{"nan_everywhere", "nan_element", "infinite_element"};
  return std::ranges::all_of(mutants, [&](const AuditedMutant& mutant) {
    const Mutant& m = mutant.mutant;
    return !m.required || !m.applicable || m.is_equivalent() || std::ranges::count(not_finite, m.kind->name) != 0;
  });
}

std::optional<double> AuditResult::kills_from(std::size_t rule, const MutantName& kind) const {
  std::optional<double> from;
  for (const AuditedMutant& mutant : mutants) {
    if (mutant.mutant.kind != &kind) continue;
    const Fate fate = mutant.fate(rule);
    if (fate == Fate::killed && !from) from = mutant.mutant.severity;
    if (fate == Fate::lived || fate == Fate::broken) from.reset();
  }
  return from;
}

AuditResult asked(const AuditPlan& plan) {
  const Judges judges(plan);
  KeptOutputs kept(plan);
  AuditResult result{.rules = {},
                     .correct = kept.correct([&] { return judges.all(plan.correct); }),
                     .mutants = {},
                     .false_alarms = {},
                     .kinds = plan.kinds};
  for (const Rule& rule : plan.rules) result.rules.push_back(emu::visible(rule.word));
  result.false_alarms.resize(plan.rules.size());
  result.bound_is_vacuous = judges.beyond_bound(std::vector<double>(plan.correct.size())) == false;

  std::uint64_t done = 0;
  const std::uint64_t total = outputs_of(plan);
  const auto step = [&] {
    ++done;
    if (plan.progress) plan.progress(done, total);
  };
  for (std::size_t kind = 0; kind < plan.kinds.size(); ++kind)
    for (const double severity : plan.kinds[kind]->severities)
      result.mutants.push_back(kept.mutant(1 + done, {.kind = plan.kinds[kind].get(), .severity = severity},
                                           [&] { return audited(judges, plan.mutant(kind, severity)); })),
          step();
  for (std::size_t i = 0; i < plan.trials; ++i, step()) {
    std::optional<std::pair<std::vector<double>, std::string>> made;
    const auto trial = [&]() -> const auto& { return made ? *made : made.emplace(plan.trial(i)); };
    const std::vector<RuleVerdict> verdicts = kept.verdicts(1 + done, [&] { return judges.all(trial().first); });
    for (std::size_t rule = 0; rule < verdicts.size(); ++rule)
      count_alarm(result.false_alarms[rule], verdicts[rule], [&] { return trial().second; });
  }
  return result;
}

std::vector<tensors::Tensor> tensors_of(const AuditConfig& config) {
  const products::Product& product = config.product;
  std::vector<tensors::Tensor> all{product.a.input.tensor, product.b.input.tensor};
  if (product.c) all.push_back(*product.c);
  for (const auto& [name, scales] :
       {std::pair("scales of A", &product.a.scales), std::pair("scales of B", &product.b.scales)}) {
    if (!*scales) continue;
    std::vector<float> values = (*scales)->values;
    values.push_back((*scales)->whole);
    const std::uint64_t count = values.size();
    all.push_back(tensors::from_values(name, {count}, std::move(values)));
  }
  return all;
}

AuditResult audit(const AuditConfig& config) {
  const MutationSource source = mutation_source(config.product, config.seed);
  const std::vector<std::string> engines = trial_engines(source);
  return asked(
      {.rules = config.rules,
       .bound = config.bound,
       .problem = {source.config.out, source.shape.d, &source.config},
       .reference = config.reference == AuditReference::exact ? source.reference : source.correct,
       .correct = source.correct,
       .kinds = kinds_of_products(),
       .mutant = [&](std::size_t kind, double severity) { return make_mutant(source, mutant_kinds()[kind], severity); },
       .trials = config.trials,
       .trial =
           [&](std::size_t i) {
             const Trial trial = draw_trial(source, engines, i);
             return std::pair(output_of_trial(source, trial, i), trial.word());
           },
       .progress = config.progress,
       .inputs = tensors_of(config),
       .kept = config.kept});
}

}  // namespace ulpscope::verify
