// SPDX-License-Identifier: Apache-2.0
// Batch by batch.
#include "training/state/running_statistics.hpp"

#include <span>
#include <string>
#include <vector>

#include "emu/bulk.hpp"
#include "emu/error.hpp"

namespace ulpscope::training {

template <class Real>
void follow(RunningStatistics<Real>& running, const BatchStatistics<Real>& batch, const Storage& storage, double momentum) {
  const auto follow_one = [&](std::vector<Real>& kept, const std::vector<Real>& now) {
    if (kept.size() != now.size())
      throw Error("batch_norm: statistics of " + std::to_string(now.size()) + " channels, not " + std::to_string(kept.size()));
    std::vector<Real> next(kept.size());
    for (std::size_t i = 0; i < next.size(); ++i) {
      const Real old = static_cast<Real>(1 - momentum) * kept[i], added = static_cast<Real>(momentum) * now[i];
      next[i] = old + added;
    }
    const std::vector<Real> wide = next;
    emu::round_to(storage.format, std::span<const Real>(next), std::span<Real>(next), storage.options, {});
    for (std::size_t i = 0; i < next.size(); ++i) {
      const bool changes = wide[i] != kept[i];
      running.wanted += changes ? 1 : 0;
      running.lost += changes && next[i] == kept[i] ? 1 : 0;
    }
    kept = next;
  };
  follow_one(running.statistics.mean, batch.mean);
  follow_one(running.statistics.variance, batch.variance);
}

template void follow(RunningStatistics<float>&, const BatchStatistics<float>&, const Storage&, double);
template void follow(RunningStatistics<double>&, const BatchStatistics<double>&, const Storage&, double);

}  // namespace ulpscope::training
