// SPDX-License-Identifier: Apache-2.0
// Batches forward, and their largest logits.
#include "training/train/evaluation.hpp"

#include <algorithm>

#include "training/train/objective.hpp"

namespace ulpscope::training {

template <class Real>
Evaluation evaluate(const TrainedModel<Real>& model, std::size_t batches) {
  constexpr std::size_t at_once = 256;
  std::size_t right = 0, all = 0, end = model.samples.count;
  if (batches != 0) end = std::min(end, model.first + batches * at_once);
  Evaluation evaluation;
  model.buffers.training = false;
  for (std::size_t begin = model.first; begin < end; begin += at_once) {
    std::vector<std::size_t> batch;
    for (std::size_t i = begin; i < std::min(end, begin + at_once); ++i) batch.push_back(i);
    Tape<Real> tape = model.tape();
    const Variable outputs = apply(tape, model.study.model, model.parameters(tape), model.samples, batch, model.buffers);
    const Variable loss = loss_of_outputs(tape, model.study, outputs, model.samples, batch);
    evaluation.loss += static_cast<double>(tape.value(loss).values[0]) * static_cast<double>(batch.size()) /
                       static_cast<double>(end - model.first);
    if (model.study.loss != "cross_entropy") continue;
    const std::vector<std::size_t> wanted = model.samples.classes_of(batch);
    right += right_of(tape.value(outputs).values, wanted), all += wanted.size();
  }
  model.buffers.training = true;
  if (all > 0) evaluation.accuracy = static_cast<double>(right) / static_cast<double>(all);
  return evaluation;
}

template Evaluation evaluate(const TrainedModel<float>&, std::size_t);
template Evaluation evaluate(const TrainedModel<double>&, std::size_t);

}  // namespace ulpscope::training
