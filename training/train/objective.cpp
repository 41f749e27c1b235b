// SPDX-License-Identifier: Apache-2.0
// Losses of models.
#include "training/train/objective.hpp"

#include <algorithm>

#include "training/tape/operations.hpp"
#include "training/train/gan.hpp"

namespace ulpscope::training {

std::vector<Objective> objectives_of(const TrainStudy& study, const std::vector<ParameterShape>& parameters) {
  if (study.model.kind != "gan") return {{"", 0, parameters.size(), study.optimizer}};
  const std::size_t generator = layer_parameters(study.model.layers, "").size();
  return {{"discriminator", generator, parameters.size(), study.discriminator}, {"generator", 0, generator, study.generator}};
}

template <class Real>
Variable loss_of(Tape<Real>& tape, const TrainStudy& study, const Objective& objective, const std::vector<Variable>& parameters,
                 const Samples& samples, const std::vector<std::size_t>& batch, std::uint64_t seed, Buffers<Real>& buffers) {
  if (study.model.kind == "gan")
    return gan_loss(tape, study.model, objective.name == "generator" ? GanPart::generator : GanPart::discriminator, parameters,
                    samples, batch, seed, buffers);
  return loss_of_outputs(tape, study, apply(tape, study.model, parameters, samples, batch, buffers), samples, batch);
}

template <class Real>
Variable loss_of_outputs(Tape<Real>& tape, const TrainStudy& study, Variable outputs, const Samples& samples,
                         const std::vector<std::size_t>& batch) {
  constexpr emu::Format own = sizeof(Real) == sizeof(float) ? emu::float32 : emu::float64;
  if (study.loss == "cross_entropy") return cross_entropy(tape, outputs, samples.classes_of(batch));
  if (study.loss == "sum") return sum(tape, outputs);
  const Variable target = tape.input(samples.targets_of<Real>(batch), own, false);
  return study.loss == "mse" ? mean_squared_error(tape, outputs, target)
                             : binary_cross_entropy_with_logits(tape, outputs, target);
}

template <class Real>
std::size_t right_of(const std::vector<Real>& outputs, const std::vector<std::size_t>& classes) {
  const std::size_t width = outputs.size() / classes.size();
  std::size_t right = 0;
  for (std::size_t i = 0; i < classes.size(); ++i) {
    const auto row = outputs.begin() + static_cast<std::ptrdiff_t>(i * width);
    const auto best = static_cast<std::size_t>(std::max_element(row, row + static_cast<std::ptrdiff_t>(width)) - row);
    right += best == classes[i] ? 1 : 0;
  }
  return right;
}

template std::size_t right_of(const std::vector<float>&, const std::vector<std::size_t>&);
template std::size_t right_of(const std::vector<double>&, const std::vector<std::size_t>&);
template Variable loss_of_outputs(Tape<float>&, const TrainStudy&, Variable, const Samples&, const std::vector<std::size_t>&);
template Variable loss_of_outputs(Tape<double>&, const TrainStudy&, Variable, const Samples&, const std::vector<std::size_t>&);
template Variable loss_of(Tape<float>&, const TrainStudy&, const Objective&, const std::vector<Variable>&, const Samples&,
                          const std::vector<std::size_t>&, std::uint64_t, Buffers<float>&);
template Variable loss_of(Tape<double>&, const TrainStudy&, const Objective&, const std::vector<Variable>&, const Samples&,
                          const std::vector<std::size_t>&, std::uint64_t, Buffers<double>&);

}  // namespace ulpscope::training
