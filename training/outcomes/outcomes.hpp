// SPDX-License-Identifier: Apache-2.0
// What is known to happen to training in low precision, each shown by a small run or a few steps: the outcome, its mechanism,
// and the number that tells.
#pragma once

#include <string>
#include <vector>

#include "requests/field.hpp"
#include "studies/claims/judgement.hpp"
#include "studies/study.hpp"

namespace ulpscope::training {

/// The names of all outcomes.
std::vector<std::string> outcome_names();

/// The members mean what their fields' help says.
struct OutcomesRequest {
  /// What the fields of these names say; `ulpscope schema` has them.
  ///@{
  std::vector<std::string> outcome = outcome_names();
  int threads = 0;
  ///@}

  /// Names the members, for study files and the schema.
  void describe(requests::Fields& fields);
};

/// claims.csv: a row an outcome, `true` where it shows; measurements.csv: the numbers. @throws ulpscope::Error
studies::StudyResult run(const OutcomesRequest& request, const studies::Progress& progress);
/// What it will cost, without running it. @throws ulpscope::Error
studies::Work work_of(const OutcomesRequest& request);

/// Outcomes of scales, optimizer states and single operations, which need no training run.
///@{
studies::Judgement master_weights_missing_fp16();
studies::Judgement master_weights_missing_bf16();
studies::Judgement stochastic_and_kahan();
studies::Judgement adam_epsilon_fp16();
studies::Judgement adam_second_moment_bf16();
studies::Judgement e4m3_gradients();
studies::Judgement delayed_spike();
studies::Judgement hopper_accumulator(int threads);
studies::Judgement mxfp8_floor_scales(int threads);
studies::Judgement functions_fp16();
///@}

}  // namespace ulpscope::training
