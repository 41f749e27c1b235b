// SPDX-License-Identifier: Apache-2.0
// What one optimizer does in a step: a loss, and the parameters that it trains.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "training/tape/tape.hpp"
#include "training/train/model.hpp"
#include "training/train/samples.hpp"
#include "training/train/train_study.hpp"

namespace ulpscope::training {

/// Parameters from `begin` up to `end` - 1.
struct Objective {
  std::string name;                ///< of gan `discriminator`, `generator`; of all others nothing
  std::size_t begin = 0, end = 0;  ///< in the order of parameters_of()
  OptimizerSpec optimizer = {};    ///< that steps them
};

/// In the order in which a step takes them: one, of gan two.
std::vector<Objective> objectives_of(const TrainStudy& study, const std::vector<ParameterShape>& parameters);

/// The loss of a batch: a single number. `seed` is that of the random numbers of gan. @throws ulpscope::Error
template <class Real>
Variable loss_of(Tape<Real>& tape, const TrainStudy& study, const Objective& objective, const std::vector<Variable>& parameters,
                 const Samples& samples, const std::vector<std::size_t>& batch, std::uint64_t seed, Buffers<Real>& buffers);

/// The same of outputs that are there; not for gan.
template <class Real>
Variable loss_of_outputs(Tape<Real>& tape, const TrainStudy& study, Variable outputs, const Samples& samples,
                         const std::vector<std::size_t>& batch);

/// Of outputs, rows of logits, how many have their class's as the largest; of several largest ones the first counts.
template <class Real>
std::size_t right_of(const std::vector<Real>& outputs, const std::vector<std::size_t>& classes);

}  // namespace ulpscope::training
