// SPDX-License-Identifier: Apache-2.0
// Unscales, clips and updates, and finds what is wrong with a step.
#include "training/train/run_step.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "emu/magnitude.hpp"
#include "training/train/random_keys.hpp"
#include "training/train/run_gradients.hpp"
#include "training/train/schedule.hpp"
#include "training/train/wide.hpp"

namespace ulpscope::training {
namespace {

template <class Real>
bool all_finite(const Tensors<Real>& all) {
  return std::all_of(all.begin(), all.end(), [](const auto& values) { return emu::all_finite(std::span<const Real>(values)); });
}

/// A weight that an update made infinite or NaN.
struct BadWeight {
  std::string layer, parameter;  ///< `0` and `weight`
  double value;
};

/// The first of them; there is one.
template <class Real>
BadWeight first_bad_weight(const RunParts<Real>& run) {
  for (std::size_t i = 0; i < run.weights.size(); ++i)
    for (const Real x : run.weights[i])
      if (!std::isfinite(x)) {
        auto [layer, parameter] = layer_and_parameter(run.result.parameters[i].name);
        return {std::move(layer), std::move(parameter), static_cast<double>(x)};
      }
  return {};
}

template <class Real>
double norm_of(const Tensors<Real>& all) {
  double sum = 0;
  for (const auto& values : all)
    for (const Real x : values) sum += static_cast<double>(x) * static_cast<double>(x);
  return std::sqrt(sum);
}

/// gradients_stay_narrow(), or the scaler, as Genesis, divides them in their format before wider weights are given them.
template <class Real>
bool stay_narrow(const RunParts<Real>& run) {
  return gradients_stay_narrow(run.recipe) || (run.scaler && run.scaler->unscales_in_format());
}

template <class Real>
void clip(const RunParts<Real>& run, Tensors<Real>& gradients) {
  const RunSpec& spec = run.study.run;
  const auto each = [&](const auto& clipped) {
    for (auto& values : gradients) {
      for (Real& x : values) x = clipped(x);
      if (stay_narrow(run)) round_in_place(values, run.gradients);
    }
  };
  if (spec.clip_value)
    each([most = static_cast<Real>(*spec.clip_value)](Real x) { return std::fabs(x) > most ? std::copysign(most, x) : x; });
  if (!spec.clip_norm) return;
  const double norm = norm_of(gradients), factor = *spec.clip_norm / (norm + 1e-6);  // as torch.nn.utils.clip_grad_norm_
  if (factor < 1) each([factor = static_cast<Real>(factor)](Real x) { return x * factor; });
}

template <class Real>
void unscale(const RunParts<Real>& run, Tensors<Real>& gradients, double scale) {
  if (scale == 1) return;
  const bool divides = run.scaler && run.scaler->unscales_in_format();
  const Real inverse = static_cast<Real>(1 / scale);
  for (auto& values : gradients) {
    for (Real& x : values) x = divides ? static_cast<Real>(static_cast<double>(x) / scale) : x * inverse;
    if (stay_narrow(run)) round_in_place(values, run.gradients);
  }
}

/// NaN counts as above, as it does where it is recorded.
template <class Real>
double share_above(const Tensors<Real>& gradients, double edge) {
  std::uint64_t above = 0, count = 0;
  for (const auto& values : gradients)
    for (const Real x : values) above += std::fabs(static_cast<double>(x)) <= edge ? 0 : 1, ++count;
  return count == 0 ? 0 : static_cast<double>(above) / static_cast<double>(count);
}

void count(const UpdateCounts& counts, const TrainStep& row, bool is_in_last_tenth, ParameterUpdates& updates) {
  if (is_in_last_tenth) updates.wanted += counts.wanted, updates.lost += counts.lost;
  if (counts.wanted == 0) return;
  if (static_cast<double>(counts.lost) <= notable_loss * static_cast<double>(counts.wanted))
    updates.since.reset();
  else if (!updates.since)
    updates.since = row.step;
}

template <class Real>
void update(RunParts<Real>& run, std::uint64_t steps, const OptimizedPart& part, const Tensors<Real>& gradients,
            TrainStep& row) {
  const double rate = learning_rate(run.study.run, part.objective.optimizer.lr, row.step, steps);
  const bool is_in_last_tenth = row.step + tenth_of(steps) >= steps;
  for (std::size_t i = part.objective.begin; i < part.objective.end; ++i) {
    const UpdateCounts counts =
        optimizer_step(part.settings, run.storage, rate, run.weights[i], gradients[i - part.objective.begin], run.states[i],
                       update_key(run.seed), run.next_random, run.result.parameters[i].shape, run.options.threads);
    run.next_random += run.weights[i].size();
    row.wanted += counts.wanted;
    row.lost += counts.lost, row.small += counts.small;
    count(counts, row, is_in_last_tenth, run.result.updates[i]);
  }
}

void find_once(RunResult& result, TrainFinding found) {
  for (const TrainFinding& other : result.findings)
    if (other.finding == found.finding && other.layer == found.layer && other.place == found.place) return;
  result.findings.push_back(std::move(found));
}

/// A gradient so large in one tensor is found once.
template <class Real>
void look_for_explosions(RunResult& result, std::uint64_t step, std::size_t first, const Tensors<Real>& gradients) {
  constexpr double exploding = 1e4;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const auto largest = static_cast<double>(emu::greatest_magnitude(std::span<const Real>(gradients[i])));
    if (largest > exploding && std::isfinite(largest))
      if (const auto [layer, parameter] = layer_and_parameter(result.parameters[first + i].name); true)
        find_once(result, {step, layer, "grad_" + parameter, "exploding_tensor", largest, exploding});
  }
}

void look_at_scale(RunResult& result, std::uint64_t step, const std::optional<recipes::Scaler>& scaler, double scale) {
  if (!scaler || scaler->floor() >= scaler->cap()) return;  // a static one is at both
  if (scale <= scaler->floor()) find_once(result, {step, "", "scale", "scaler_on_floor", scale, scaler->floor()});
  if (scale >= scaler->cap()) find_once(result, {step, "", "scale", "scaler_on_cap", scale, scaler->cap()});
}

/// Gradients of all parameters: what a step did not form is zero.
template <class Real>
void keep_gradients(RunParts<Real>& run, std::uint64_t step, std::size_t part, const Tensors<Real>& gradients) {
  if (part == 0) {
    RecordedGradients& recorded = run.result.gradients.emplace_back();
    recorded.step = step;
    for (const auto& values : run.weights) recorded.values.emplace_back(values.size(), 0.0);
  }
  for (std::size_t i = 0; i < gradients.size(); ++i)
    run.result.gradients.back().values[run.parts[part].objective.begin + i] = wide(gradients[i]);
}

/// The first gradient that unscaling made infinite or NaN, which no tape has seen.
template <class Real>
void note_bad_gradient(RunParts<Real>& run, const Objective& objective, const Tensors<Real>& gradients, bool was_found,
                       std::uint64_t step) {
  if (was_found || run.bad_gradient || all_finite(gradients)) return;
  const auto first = std::find_if(gradients.begin(), gradients.end(),
                                  [](const auto& values) { return !emu::all_finite(std::span<const Real>(values)); });
  const auto [layer, parameter] =
      layer_and_parameter(run.result.parameters[objective.begin + static_cast<std::size_t>(first - gradients.begin())].name);
  const Real bad = *std::find_if(first->begin(), first->end(), [](Real x) { return !std::isfinite(x); });
  run.bad_gradient = {step, layer, "unscale grad_" + parameter, "non_finite", static_cast<double>(bad), 0};
}

/// The loss, gradients and update of one optimizer. @returns what the scaler is to be told
template <class Real>
recipes::Seen one_part(RunParts<Real>& run, std::uint64_t step, std::uint64_t steps, std::size_t part, TrainStep& row) {
  const RunSpec& spec = run.study.run;
  const std::optional<recipes::Scaler>& scaler = run.scaler;
  const Objective& objective = run.parts[part].objective;
  const bool is_last = part + 1 == run.parts.size();  // of gan the generator, whose loss is the curve
  BatchResults results;
  Tensors<Real> gradients = scaled_gradients(run, step, part, row.scale, results);
  (is_last ? row.loss : row.other_loss) = results.loss;
  row.right += results.right, row.asked += results.asked;
  // The scaled gradients are looked at before they are multiplied, as PyTorch does; Genesis looks behind.
  recipes::Seen seen{.found_inf = !all_finite(gradients)};
  if (scaler && scaler->bin_edge()) seen.upper = share_above(gradients, *scaler->bin_edge());
  if (spec.clip == "before_unscale") clip(run, gradients);
  if (spec.unscale == "before_step") unscale(run, gradients, row.scale);
  if (is_last) row.grad_norm = norm_of(gradients);
  look_for_explosions(run.result, step, objective.begin, gradients);
  if (run.options.gradients_every > 0 && step % run.options.gradients_every == 0) keep_gradients(run, step, part, gradients);
  note_bad_gradient(run, objective, gradients, seen.found_inf, step);
  if (spec.clip == "after_unscale") clip(run, gradients);
  if (scaler && scaler->unscales_in_format()) seen.found_inf = !all_finite(gradients);
  // One scaler may serve several optimizers: whether a step is skipped is each one's own, the next scale comes of them all.
  bool skipped = false;
  if (scaler && spec.on_overflow == "skip") skipped = recipes::Scaler(*scaler).step(seen).skipped;
  (is_last ? row.skipped : row.other_skipped) = skipped;
  if (!skipped) update(run, steps, run.parts[part], gradients, row);
  forget(run, std::move(gradients));
  return seen;
}

}  // namespace

