// SPDX-License-Identifier: Apache-2.0
// Trained weights on samples.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "training/train/model.hpp"
#include "training/train/run.hpp"

namespace ulpscope::training {

/// A model with its weights, and what it is tried on.
template <class Real>
struct TrainedModel {
  const TrainStudy& study;                                       ///< model, and loss
  const Samples& samples;                                        ///< all of them
  std::size_t first = 0;                                         ///< the first that is taken; the last one is the last
  std::function<Tape<Real>()> tape;                              ///< a new one
  std::function<std::vector<Variable>(Tape<Real>&)> parameters;  ///< the weights on it
  Buffers<Real>& buffers;                                        ///< whose statistics batch norms take
};

/// Loss, and accuracy where samples have classes, of `batches` batches of 256 samples, of all where that is 0. Not for gan.
template <class Real>
Evaluation evaluate(const TrainedModel<Real>& model, std::size_t batches);

}  // namespace ulpscope::training
