// SPDX-License-Identifier: Apache-2.0
// Averages tensor by tensor, and what rounding takes of their steps.
#include "training/state/average.hpp"

#include <cstddef>
#include <span>
#include <string>

#include "emu/bulk.hpp"
#include "emu/error.hpp"
#include "training/state/lerp.hpp"

namespace ulpscope::training {

template <class Real>
UpdateCounts follow(WeightAverage<Real>& average, const std::vector<std::vector<Real>>& weights, double decay,
                    const Storage& storage) {
  const bool is_first = average.tensors.empty();
  if (is_first) average.tensors = weights;
  if (average.tensors.size() != weights.size())
    throw Error("an average of " + std::to_string(average.tensors.size()) + " tensors for " + std::to_string(weights.size()));
  UpdateCounts counts;
  for (std::size_t t = 0; t < weights.size(); ++t) {
    std::vector<Real>& kept = average.tensors[t];
    if (kept.size() != weights[t].size())
      throw Error("an average of " + std::to_string(kept.size()) + " elements for " + std::to_string(weights[t].size()) +
                  " weights");
    std::vector<Real> next(kept.size()), stored(kept.size());
    for (std::size_t i = 0; i < next.size(); ++i) next[i] = lerp(kept[i], weights[t][i], static_cast<Real>(1 - decay));
    emu::round_to(storage.format, std::span<const Real>(next), std::span<Real>(stored), storage.options, {});
    counts.elements += next.size();
    for (std::size_t i = 0; i < next.size() && !is_first; ++i) {
      const bool is_wanted = next[i] != kept[i];
      counts.wanted += is_wanted ? 1 : 0;
      counts.lost += is_wanted && stored[i] == kept[i] ? 1 : 0;
    }
    kept = std::move(stored);
  }
  return counts;
}

template UpdateCounts follow(WeightAverage<float>&, const std::vector<std::vector<float>>&, double, const Storage&);
template UpdateCounts follow(WeightAverage<double>&, const std::vector<std::vector<double>>&, double, const Storage&);

}  // namespace ulpscope::training
