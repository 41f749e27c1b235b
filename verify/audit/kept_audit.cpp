// SPDX-License-Identifier: Apache-2.0
// Of a mutant five numbers; of each verdict four.
#include "verify/audit/kept_audit.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <utility>

namespace ulpscope::verify {
namespace {

using Numbers = std::vector<std::uint64_t>;

constexpr std::size_t of_mutant = 5, of_verdict = 4;
/// AuditedMutant::beyond_bound as a number.
enum Beyond : std::uint64_t { without_bound, within_bound, beyond_bound };

bool has_broken(const std::vector<RuleVerdict>& verdicts) {
  return std::ranges::any_of(verdicts, [](const RuleVerdict& verdict) { return !verdict.broken.empty(); });
}

void add_verdicts(Numbers& numbers, const std::vector<RuleVerdict>& verdicts) {
  for (const RuleVerdict& verdict : verdicts)
    numbers.insert(numbers.end(), {verdict.passes, std::bit_cast<std::uint64_t>(verdict.figure),
                                   std::bit_cast<std::uint64_t>(verdict.limit), verdict.violations});
}

/// Of so many rules; `line` is named where they are no verdicts.
std::vector<RuleVerdict> read_verdicts(std::span<const std::uint64_t> numbers, std::size_t rules, const std::string& line) {
  if (numbers.size() != of_verdict * rules) studies::refuse_line(line);
  std::vector<RuleVerdict> verdicts;
  for (; !numbers.empty(); numbers = numbers.subspan(of_verdict)) {
    if (numbers[0] > 1) studies::refuse_line(line);
    verdicts.push_back({.passes = numbers[0] != 0,
                        .figure = std::bit_cast<double>(numbers[1]),
                        .limit = std::bit_cast<double>(numbers[2]),
                        .violations = numbers[3]});
  }
  return verdicts;
}

/// The correct output, mutants and trials.
std::size_t outputs_of(const AuditPlan& plan) {
  std::size_t count = 1 + plan.trials;
  for (const auto& kind : plan.kinds) count += kind->severities.size();
  return count;
}

}  // namespace

std::optional<std::string> verdicts_line(const std::vector<RuleVerdict>& verdicts) {
  if (has_broken(verdicts)) return std::nullopt;
  Numbers numbers;
  add_verdicts(numbers, verdicts);
  return studies::line_of(numbers);
}

std::vector<RuleVerdict> verdicts_of(const std::string& line, std::size_t rules) {
  return read_verdicts(studies::numbers_of(line), rules, line);
}

std::optional<std::string> mutant_line(const AuditedMutant& audited) {
  if (has_broken(audited.verdicts)) return std::nullopt;
  const Mutant& mutant = audited.mutant;
  const Beyond beyond = !audited.beyond_bound ? without_bound : *audited.beyond_bound ? beyond_bound : within_bound;
  Numbers numbers{mutant.required, mutant.applicable, mutant.changed, std::bit_cast<std::uint64_t>(mutant.max_error_ulp),
                  beyond};
  add_verdicts(numbers, audited.verdicts);
  return studies::line_of(numbers);
}

void read_mutant_line(const std::string& line, std::size_t rules, AuditedMutant& audited) {
  const Numbers numbers = studies::numbers_of(line);
  if (numbers.size() < of_mutant || numbers[0] > 1 || numbers[1] > 1 || numbers[4] > beyond_bound) studies::refuse_line(line);
  Mutant& mutant = audited.mutant;
  mutant.required = numbers[0] != 0, mutant.applicable = numbers[1] != 0, mutant.changed = numbers[2];
  mutant.max_error_ulp = std::bit_cast<double>(numbers[3]);
  audited.beyond_bound = numbers[4] == without_bound ? std::nullopt : std::optional(numbers[4] == beyond_bound);
  const bool was_asked = mutant.applicable && !mutant.is_equivalent();
  audited.verdicts = read_verdicts(std::span(numbers).subspan(of_mutant), was_asked ? rules : 0, line);
}

KeptOutputs::KeptOutputs(const AuditPlan& plan) : rules_(plan.rules.size()) {
  if (plan.kept) rows_ = plan.kept(plan.inputs, outputs_of(plan));
}

std::optional<std::string> KeptOutputs::found(std::size_t row) const { return rows_.find ? rows_.find(row) : std::nullopt; }

void KeptOutputs::keep(std::size_t row, const std::optional<std::string>& line) const {
  if (rows_.keep && line) rows_.keep(row, *line);
}

std::vector<RuleVerdict> KeptOutputs::verdicts(std::size_t row, const std::function<std::vector<RuleVerdict>()>& judge) const {
  if (const std::optional<std::string> line = found(row)) return verdicts_of(*line, rules_);
  std::vector<RuleVerdict> now = judge();
  keep(row, verdicts_line(now));
  return now;
}

std::vector<RuleVerdict> KeptOutputs::correct(const std::function<std::vector<RuleVerdict>()>& judge) {
  std::vector<RuleVerdict> found = verdicts(0, judge);
  if (has_broken(found)) rows_.keep = nullptr;
  return found;
}

AuditedMutant KeptOutputs::mutant(std::size_t row, Mutant named, const std::function<AuditedMutant()>& judge) const {
  AuditedMutant audited{.mutant = std::move(named)};
  if (const std::optional<std::string> line = found(row)) return read_mutant_line(*line, rules_, audited), audited;
  audited = judge();
  keep(row, mutant_line(audited));
  return audited;
}

}  // namespace ulpscope::verify
