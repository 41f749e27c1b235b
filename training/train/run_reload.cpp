// SPDX-License-Identifier: Apache-2.0
// What a checkpoint must have, lost one by one.
#include "training/train/run_reload.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace ulpscope::training {
namespace {

double share_of(std::size_t some, std::size_t all) {
  return static_cast<double>(some) / static_cast<double>(std::max<std::size_t>(all, 1));
}

/// As numbers of the format that products give, the type that the model computes in. @returns the share that changes
template <class Real>
double lose_master_weights(RunParts<Real>& run) {
  const Storage narrow_type = run.precision.product("linear", "").output;
  std::size_t changed = 0, all = 0;
  for (auto& values : run.weights) {
    const std::vector<Real> before = values;
    round_in_place(values, narrow_type);
    for (std::size_t i = 0; i < values.size(); ++i) changed += values[i] != before[i] ? 1 : 0, ++all;
  }
  return share_of(changed, all);
}

/// @returns the share of moments that were not zero
template <class Real>
double lose_moments(RunParts<Real>& run) {
  std::size_t nonzero = 0, all = 0;
  for (OptimizerState<Real>& state : run.states) {
    for (const auto* const moment : {&state.first, &state.second})
      for (const Real x : *moment) nonzero += x != 0 ? 1 : 0, ++all;
    state = {};
  }
  return share_of(nonzero, all);
}

/// @returns the first scale over the present one; nothing where there is no scaler, or it is as it was at first
template <class Real>
std::optional<double> lose_scaler(RunParts<Real>& run) {
  if (!run.scaler) return std::nullopt;
  const double before = run.scaler->scale();
  const auto state = run.scaler->state();
  run.start_scaler();
  if (run.scaler->state() == state) return std::nullopt;
  return run.scaler->scale() / before;
}

}  // namespace

template <class Real>
void reload(RunParts<Real>& run, std::uint64_t step) {
  for (const std::string& lost : run.study.run.reload_loses) {
    const auto unless_none = [](double share) { return share == 0 ? std::nullopt : std::optional(share); };
    const std::optional<double> value = lost == "master_weights" ? unless_none(lose_master_weights(run))
                                        : lost == "moments"      ? unless_none(lose_moments(run))
                                                                 : lose_scaler(run);
    if (value) run.result.findings.push_back({step, "", lost, "reload_lost", *value, 0});
  }
}

template void reload(RunParts<float>&, std::uint64_t);
template void reload(RunParts<double>&, std::uint64_t);

}  // namespace ulpscope::training
