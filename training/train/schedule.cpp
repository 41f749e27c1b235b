// SPDX-License-Identifier: Apache-2.0
// Warms up along a line, and goes down along half a cosine.
#include "training/train/schedule.hpp"

#include <algorithm>
#include <cstddef>

#include "emu/math.hpp"

namespace ulpscope::training {

std::uint64_t steps_of(const TrainStudy& study, const Samples& samples) {
  if (study.run.steps > 0) return study.run.steps;
  const std::size_t held = std::min<std::size_t>(samples.count, static_cast<std::size_t>(study.data.held_back));
  const std::uint64_t batches = study.run.epochs * Batches(study.data, samples.count - held, 0).per_epoch();
  return std::max<std::uint64_t>(1, batches / (study.run.accumulate * study.run.workers));
}

double learning_rate(const RunSpec& run, double full, std::uint64_t step, std::uint64_t steps) {
  const std::uint64_t warmup = run.warmup;
  if (step < warmup) return full * static_cast<double>(step + 1) / static_cast<double>(warmup);
  if (run.schedule == "constant") return full;
  const double share = static_cast<double>(step - warmup) / static_cast<double>(std::max<std::uint64_t>(1, steps - warmup));
  return full * (1 + emu::cos_two_pi(share / 2)) / 2;
}

}  // namespace ulpscope::training
