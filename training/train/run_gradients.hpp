// SPDX-License-Identifier: Apache-2.0
// The gradients of a step: of its batches, on a tape each, added up by worker and reduced over the workers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "training/train/run_parts.hpp"

namespace ulpscope::training {

/// What the batches of a step say of the model.
struct BatchResults {
  double loss = 0;                     ///< the mean
  std::uint64_t right = 0, asked = 0;  ///< classes that were guessed, and all
};

/// Scaled gradients of the parameters of `part`, in their format; `results` are of its batches. @throws ulpscope::Error
template <class Real>
Tensors<Real> scaled_gradients(RunParts<Real>& run, std::uint64_t step, std::size_t part, double scale, BatchResults& results);

/// Memory that comes back to tapes.
template <class Real>
void forget(const RunParts<Real>& run, Tensors<Real> tensors);

}  // namespace ulpscope::training
