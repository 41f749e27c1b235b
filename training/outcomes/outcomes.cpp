// SPDX-License-Identifier: Apache-2.0
// Outcomes that training runs show, and the list of all.
#include "training/outcomes/outcomes.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "emu/error.hpp"
#include "emu/names.hpp"
#include "emu/suggestions.hpp"
#include "recipes/scaler.hpp"
#include "reports/table.hpp"
#include "requests/parts.hpp"
#include "studies/census/sweep.hpp"
#include "training/outcomes/student.hpp"
#include "training/train/recipe_runs.hpp"
#include "training/train/run.hpp"
#include "training/train/train_all.hpp"

namespace ulpscope::training {
namespace {

using reports::whole;
using studies::digits, studies::Judgement, studies::Measurement, studies::verdicts::fails, studies::verdicts::holds,
    studies::verdicts::within_limits;

/// One weight and one bias that are to make 0 of 1, of 4096 samples that are all the same: each sample's gradient is a 4096th.
TrainStudy to_zero(const std::string& scaler, std::uint64_t steps) {
  TrainStudy study;
  study.model.layers = {{"linear", {1, 1}}};
  study.data.inputs = "uniform:1,1:4096x1", study.data.targets = "uniform:0,0:4096x1";
  study.loss = "mse", study.scaler = scaler;
  study.optimizer.lr = 0.1, study.run.steps = steps;
  return study;
}

RunResult run_of(const TrainStudy& study, const std::string& recipe, int threads) {
  return train(study, read_samples(study), recipe, 0, {.threads = threads});
}

double last_loss(const RunResult& run) { return run.steps.back().loss; }
std::uint64_t skipped(const RunResult& run) {
  return static_cast<std::uint64_t>(
      std::count_if(run.steps.begin(), run.steps.end(), [](const TrainStep& step) { return step.skipped; }));
}

/// A weight and a bias that are to say yes to samples that are all the same: a loss that falls for ever.
TrainStudy to_yes(const std::string& scaler) {
  TrainStudy study = to_zero(scaler, 150);
  study.data.inputs = "uniform:1,1:65536x1", study.data.targets = "uniform:1,1:65536x1";
  study.loss = "bce_with_logits", study.optimizer.lr = 8;
  return study;
}

Judgement fp16_without_scale(int threads) {
  const double without = last_loss(run_of(to_yes(""), "fp16_amp", threads)),
               with = last_loss(run_of(to_yes("pytorch"), "fp16_amp", threads)),
               wide = last_loss(run_of(to_yes(""), "float32", threads));
  return {.verdict = without > 2 * wide && with < 1.1 * wide ? holds : fails,
          .sentence = "After 150 steps the loss is " + digits(wide, 2) + " in float32 and " + digits(with, 2) +
                      " in float16 with PyTorch's scaler; without one it stays at " + digits(without, 2) +
                      ", where a sample's gradient is below 2^-25 and becomes zero.",
          .measurements = {{"loss", "fp16_amp, no scaler", without, wide, "measured: float32's"},
                           {"loss", "fp16_amp, pytorch", with, wide, "measured: float32's"}}};
}

Judgement scale_too_large(int threads) {
  constexpr std::uint64_t steps = 40;
  const RunResult fixed = run_of(to_zero("static:2^30", steps), "fp16_amp", threads),
                  dynamic = run_of(to_zero("pytorch:init_scale=2^30", steps), "fp16_amp", threads);
  return {.verdict = skipped(fixed) == steps && skipped(dynamic) < steps && last_loss(dynamic) < fixed.steps[0].loss / 100
                         ? holds
                         : fails,
          .sentence = "With a static scale of 2^30 all " + std::to_string(skipped(fixed)) +
                      " steps are skipped; PyTorch's scaler begins there, skips " + std::to_string(skipped(dynamic)) +
                      ", and brings the loss from " + digits(dynamic.steps[0].loss, 2) + " to " +
                      digits(last_loss(dynamic), 2) + ".",
          .measurements = {
              {"skipped_steps", "static:2^30", whole(skipped(fixed)), whole(0), "chosen: a scale is there to train with"},
              {"skipped_steps", "pytorch:init_scale=2^30", whole(skipped(dynamic)), whole(skipped(fixed)),
               "measured: the static scale's"}}};
}

Judgement clip_before_unscale(int threads) {
  const auto moved = [&](const std::string& order) {
    TrainStudy study = to_zero("static:2^10", 1);
    study.run.clip_norm = 1e-3, study.run.clip = order;
    const RunResult after = run_of(study, "float64", threads);
    study.optimizer.lr = 0;
    const RunResult before = run_of(study, "float64", threads);
    double norm = 0;
    for (std::size_t p = 0; p < 2; ++p) {
      const double d = after.recorded.back().values[p][0] - before.recorded.back().values[p][0];
      norm += d * d;
    }
    return std::sqrt(norm) / 0.1;
  };
  const double right = moved("after_unscale"), wrong = moved("before_unscale");
  return {.verdict = std::fabs(right / wrong / 1024 - 1) < 0.01 ? holds : fails,
          .sentence = "With a scale of 2^10 and gradients clipped to a norm of 1e-3 a step has a norm of " + digits(right, 3) +
                      " if they are unscaled first, and " + digits(wrong, 3) + " if not: the limit is 1e-3 over the scale.",
          .measurements = {
              {"step_ratio", "clipped behind over before the unscaling", right / wrong, 1024.0, "derived: the scale"}}};
}

/// A GPT of 1,000 weights or so, on sequences with a known optimum.
TrainStudy small_gpt(std::vector<std::string> recipes) {
  TrainStudy study;
  study.model.kind = "gpt";
  study.model.vocabulary = 8, study.model.context = 8, study.model.width = 16, study.model.heads = 2, study.model.blocks = 1;
  study.data.table = "markov", study.data.samples = 1024, study.data.batch = 16, study.data.order = "shuffled";
  study.loss = "cross_entropy", study.scaler = "pytorch";
  study.optimizer.kind = "adam", study.optimizer.lr = 1e-2;
  study.run.steps = 40, study.run.seeds = {0, 1, 2, 3, 4, 5, 6, 7}, study.run.schedule = "cosine",
  study.run.recipes = std::move(recipes);
  return study;
}

/// Final losses of a recipe beside those of another, seed by seed.
struct Beside {
  std::string where;                ///< which two
  std::size_t seeds = 0;            ///< that both have
  double loss = 0, difference = 0;  ///< the first one's mean, and what it has more than the second
  double t = 0, critical = 0;       ///< the difference in its standard errors, and from which t on it is seen
  double least = 0;                 ///< difference that is seen

