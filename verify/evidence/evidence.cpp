// SPDX-License-Identifier: Apache-2.0
// Gathers the four parts, and reads off them what was found.
#include "verify/evidence/evidence.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "emu/catalogue.hpp"
#include "emu/engines.hpp"
#include "emu/exact_matmul.hpp"
#include "emu/names.hpp"
#include "reports/columns.hpp"
#include "studies/census/sweep.hpp"
#include "studies/study.hpp"
#include "verify/audit/audit.hpp"
#include "verify/explain/explain_plants.hpp"
#include "verify/explain/rounding_plants.hpp"

namespace ulpscope::verify {
namespace {

using reports::Columns;
using reports::Severity;
using studies::digits;

/// Every engine in every format that the exact product is fast for, and what the accumulation study adds to them: beside the
/// same engine, so that the rows of one stand together.
std::vector<studies::Accumulation> all_accumulations() {
  constexpr int most_precision = emu::ExactMatrix::most_precision;
  std::vector<studies::Accumulation> all;
  for (const emu::EngineMode& mode : emu::engine_modes()) {
    if (mode.model.scales != emu::EngineScales::none || !emu::fits_float(mode.model.accumulator)) continue;
    for (const emu::Format in : mode.inputs)
      if (in.precision() <= most_precision)
        all.push_back(studies::find_accumulation(mode.engine, in, mode.model.accumulator, 0));
  }
  for (const studies::Accumulation& more : studies::standard_accumulations()) {
    if (std::find(all.begin(), all.end(), more) != all.end()) continue;
    const auto same =
        std::find_if(all.rbegin(), all.rend(), [&](const studies::Accumulation& other) { return other.name == more.name; });
    all.insert(same.base(), more);  // at the beginning, if there is no such engine
    if (same == all.rend()) std::rotate(all.begin(), all.begin() + 1, all.end());
  }
  return all;
}

studies::Progress part_of(const EvidenceConfig& config, std::string_view things) {
  if (!config.progress) return {};
  return [&config, things](std::uint64_t done, std::uint64_t total) { config.progress(things, done, total); };
}

std::string times(std::int64_t n, const char* one, const char* many) { return std::to_string(n) + " " + (n == 1 ? one : many); }

void add_alarms(const Evidence& e, std::vector<reports::Finding>& findings) {
  std::int64_t products = 0, rejected = 0, chance = 0, refused = 0;
  const FalseAlarmRow* nearest = nullptr;
  for (const FalseAlarmRow& row : e.alarms) {
    products += static_cast<std::int64_t>(row.products), rejected += static_cast<std::int64_t>(row.rejected);
    chance += static_cast<std::int64_t>(row.rejected_by_chance), refused += static_cast<std::int64_t>(row.refused);
    if (nearest == nullptr || row.max_of_bound > nearest->max_of_bound) nearest = &row;
  }
  if (products == 0) return;
  const std::string of = " of " + std::to_string(products) + " correct products";
  findings.push_back(
      {.what = "correct_products_rejected",
       .where = "deterministic bound",
       .value = rejected,
       .threshold = std::int64_t{0},
       .source = "derived: the bound holds for every correct product (emu/engine_bound.hpp)",
       .severity = rejected == 0 ? Severity::good : Severity::bad,
       .sentence = "False alarms: the deterministic bound rejects " + (rejected == 0 ? "none" : std::to_string(rejected)) + of +
                   "; the nearest that an element comes to its bound is " + digits(nearest->max_of_bound, 3) + " of it."});
  const double rate = static_cast<double>(chance) / static_cast<double>(products);
  findings.push_back({.what = "share_of_correct_products_rejected",
                      .where = "probabilistic bound",
                      .value = rate,
                      .threshold = e.false_alarms.false_alarm,
                      .source = "stated: --false-alarm",
                      .severity = rate <= e.false_alarms.false_alarm ? Severity::good : Severity::bad,
                      .sentence = "The probabilistic bound, stated to reject a correct product with a probability of at most " +
                                  digits(e.false_alarms.false_alarm) + ", rejects " +
                                  (chance == 0 ? "none" : std::to_string(chance)) + of + "."});
  if (refused != 0)
    findings.push_back(
        {.what = "products_refused",
         .where = "deterministic bound",
         .value = refused,
         .threshold = "",
         .source = "",
         .severity = Severity::good,
         .sentence = "For " + std::to_string(refused) + " more products the bound is worth nothing, and verify says so."});
}

void add_power(const Evidence& e, std::vector<reports::Finding>& findings) {
  for (const RulePower& rule : power_of_rules(e)) {
    const std::int64_t wrong = rule.required_lived + rule.rejected;
    std::string sentence = rule.rule +
                           (rule.required_lived == 0 ? " lets none" : " lets " + std::to_string(rule.required_lived)) + " of " +
                           std::to_string(rule.required) + " wrong outputs live that every check must reject";
    if (rule.rejected != 0)
      sentence +=
          ", and rejects " + std::to_string(rule.rejected) + " of " + times(rule.correct, "correct output", "correct outputs");
    findings.push_back({.what = "required_mutants_that_live",
                        .where = rule.rule,
                        .value = rule.required_lived,
                        .threshold = std::int64_t{0},
                        .source = "definition: no correct kernel returns a required mutant beyond the bound (docs/audit.md)",
                        .severity = wrong == 0 ? Severity::good : Severity::bad,
                        .sentence = "Power: " + sentence + "."});
  }
}

void add_tightness(const Evidence& e, std::vector<reports::Finding>& findings) {
  std::int64_t above = 0, bounded = 0;
  const TightnessRow* nearest = nullptr;
  for (const TightnessRow& row : e.tightness) {
    if (!row.bounded || !(row.relative < 1) || row.elements == 0) continue;
    ++bounded;
    above += row.observed_over_bound.max <= 1 ? 0 : 1;
    if (nearest == nullptr || row.observed_over_bound.max > nearest->observed_over_bound.max) nearest = &row;
  }
  if (nearest == nullptr) return;
  const std::string where = nearest->accumulation.name + " on " + modes_words(nearest->accumulation) + ", " +
                            nearest->distribution + ", K = " + std::to_string(nearest->length);
  findings.push_back({.what = "products_above_their_bound",
                      .where = where,
                      .value = above,
                      .threshold = std::int64_t{0},
                      .source = "derived: emu/engine_bound.hpp",
                      .severity = above == 0 ? Severity::good : Severity::bad,
                      .sentence = "Tightness: of " + times(bounded, "product", "products") + " with a bound " +
                                  (above == 0 ? "none has" : std::to_string(above) + " have") +
                                  " an element above it; the largest error is " + digits(nearest->observed_over_bound.max, 3) +
                                  " of its bound, on " + where + "."});
}

void add_plants(const Evidence& e, std::vector<reports::Finding>& findings) {
  const Columns columns(e.plants);
  std::int64_t known = 0, found = 0, unknown = 0, none = 0, wrong = 0;
  for (const auto& row : e.plants.rows) {
    const auto count = [&](const char* name) { return static_cast<std::int64_t>(columns.number(row, name)); };
    const bool is_known = !columns.text(row, "cause").starts_with("unknown:");
    (is_known ? known : unknown) += count("trials");
    if (is_known) found += count("named") + count("grouped");
    if (!is_known) none += count("none");
    wrong += count("wrong");
  }
  if (known != 0)
    findings.push_back({.what = "causes_mistaken",
                        .where = "explain",
                        .value = wrong,
                        .threshold = std::int64_t{0},
                        .source = "definition: the planted cause is known",
                        .severity = wrong == 0 ? Severity::good : Severity::bad,
                        .sentence = "Causes: explain names " + std::to_string(found) + " of " + std::to_string(known) +
                                    " planted causes, alone or among those that the data cannot tell apart" +
                                    (wrong == 0 ? "." : ", and mistakes " + std::to_string(wrong) + " for another.")});
  if (unknown != 0)
    findings.push_back(
        {.what = "unknown_causes_named",
         .where = "explain",
         .value = unknown - none,
         .threshold = std::int64_t{0},
         .source = "definition: explain does not know these causes",
         .severity = unknown == none ? Severity::good : Severity::bad,
         .sentence = "Of " + times(unknown, "cause", "causes") + " that it does not know it " +
                     (unknown == none ? "names none." : "gives " + std::to_string(unknown - none) + " a name.")});
}

void add_roundings(const Evidence& e, std::vector<reports::Finding>& findings) {
  const Columns columns(e.roundings);
  std::int64_t planted = 0, found = 0, mistaken = 0, plain = 0, alarms = 0;
  for (const auto& row : e.roundings.rows) {
    const auto count = [&](const char* name) { return static_cast<std::int64_t>(columns.number(row, name)); };
    const bool rounds = count("roundings") != 0;
    (rounds ? planted : plain) += count("trials");
    (rounds ? mistaken : alarms) += count("wrong");
    if (rounds) found += count("named") + count("grouped");
  }
  if (planted != 0)
    findings.push_back({.what = "roundings_mistaken",
                        .where = "explain expr",
                        .value = mistaken,
                        .threshold = std::int64_t{0},
                        .source = "definition: the planted roundings are known",
                        .severity = mistaken == 0 ? Severity::good : Severity::warning,
                        .sentence = "Roundings: of " + times(planted, "fused kernel that rounds", "fused kernels that round") +
                                    " intermediate results, explain expr names the places of " + std::to_string(found) +
                                    ", alone or among those that the output cannot tell apart" +
                                    (mistaken == 0 ? "." : ", and takes " + std::to_string(mistaken) + " for others.")});
  if (plain != 0)
    findings.push_back({.what = "roundings_imagined",
                        .where = "explain expr",
                        .value = alarms,
                        .threshold = std::int64_t{0},
                        .source = "definition: these kernels round nowhere but at the end",
                        .severity = alarms == 0 ? Severity::good : Severity::bad,
                        .sentence = "Of " + times(plain, "kernel", "kernels") + " that round their results alone it suspects " +
                                    (alarms == 0 ? "none." : std::to_string(alarms) + ".")});
}

/// A finding for each fault, of the norm that shows less of it.
void add_norm_faults(const Evidence& e, std::vector<reports::Finding>& findings) {
  std::vector<std::string> done;
  for (const NormFaultRow& first : e.norm_faults) {
    if (std::find(done.begin(), done.end(), first.fault) != done.end()) continue;
    done.push_back(first.fault);
    const auto least = [&](emu::Format out) {
      std::optional<NormFaultRow> shown;
      for (const NormFaultRow& row : e.norm_faults)
        if (row.fault == first.fault && row.out == out && row.depth != 0 && (!shown || row.beyond < shown->beyond)) shown = row;
      return shown.value();
    };
    const NormFaultRow wide = least(emu::float32), narrow = least(emu::bfloat16);
    const auto seen = [](const NormFaultRow& row) {
      return (row.beyond == 0 ? "none" : std::to_string(row.beyond)) + " of " + std::to_string(row.elements) + " elements of " +
             emu::format_name(row.out) + " beyond the bound (the furthest reaches " + digits(row.max_of_bound, 5) + " of it)";
    };
    findings.push_back(
        {.what = "elements_beyond_bound",
         .where = "norms in bfloat16, " + first.fault,
         .value = static_cast<std::int64_t>(narrow.beyond),
         .threshold = std::int64_t{1},
         .source = "definition: one element beyond the bound is a fault that is seen",
         .severity = narrow.beyond != 0 ? Severity::good : Severity::warning,
         .sentence = "Norms: under --sum-depth 64 " + first.fault + " puts " + seen(wide) + ", and " + seen(narrow) + "."});
  }
}

}  // namespace

Evidence gather(const EvidenceConfig& config) {
  Evidence evidence;
  evidence.false_alarms = {.trials = config.products,
                           .false_alarm = config.false_alarm,
                           .seed = config.seed,
                           .threads = config.threads,
                           .progress = part_of(config, "correct products judged")};
  evidence.alarms = false_alarms(evidence.false_alarms);
  TightnessConfig tight;
  tight.lengths = config.lengths;
  tight.accumulations = all_accumulations();
  tight.distributions.insert(tight.distributions.end(), {"normal:0,1e-6", "cancelling"});
  tight.shape = {8, 8};
  tight.seed = config.seed;
  tight.threads = config.threads;
  tight.progress = part_of(config, "multiplications of products with bounds");
  evidence.tightness = tightness(tight);
  std::vector<Rule> rules;
  for (const char* const rule : {"bound", "assert_close", "calc_diff:1e-3", "cosine:0.999", "sqnr:25", "matched_ratio"})
    rules.push_back(parse_rule(rule));
  evidence.power = power_table(rules, config.seed, config.threads, part_of(config, "problems with mutants"));
  evidence.plants = explain_plants_table(config.plants, config.seed, part_of(config, "planted causes"));
  evidence.roundings = explain_roundings_table((config.plants + 3) / 4, config.seed, part_of(config, "planted roundings"));
  evidence.norm_faults = norm_faults(config.seed, config.threads);
  return evidence;
}

std::vector<RulePower> power_of_rules(const Evidence& e) {
  const Columns columns(e.power);
  std::vector<RulePower> all;
  for (const auto& row : e.power.rows) {
    const std::string rule = columns.text(row, "rule"), fate = columns.text(row, "fate");
    auto at = std::find_if(all.begin(), all.end(), [&](const RulePower& other) { return other.rule == rule; });
    if (at == all.end()) at = all.insert(all.end(), {.rule = rule});
    if (columns.text(row, "mutant") == "none") ++at->correct, at->rejected += fate == "rejected" ? 1 : 0;
    if (columns.text(row, "beyond_bound") != "yes") continue;
    const bool required = columns.text(row, "required") == "yes", lived = fate != "killed";
    ++(required ? at->required : at->other);
    if (lived) ++(required ? at->required_lived : at->other_lived);
  }
  return all;
}

std::vector<reports::Table> evidence_tables(const Evidence& e) {
  return {false_alarm_table(e.false_alarms, e.alarms),
          tightness_table(e.tightness),
          e.power,
          e.plants,
          e.roundings,
          norm_faults_table(e.norm_faults)};
}

std::vector<reports::Finding> evidence_findings(const Evidence& e) {
  std::vector<reports::Finding> findings;
  add_alarms(e, findings);
  add_power(e, findings);
  add_tightness(e, findings);
  add_norm_faults(e, findings);
  add_plants(e, findings);
  add_roundings(e, findings);
  return findings;
}

std::string modes_words(const studies::Accumulation& accumulation) {
  return emu::format_name(accumulation.in) + " into " + emu::format_name(accumulation.engine.accumulator) +
         (accumulation.promote == 0 ? "" : ", promoted every " + std::to_string(accumulation.promote));
}

}  // namespace ulpscope::verify
