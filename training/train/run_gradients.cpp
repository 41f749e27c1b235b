// SPDX-License-Identifier: Apache-2.0
// Forward and backward, batch by batch, worker by worker.
#include "training/train/run_gradients.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "training/state/all_reduce.hpp"
#include "training/train/random_keys.hpp"

namespace ulpscope::training {
namespace {

/// Of the n-th batch of a run, whose results are added.
template <class Real>
Tensors<Real> gradients_of_batch(RunParts<Real>& run, std::uint64_t index, std::size_t part, double scale, double share,
                                 BatchResults& results) {
  const Objective& objective = run.parts[part].objective;
  const std::vector<std::size_t> batch = run.batches.at(index);
  const std::uint64_t own = index * run.parts.size() + part;
  Tape<Real> tape = run.tape_of(run.precision, batch_key(run.seed, own));
  tape.on_stored([&run](const Stored<Real>& stored) { run.monitor.add(stored); });
  if (run.options.times != nullptr && run.next_step == 0) tape.tally_into(&run.tally);
  const std::vector<Variable> variables = run.parameters_on(tape, objective.begin, objective.end);
  const bool is_gan = run.study.model.kind == "gan";
  Variable result{};
  if (is_gan) {
    result = loss_of(tape, run.study, objective, variables, run.samples, batch, key_of(run.seed, 2 * own + 6), run.buffers);
  } else {
    const Variable outputs = apply(tape, run.study.model, variables, run.samples, batch, run.buffers);
    if (run.study.loss == "cross_entropy") {
      const std::vector<std::size_t> classes = run.samples.classes_of(batch);
      results.right += right_of(tape.value(outputs).values, classes), results.asked += classes.size();
    }
    result = loss_of_outputs(tape, run.study, outputs, run.samples, batch);
  }
  run.result.activation_bytes = std::max(run.result.activation_bytes, tape.kept_bytes());
  run.result.bytes_per_activation = static_cast<double>(tape.kept_bytes()) / static_cast<double>(tape.kept_numbers());
  results.loss += static_cast<double>(tape.value(result).values[0]) * share / static_cast<double>(run.study.run.workers);
  tape.backward(result, static_cast<Real>(scale * share));
  Tensors<Real> all;
  for (std::size_t i = objective.begin; i < objective.end; ++i) {
    std::vector<Real> gradient = tape.take_gradient(variables[i]);
    if (gradient.empty()) gradient.assign(run.weights[i].size(), 0);
    round_in_place(gradient, run.gradients);
    all.push_back(std::move(gradient));
  }
  return all;
}

/// Of the batches of a worker, added up in their format.
template <class Real>
Tensors<Real> gradients_of_worker(RunParts<Real>& run, std::uint64_t step, std::uint64_t worker, std::size_t part, double scale,
                                  BatchResults& results) {
  const RunSpec& spec = run.study.run;
  const std::uint64_t batches = spec.accumulate, first = (step * spec.workers + worker) * batches;
  const double share = 1 / static_cast<double>(batches);  // of its own loss: a worker knows nothing of the others
  Tensors<Real> all;
  for (std::uint64_t batch = 0; batch < batches; ++batch) {
    Tensors<Real> gradients = gradients_of_batch(run, first + batch, part, scale, share, results);
    if (all.empty()) {
      all = std::move(gradients);
      continue;
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
      for (std::size_t j = 0; j < all[i].size(); ++j) all[i][j] += gradients[i][j];
      round_in_place(all[i], run.gradients);
    }
    forget(run, std::move(gradients));
  }
  return all;
}

}  // namespace

template <class Real>
Tensors<Real> scaled_gradients(RunParts<Real>& run, std::uint64_t step, std::size_t part, double scale, BatchResults& results) {
  const std::uint64_t workers = run.study.run.workers;
  if (workers == 1) return gradients_of_worker(run, step, 0, part, scale, results);
  // All tensors of a worker are one bucket.
  Tensors<Real> buckets, all;
  for (std::uint64_t worker = 0; worker < workers; ++worker) {
    all = gradients_of_worker(run, step, worker, part, scale, results);
    std::vector<Real>& bucket = buckets.emplace_back();
    for (const auto& values : all) bucket.insert(bucket.end(), values.begin(), values.end());
    round_in_place(bucket, run.reduced);
    // As torch's DistributedDataParallel has it: divided before they are added, in the format in which they travel.
    for (Real& x : bucket) x /= static_cast<Real>(workers);
    round_in_place(bucket, run.reduced);
  }
  const std::vector<Real> sum = all_reduce(buckets, parse_reduce_order(run.study.run.all_reduce), run.reduced);
  run.reduced_bytes += bytes_moved(static_cast<std::size_t>(workers), sum.size(), run.reduced.format);
  auto next = sum.begin();
  for (auto& values : all) {
    std::copy_n(next, values.size(), values.begin());
    next += static_cast<std::ptrdiff_t>(values.size());
    round_in_place(values, run.gradients);
  }
  return all;
}

template <class Real>
void forget(const RunParts<Real>& run, Tensors<Real> tensors) {
  for (auto& values : tensors) run.workspace->arrays.give_back(std::move(values));
}

#define ULPSCOPE_RUN(Real)                                                                                     \
  template Tensors<Real> scaled_gradients(RunParts<Real>&, std::uint64_t, std::size_t, double, BatchResults&); \
  template void forget(const RunParts<Real>&, Tensors<Real>);
ULPSCOPE_RUN(float)
ULPSCOPE_RUN(double)
#undef ULPSCOPE_RUN

}  // namespace ulpscope::training
