// SPDX-License-Identifier: Apache-2.0
// The weights' moving average, as numbers of a chosen format: with a decay near 1 most formats have no room for its steps.
#pragma once

#include <vector>

#include "training/state/optimizer.hpp"

namespace ulpscope::training {

/// What is kept of the weights of a model; empty before the first update.
template <class Real>
struct WeightAverage {
  std::vector<std::vector<Real>> tensors = {};  ///< in the order of the weights

  friend bool operator==(const WeightAverage&, const WeightAverage&) = default;
};

/// Behind an update of the weights: average = average + (1 - decay) (weights - average), lerp() in Real, rounded as `storage`
/// says; the first time the weights themselves (torch.optim.swa_utils, AveragedModel with get_ema_multi_avg_fn). Returns how
/// many numbers were to change, in Real, and of these how many did not; at first none. @throws ulpscope::Error where a
/// tensor's size differs
template <class Real>
UpdateCounts follow(WeightAverage<Real>& average, const std::vector<std::vector<Real>>& weights, double decay,
                    const Storage& storage);

}  // namespace ulpscope::training
