// SPDX-License-Identifier: Apache-2.0
// Runs of one recipe over their seeds, and what their numbers come to.
#pragma once

#include <string>
#include <vector>

#include "training/train/run.hpp"

namespace ulpscope::training {

/// The runs of one recipe.
struct RecipeRuns {
  std::string recipe;
  std::vector<const RunResult*> runs;

  template <class Of>
  std::vector<double> of(Of of_run) const {
    std::vector<double> values;
    for (const RunResult* const run : runs) values.push_back(of_run(*run));
    return values;
  }
  /// Of the runs that have one.
  std::vector<double> accuracies() const {
    std::vector<double> values;
    for (const RunResult* const run : runs)
      if (run->accuracy) values.push_back(*run->accuracy);
    return values;
  }
  /// Likewise.
  std::vector<double> distances() const {
    std::vector<double> values;
    for (const RunResult* const run : runs)
      if (run->distance) values.push_back(*run->distance);
    return values;
  }
};

/// In the order in which recipes come first.
std::vector<RecipeRuns> by_recipe(const std::vector<RunResult>& runs);

/// Of at least one number.
double mean_of(const std::vector<double>& values);
/// With divisor n - 1; 0 of one value.
double deviation_of(const std::vector<double>& values);
/// Standard error of their mean; NaN of one value.
double error_of_mean(const std::vector<double>& values);
/// Student's t: how many standard errors their mean is from 0; NaN where there is no spread to compare with.
double student_t(const std::vector<double>& values);

/// Mean loss of the last tenth of the steps: of a single batch it says less. NaN of a run that diverged.
double final_loss(const RunResult& run);
/// Final losses of the first less those of the second, seed by seed: runs of a seed have their first weights and batches in
/// common, and with them most of what differs from seed to seed.
std::vector<double> differences(const RecipeRuns& a, const RecipeRuns& b);
/// Steps that the scaler skipped.
double skipped_in(const RunResult& run);
double others_skipped_in(const RunResult& run);
/// Of all updates that were not zero, those that left the weight as it was.
double lost_share(const RunResult& run);
/// 1 where it did.
double diverged(const RunResult& run);

}  // namespace ulpscope::training
