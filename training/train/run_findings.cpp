// SPDX-License-Identifier: Apache-2.0
// Thresholds, and the first step that passes each.
#include "training/train/run_findings.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

namespace ulpscope::training {
namespace {

// Chosen, but for those of the loss and of gradients, which monitors of training runs use.
constexpr double notable_underflow = 0.05;                    // share of the numbers of a gradient that become zero
constexpr double notable_overflow = 0;                        // any
constexpr double spike_ratio = 10;                            // of a loss over the least of the last 50 steps
constexpr double range_ratio = 10;                            // largest over smallest loss of the last 100 steps
constexpr double vanishing_norm = 1e-7, exploding_norm = 10;  // of all gradients

bool is_gradient(const std::string& place) { return place.starts_with("grad"); }

void add_places(const RunResult& run, std::vector<TrainFinding>& findings) {
  std::set<std::pair<std::string, std::string>> seen;
  for (const WatchedPlace& watched : run.places)
    for (TrainFinding& found : findings_of(watched))
      if (seen.emplace(found.layer + found.place, found.finding).second) findings.push_back(std::move(found));
}

/// Of what is counted in these members of a step.
void add_stagnation(const RunResult& run, const char* place, const char* what, std::uint64_t TrainStep::*of_wanted,
                    std::uint64_t TrainStep::*of_lost, std::vector<TrainFinding>& findings) {
  const std::size_t begin = run.steps.size() - tenth_of(run.steps.size());
  const auto share_of = [](std::uint64_t lost, std::uint64_t wanted) {
    return wanted == 0 ? 0 : static_cast<double>(lost) / static_cast<double>(wanted);
  };
  std::uint64_t wanted = 0, lost = 0;
  for (std::size_t i = begin; i < run.steps.size(); ++i) wanted += run.steps[i].*of_wanted, lost += run.steps[i].*of_lost;
  const double share = share_of(lost, wanted);
  if (share <= notable_loss) return;
  // Since when it has been so at every step; where it was not so at the last, since the last tenth began.
  std::optional<std::uint64_t> since;
  for (std::size_t i = run.steps.size(); i-- > 0;) {
    const TrainStep& step = run.steps[i];
    if (step.*of_wanted == 0) continue;
    if (share_of(step.*of_lost, step.*of_wanted) <= notable_loss) break;
    since = step.step;
  }
  findings.push_back({since.value_or(run.steps[begin].step), "", place, what, share, notable_loss});
}

/// The same by parameter.
void add_parameters(const RunResult& run, std::vector<TrainFinding>& findings) {
  if (run.diverged) return;
  for (std::size_t i = 0; i < run.updates.size(); ++i) {
    const ParameterUpdates& updates = run.updates[i];
    const double share = static_cast<double>(updates.lost) / static_cast<double>(std::max<std::uint64_t>(updates.wanted, 1));
    if (share <= notable_loss) continue;
    const std::uint64_t last_tenth = run.steps.back().step + 1 - tenth_of(run.steps.size());
    const auto [layer, parameter] = layer_and_parameter(run.parameters[i].name);
    findings.push_back({updates.since.value_or(last_tenth), layer, parameter, "stagnation", share, notable_loss});
  }
}

void add_curves(const RunResult& run, std::vector<TrainFinding>& findings) {
  bool spiked = false, ranged = false, vanished = false, exploded = false;
  for (std::size_t i = 0; i < run.steps.size(); ++i) {
    const TrainStep& step = run.steps[i];
    if (!step.skipped && !vanished && step.grad_norm < vanishing_norm) {
      vanished = true;
      findings.push_back({step.step, "", "gradients", "vanishing", step.grad_norm, vanishing_norm});
    }
    if (!step.skipped && !exploded && step.grad_norm > exploding_norm) {
      exploded = true;
      findings.push_back({step.step, "", "gradients", "exploding", step.grad_norm, exploding_norm});
    }
    if (!std::isfinite(step.loss)) continue;
    const auto last = [&](std::size_t count) {
      return std::minmax_element(run.steps.begin() + static_cast<std::ptrdiff_t>(i + 1 - std::min(i + 1, count)),
                                 run.steps.begin() + static_cast<std::ptrdiff_t>(i + 1),
                                 [](const TrainStep& a, const TrainStep& b) { return a.loss < b.loss; });
    };
    if (const double least = last(50).first->loss; !spiked && least > 0 && step.loss > spike_ratio * least) {
      spiked = true;
      findings.push_back({step.step, "", "loss", "spike", step.loss / least, spike_ratio});
    }
    // Also of a loss that falls: fast training has it, and is not to be blamed.
    if (const auto [least, largest] = last(100); !ranged && least->loss > 0 && largest->loss > range_ratio * least->loss) {
      ranged = true;
      findings.push_back({step.step, "", "loss", "loss_range", largest->loss / least->loss, range_ratio});
    }
  }
}

}  // namespace

std::vector<TrainFinding> findings_of(const WatchedPlace& watched) {
  std::vector<TrainFinding> findings;
  if (watched.counts.count == 0) return findings;
  const auto add = [&](const char* what, std::uint64_t count, double threshold) {
    const double share = static_cast<double>(count) / static_cast<double>(watched.counts.count);
    if (share > threshold)
      findings.push_back(
          {watched.step, watched.place.layer, watched.place.operation + " " + watched.place.place, what, share, threshold});
  };
  if (is_gradient(watched.place.place)) add("gradient_underflow", watched.counts.to_zero, notable_underflow);
  add("overflow", watched.counts.overflow, notable_overflow);
  return findings;
}

std::vector<TrainFinding> watched_findings(const RunResult& run) {
  std::vector<TrainFinding> findings = run.findings;
  if (run.steps.empty()) return findings;
  add_places(run, findings);
  add_stagnation(run, "weights", "stagnation", &TrainStep::wanted, &TrainStep::lost, findings);
  add_stagnation(run, "average", "average_stagnation", &TrainStep::average_wanted, &TrainStep::average_lost, findings);
  add_parameters(run, findings);
  add_curves(run, findings);
  std::stable_sort(findings.begin(), findings.end(), [](const auto& a, const auto& b) { return a.step < b.step; });
  return findings;
}

}  // namespace ulpscope::training