template <class Real>
void one_step(RunParts<Real>& run, std::uint64_t step, std::uint64_t steps) {
  run.bad_gradient.reset();
  TrainStep row{.step = step, .scale = run.scaler ? run.scaler->scale() : 1};
  recipes::Seen all;
  run.reduced_bytes = 0;
  for (std::size_t part = 0; part < run.parts.size(); ++part) {
    const recipes::Seen seen = one_part(run, step, steps, part, row);
    all.found_inf |= seen.found_inf;
    if (seen.upper) all.upper = std::max(all.upper.value_or(0), *seen.upper);
  }
  if (run.study.run.average && !(row.skipped && (run.parts.size() == 1 || row.other_skipped))) {
    const UpdateCounts of_average = follow(run.average, run.weights, *run.study.run.average, run.storage.average);
    row.average_wanted = of_average.wanted, row.average_lost = of_average.lost;
  }
  run.delayed.step();
  RunResult& result = run.result;
  result.all_reduce_bytes = run.reduced_bytes;
  const bool raised = run.scaler && run.scaler->step(all).raised;
  result.steps.push_back(row);
  look_at_scale(result, step, run.scaler, row.scale);
  if (raised) result.findings.push_back({step, "", "", "scaler_raised", row.scale, run.scaler->floor()});
  const double losses = row.loss + row.other_loss;
  const bool bad_loss = !std::isfinite(losses), bad_weights = !all_finite(run.weights);
  if (bad_loss || bad_weights) {
    const std::optional<Place>& place = run.monitor.first_nonfinite();
    TrainFinding found{
        step, place ? place->layer : "", place ? place->operation + " " + place->place : "", "non_finite", losses, 0};
    if (place) found.value = run.monitor.first_nonfinite_number();
    if (!bad_loss) {
      const BadWeight bad = first_bad_weight(run);
      if (!place) found.value = bad.value;
      if (!place) found.layer = bad.layer, found.place = "update " + bad.parameter;
      if (!place && run.bad_gradient) found = *run.bad_gradient;
    }
    result.findings.push_back(found);
  }
  result.diverged = raised || bad_loss || bad_weights;
}

template void one_step(RunParts<float>&, std::uint64_t, std::uint64_t);
template void one_step(RunParts<double>&, std::uint64_t, std::uint64_t);

}  // namespace ulpscope::training
