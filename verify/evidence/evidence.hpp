// SPDX-License-Identifier: Apache-2.0
// What the checks of `verify` are worth: how often they reject what is right, what they let live, how near right results come
// to their bounds, what these cannot see of norms, and whether `explain` names what was planted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "reports/finding.hpp"
#include "reports/page.hpp"
#include "reports/table.hpp"
#include "verify/evidence/norm_faults.hpp"
#include "verify/false_alarms.hpp"
#include "verify/tightness.hpp"

namespace ulpscope::verify {

/// What is to be measured, and how much of it.
struct EvidenceConfig {
  std::size_t products = 100000;                                         ///< correct ones to judge
  std::size_t plants = 1000;                                             ///< kernels with a planted cause
  double false_alarm = 0.01;                                             ///< stated for the probabilistic bound
  std::vector<std::size_t> lengths = studies::parse_lengths("1:65536");  ///< of sums whose errors are held against the bound
  std::uint64_t seed = 0;                                                ///< key of all operands
  int threads = 0;                                                       ///< 0: all; results do not depend on it
  /// Told of each part in turn: `things` are what is counted.
  std::function<void(std::string_view things, std::uint64_t done, std::uint64_t total)> progress = {};
};

/// What was measured.
struct Evidence {
  FalseAlarmConfig false_alarms = {};          ///< what was judged
  std::vector<FalseAlarmRow> alarms = {};      ///< correct products that were rejected
  std::vector<TightnessRow> tightness = {};    ///< how near errors come to their bounds
  reports::Table power = {};                   ///< of power_table()
  reports::Table plants = {};                  ///< of explain_plants_table()
  reports::Table roundings = {};               ///< of explain_roundings_table(), of a quarter as many kernels
  std::vector<NormFaultRow> norm_faults = {};  ///< what bounds of norms see of a wrong epsilon
};

/// @throws ulpscope::Error
Evidence gather(const EvidenceConfig& config);

/// What became of the mutants that no correct kernel returns under one rule, and of the correct outputs.
struct RulePower {
  std::string rule;                               ///< its word
  std::int64_t required = 0, required_lived = 0;  ///< mutants that every check must reject
  std::int64_t other = 0, other_lived = 0;        ///< the others
  std::int64_t correct = 0, rejected = 0;         ///< correct outputs, and those of them that were rejected
};
/// A row a rule.
std::vector<RulePower> power_of_rules(const Evidence& evidence);

/// One CSV file each.
std::vector<reports::Table> evidence_tables(const Evidence& evidence);
/// What each part says, with its threshold.
std::vector<reports::Finding> evidence_findings(const Evidence& evidence);

/// False alarms by bound.
std::vector<reports::Figure> alarm_figures(const Evidence& evidence);
/// Mutants that lived, by rule.
std::vector<reports::Figure> power_figures(const Evidence& evidence);
/// Shares of the bound that errors reach, by length.
std::vector<reports::Figure> tightness_figures(const Evidence& evidence);

/// Without the command that reproduces it.
reports::Page evidence_page(const Evidence& evidence);

/// `sm_90`, and `float8_e4m3fn into float32, promoted every 128`.
std::string modes_words(const studies::Accumulation& accumulation);

}  // namespace ulpscope::verify