  /// Also of a run that diverged, which has no loss.
  bool is_seen() const { return !(std::fabs(t) <= critical); }
  Measurement measured() const {
    return {"standard_errors", where, std::fabs(t), critical,
            "Student's t, " + std::to_string(seeds - 1) + " degrees of freedom, two-sided 1%"};
  }
  std::string power() const {
    return digits(t, 2) + " standard errors apart by the differences of " + std::to_string(seeds) + " seeds; a difference of " +
           digits(least, 2) + " would have been seen";
  }
};
Beside beside(const RecipeRuns& one, const RecipeRuns& other) {
  const std::vector<double> apart = differences(one, other);
  const double critical = critical_t(static_cast<int>(apart.size()) - 1, 0.01);
  return {.where = one.recipe + " to " + other.recipe + ", final loss",
          .seeds = apart.size(),
          .loss = mean_of(one.of(final_loss)),
          .difference = mean_of(apart),
          .t = student_t(apart),
          .critical = critical,
          .least = critical * error_of_mean(apart)};
}

Judgement dynamic_scale_is_float32(int threads) {
  const std::vector<RunResult> runs = train_all(small_gpt({"float32", "fp16_amp", "bf16_pure"}), {.run = {.threads = threads}});
  const std::vector<RecipeRuns> by = by_recipe(runs);
  const Beside fp16 = beside(by[1], by[0]), control = beside(by[2], by[0]);
  recipes::Scaler scaler("pytorch");
  std::uint64_t skips = 0;
  for (int step = 0; step < 10000; ++step) skips += scaler.step({.found_inf = scaler.scale() >= 65520}).skipped ? 1 : 0;
  // Where the runs do not tell bf16_pure from float32 either they say nothing.
  const bool is_same = !fp16.is_seen() && skips == 5;
  return {.verdict = !is_same            ? fails
                     : control.is_seen() ? holds
                                         : within_limits,
          .sentence = "A small GPT comes to a loss of " + digits(fp16.loss, 4) + " in fp16_amp with PyTorch's scaler and to " +
                      digits(fp16.loss - fp16.difference, 4) + " in float32, " + fp16.power() + ". bf16_pure is " +
                      digits(control.t, 2) + " standard errors from float32. Where the largest gradient is 1, " +
                      std::to_string(skips) + " of 10000 steps are skipped, each 2001 apart.",
          .measurements = {fp16.measured(),
                           {"skipped_steps", "pytorch, 10000 steps, amax 1", whole(skips), whole(5), "derived: one in 2001"},
                           {"least_difference", fp16.where, fp16.least},
                           control.measured()}};
}

/// What is reported of large runs and may not be seen in so small a one.
Judgement diverges_elsewhere(const std::string& recipe, const std::string& source, int threads) {
  const std::vector<RunResult> runs = train_all(small_gpt({"mxfp8", recipe}), {.run = {.threads = threads}});
  const std::vector<RecipeRuns> by = by_recipe(runs);
  const Beside mxfp8 = beside(by[1], by[0]);
  const bool worse = mxfp8.is_seen() && !(mxfp8.difference <= 0);
  return {.verdict = worse ? holds : within_limits,
          .sentence = (worse ? "It shows: " : "It does not show at this size: ") + recipe + " comes to a loss of " +
                      digits(mxfp8.loss, 4) + ", mxfp8 to " + digits(mxfp8.loss - mxfp8.difference, 4) + ", " + mxfp8.power() +
                      ". " + source + ".",
          .measurements = {mxfp8.measured(), {"least_difference", mxfp8.where, mxfp8.least}}};
}

struct Outcome {
  std::string name, statement;
  std::function<Judgement(int threads)> judge;
};

template <class Judge>
std::function<Judgement(int)> alone(Judge judge) {
  return [judge](int) { return judge(); };
}

const std::vector<Outcome>& outcomes() {
  static const std::vector<Outcome> all{
      {"fp16_without_scale", "fp16 without a loss scale stalls: gradients become zero", fp16_without_scale},
      {"scale_too_large", "a static scale too large never steps, a dynamic one recovers", scale_too_large},
      {"dynamic_scale_is_float32", "fp16 with a dynamic scale and float32 weights trains as float32 does",
       dynamic_scale_is_float32},
      {"master_weights_missing_fp16", "weights in fp16 stop late", alone(master_weights_missing_fp16)},
      {"master_weights_missing_bf16", "weights in bf16 stop early", alone(master_weights_missing_bf16)},
      {"stochastic_and_kahan", "stochastic or Kahan's updates of bf16 weights go on", alone(stochastic_and_kahan)},
      {"adam_epsilon_fp16", "Adam in fp16 divides by zero: its epsilon of 1e-8 is 0", alone(adam_epsilon_fp16)},
      {"adam_second_moment_bf16", "Adam's second moment in bf16 stops, and steps are too large",
       alone(adam_second_moment_bf16)},
      {"e4m3_gradients", "gradients in E4M3 under one scale underflow", alone(e4m3_gradients)},
      {"delayed_spike", "a spike of amax saturates a delayed scale once, and costs its resolution for a history",
       alone(delayed_spike)},
      {"hopper_accumulator", "products in fp8 with 13 bits of fraction in their sums are biased", hopper_accumulator},
      {"mxfp8_floor_scales", "MXFP8 with scales rounded down clamps, and errs more", mxfp8_floor_scales},
      {"mxfp8_floor_training", "training in MXFP8 with scales rounded down is worse",
       [](int threads) { return diverges_elsewhere("mxfp8_floor", "arXiv 2506.08027 reports it of large models", threads); }},
      {"mxfp8_e5m2_gradients", "training in MXFP8 with gradients in E5M2 is worse",
       [](int threads) {
         return diverges_elsewhere("mxfp8_e5m2_gradients", "NVIDIA-NeMo, Megatron-Bridge pull request 638, reports it",
                                   threads);
       }},
      {"clip_before_unscale", "gradients clipped before they are unscaled have a limit that is too small by the scale",
       clip_before_unscale},
      {"functions_fp16", "squares, sums and exponentials in fp16 become infinite", alone(functions_fp16)},
  };
  return all;
}

const Outcome& find_outcome(const std::string& name) {
  const auto found = std::find_if(outcomes().begin(), outcomes().end(), [&](const Outcome& o) { return o.name == name; });
  if (found == outcomes().end())
    throw Error("unknown outcome '" + name + "'; nearest: " + emu::comma_separated(emu::closest_words(name, outcome_names())));
  return *found;
}

}  // namespace

std::vector<std::string> outcome_names() {
  std::vector<std::string> names;
  for (const Outcome& outcome : outcomes()) names.push_back(outcome.name);
  return names;
}

void OutcomesRequest::describe(requests::Fields& fields) {
  fields.add("outcome", outcome, "outcomes to show").as_commas().as_value("OUTCOME,...").shown();
  requests::describe_threads(fields, threads);
}

studies::StudyResult run(const OutcomesRequest& request, const studies::Progress& progress) {
  std::vector<studies::Statement> statements;
  for (const std::string& name : request.outcome) {
    const Outcome& outcome = find_outcome(name);
    statements.push_back({name, outcome.statement, [&outcome, &request] { return outcome.judge(request.threads); }});
  }
  return studies::judge_all(statements, "outcomes", progress);
}

studies::Work work_of(const OutcomesRequest& request) {
  for (const std::string& name : request.outcome) find_outcome(name);
  return {.operations = request.outcome.size(), .rows = request.outcome.size()};
}

}  // namespace ulpscope::training
