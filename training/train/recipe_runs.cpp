// SPDX-License-Identifier: Apache-2.0
// Means and deviations over seeds.
#include "training/train/recipe_runs.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace ulpscope::training {

std::vector<RecipeRuns> by_recipe(const std::vector<RunResult>& runs) {
  std::vector<RecipeRuns> all;
  for (const RunResult& run : runs) {
    const auto found = std::find_if(all.begin(), all.end(), [&](const RecipeRuns& t) { return t.recipe == run.recipe; });
    if (found == all.end())
      all.push_back({run.recipe, {&run}});
    else
      found->runs.push_back(&run);
  }
  return all;
}

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double x : values) sum += x;
  return sum / static_cast<double>(values.size());
}

double deviation_of(const std::vector<double>& values) {
  if (values.size() < 2) return 0;
  const double mean = mean_of(values);
  double sum = 0;
  for (const double x : values) sum += (x - mean) * (x - mean);
  return std::sqrt(sum / static_cast<double>(values.size() - 1));
}

double final_loss(const RunResult& run) {
  const std::size_t last = tenth_of(run.steps.size());
  std::vector<double> losses;
  for (std::size_t i = run.steps.size() - last; i < run.steps.size(); ++i) losses.push_back(run.steps[i].loss);
  return run.diverged ? std::nan("") : mean_of(losses);
}

double skipped_in(const RunResult& run) {
  return static_cast<double>(std::count_if(run.steps.begin(), run.steps.end(), [](const TrainStep& s) { return s.skipped; }));
}

double others_skipped_in(const RunResult& run) {
  return static_cast<double>(
      std::count_if(run.steps.begin(), run.steps.end(), [](const TrainStep& s) { return s.other_skipped; }));
}

double lost_share(const RunResult& run) {
  std::uint64_t wanted = 0, lost = 0;
  for (const TrainStep& step : run.steps) wanted += step.wanted, lost += step.lost;
  return wanted == 0 ? 0 : static_cast<double>(lost) / static_cast<double>(wanted);
}

double diverged(const RunResult& run) { return run.diverged ? 1 : 0; }

std::vector<double> differences(const RecipeRuns& a, const RecipeRuns& b) {
  std::vector<double> all;
  for (const RunResult* const run : a.runs) {
    const auto other = std::ranges::find(b.runs, run->seed, &RunResult::seed);
    if (other != b.runs.end()) all.push_back(final_loss(*run) - final_loss(**other));
  }
  return all;
}

double error_of_mean(const std::vector<double>& values) {
  return values.size() < 2 ? std::nan("") : deviation_of(values) / std::sqrt(static_cast<double>(values.size()));
}

double student_t(const std::vector<double>& values) {
  const double error = error_of_mean(values);
  return error > 0 ? mean_of(values) / error : std::nan("");
}

}  // namespace ulpscope::training
