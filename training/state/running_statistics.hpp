// SPDX-License-Identifier: Apache-2.0
// Running statistics of a batch norm, as numbers of a chosen format: what is left of 0.1 of a batch once it is rounded.
#pragma once

#include <cstddef>
#include <cstdint>

#include "training/tape/operations.hpp"
#include "training/tape/precision.hpp"

namespace ulpscope::training {

/// What a batch norm keeps for evaluation, as torch.nn.BatchNorm has it: mean 0 and variance 1 at first.
template <class Real>
struct RunningStatistics {
  explicit RunningStatistics(std::size_t channels = 0)
      : statistics{std::vector<Real>(channels, 0), std::vector<Real>(channels, 1)} {}

  BatchStatistics<Real> statistics = {};  ///< mean, and variance with divisor n - 1
  std::uint64_t wanted = 0;               ///< changes that were not zero
  std::uint64_t lost = 0;                 ///< of these, that rounding undid
};

/// running = (1 - momentum) running + momentum batch, each product and the sum rounded to nearest even in Real, the result as
/// `storage` says; torch's momentum is 0.1. @throws ulpscope::Error where the channels differ
template <class Real>
void follow(RunningStatistics<Real>& running, const BatchStatistics<Real>& batch, const Storage& storage,
            double momentum = 0.1);

}  // namespace ulpscope::training
