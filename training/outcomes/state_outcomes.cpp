// SPDX-License-Identifier: Apache-2.0
// What formats leave of single weights, moments, scales and operations.
#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "emu/bulk.hpp"
#include "emu/catalogue.hpp"
#include "emu/encode.hpp"
#include "emu/names.hpp"
#include "recipes/scaler.hpp"
#include "reports/columns.hpp"
#include "studies/census/census.hpp"
#include "studies/census/sweep.hpp"
#include "tensors/synthetic.hpp"
#include "training/outcomes/outcomes.hpp"
#include "training/state/optimizer.hpp"
#include "training/tape/operations.hpp"
#include "training/tape/product.hpp"

namespace ulpscope::training {
namespace {

using reports::whole;
using studies::digits, studies::Judgement, studies::verdicts::fails, studies::verdicts::holds;

const char* const derived = "derived: the exact recurrence";

/// Where a weight ends that walks down (w - 1)^2 / 2 from 0 with a learning rate of 0.01.
struct Walk {
  double weight = 0;
  std::uint64_t last_change = 0;  ///< the last step that changed it, from 0
};

Walk walk(emu::Format format, UpdateRounding update, std::uint64_t steps) {
  const StateStorage storage{.weights = {format, {}}, .update = update};
  std::vector<float> weight{0};
  OptimizerState<float> state;
  Walk walk;
  for (std::uint64_t step = 0; step < steps; ++step) {
    const std::vector<float> before = weight, gradient{weight[0] - 1};
    optimizer_step({}, storage, 0.01, weight, gradient, state, 1, step);
    if (weight != before) walk.last_change = step;
  }
  walk.weight = static_cast<double>(weight[0]);
  return walk;
}

Judgement stops(emu::Format format) {
  constexpr std::uint64_t steps = 3000;
  const Walk narrow = walk(format, UpdateRounding::nearest, steps), wide = walk(emu::float32, UpdateRounding::nearest, steps);
  const std::string name = emu::format_name(format);
  return {.verdict = narrow.weight < 0.99 && wide.weight > 0.999 ? holds : fails,
          .sentence = "A weight in " + name + " on the way to 1 stops at " + digits(narrow.weight, 10) + " after step " +
                      std::to_string(narrow.last_change) +
                      ", where an update is less than half an ulp; one in float32 comes to " + digits(wide.weight, 6) + ".",
          .measurements = {{"weight", name + ", learning rate 0.01", narrow.weight, 1.0, derived},
                           {"last_change", name, whole(narrow.last_change)},
                           {"weight", "float32", wide.weight, 1.0, derived}}};
}

/// Adam with gradients that are all `gradient`, until something is not finite; at most `steps`.
struct AdamWalk {
  double weight = 1, second = 0;
  std::uint64_t steps = 0;
};
AdamWalk adam(const StateStorage& storage, double eps, float gradient, std::uint64_t steps) {
  std::vector<float> weight{1};
  OptimizerState<float> state;
  AdamWalk walk;
  while (walk.steps < steps && std::isfinite(weight[0])) {
    optimizer_step({.kind = OptimizerKind::adam, .eps = eps}, storage, 1e-3, weight, {gradient}, state, 1, walk.steps);
    ++walk.steps;
  }
  walk.weight = static_cast<double>(weight[0]), walk.second = static_cast<double>(state.second[0]);
  return walk;
}

StateStorage all_in(emu::Format format) {
  MomentStorage moment;
  moment.format = format;
  return {.weights = {format, {}}, .first = moment, .second = moment, .step = format};
}

std::vector<float> drawn(const std::string& words, std::size_t count, std::uint64_t seed) {
  std::vector<float> values(count);
  tensors::synthetic(words + ":" + std::to_string(count), seed).source->read(0, std::span<float>(values));
  return values;
}

/// The mean relative error of sums of K products of e4m3 numbers from [0, 1), as Hopper's tensor core forms them.
double mean_error(std::size_t k, std::size_t promote, int threads) {
  constexpr std::size_t extent = 8;
  const std::vector<float> a = drawn("uniform:0,1", extent * k, 1), b = drawn("uniform:0,1", extent * k, 2);
  const Storage e4m3{emu::float8_e4m3fn, {}};
  std::vector<std::vector<float>> stored;
  const Store<float> store = [&](std::span<float> values, const Storage& storage, std::string_view, const Padding&) {
    emu::round_to(storage.format, std::span<const float>(values), values, storage.options, {});
    stored.emplace_back(values.begin(), values.end());
  };
  std::vector<float> d(extent * extent);
  Workspace<float> workspace;
  const OperandPrecision operand{.storage = e4m3};
  const ProductOperand<float> left{{a, extent, k}, operand, "input"}, right{{b, k, extent, true}, operand, "weight"};
  multiply<float>(left, right, {.engine = "sm_90", .accumulate = emu::float32, .promote = promote, .threads = threads}, store,
                  workspace, std::span<float>(d));
  double mean = 0;
  for (std::size_t i = 0; i < extent; ++i)
    for (std::size_t j = 0; j < extent; ++j) {
      double exact = 0;
      for (std::size_t p = 0; p < k; ++p)
        exact += static_cast<double>(stored[0][i * k + p]) * static_cast<double>(stored[1][j * k + p]);
      mean += (static_cast<double>(d[i * extent + j]) - exact) / exact / static_cast<double>(d.size());
    }
  return mean;
}

const tensors::Tensor& normal_numbers() {
  static const tensors::Tensor numbers = tensors::synthetic("normal:0,1:1048576", 0);
  return numbers;
}

studies::ErrorSums scaled(const char* rule, int threads) {
  const studies::CensusConfig config{
      .formats = {emu::float8_e4m3fn}, .options = {}, .seed = 0, .threads = threads, .progress = {}};
  return studies::census(normal_numbers(), studies::parse_scaling(rule), config).front().sums;
}

/// The share of numbers that are above the largest of the format once they are multiplied by the scale of their block of 32.
double clipped(const char* rule) {
  constexpr std::size_t block = 32;
  const studies::ScaleMap scales(studies::parse_scaling(rule), emu::float8_e4m3fn, normal_numbers());
  std::vector<float> values(static_cast<std::size_t>(normal_numbers().count()));
  normal_numbers().source->read(0, std::span<float>(values));
  const double largest = emu::max_finite(emu::float8_e4m3fn);
  std::size_t above = 0;
  for (std::size_t i = 0; i < values.size(); ++i)
    above += std::fabs(static_cast<double>(values[i])) * scales.block(i / block).multiply > largest ? 1 : 0;
  return static_cast<double>(above) / static_cast<double>(values.size());
}

}  // namespace

Judgement master_weights_missing_fp16() { return stops(emu::float16); }
Judgement master_weights_missing_bf16() { return stops(emu::bfloat16); }

Judgement stochastic_and_kahan() {
  constexpr std::uint64_t steps = 3000;
  const Walk stochastic = walk(emu::bfloat16, UpdateRounding::stochastic, steps),
             kahan = walk(emu::bfloat16, UpdateRounding::kahan, steps),
             nearest = walk(emu::bfloat16, UpdateRounding::nearest, steps);
  const double ulp = 0x1p-8;  // of bfloat16 below 1
  const bool shown = std::fabs(kahan.weight - 1) <= ulp && std::fabs(stochastic.weight - 1) <= 16 * ulp && nearest.weight < 0.9;
  return {.verdict = shown ? holds : fails,
          .sentence = "A weight in bfloat16 comes to " + digits(kahan.weight, 6) + " with Kahan's updates and to " +
                      digits(stochastic.weight, 6) + " with stochastic ones, which walk about; to nearest it stops at " +
                      digits(nearest.weight, 6) + ".",
          .measurements = {{"weight", "bfloat16, kahan", kahan.weight, 1.0, derived},
                           {"weight", "bfloat16, stochastic", stochastic.weight, 1.0, derived},
                           {"weight", "bfloat16, nearest", nearest.weight, 1.0, derived}}};
}

Judgement adam_epsilon_fp16() {
  const double eps = emu::round_to(emu::float16, 1e-8).value;
  const AdamWalk narrow = adam(all_in(emu::float16), eps, 1e-4F, 1000), wide = adam(all_in(emu::float32), 1e-8, 1e-4F, 1000);
  return {.verdict = !std::isfinite(narrow.weight) && std::isfinite(wide.weight) ? holds : fails,
          .sentence = "In float16 an epsilon of 1e-8 is " + digits(eps) +
                      " and the square of a gradient of 1e-4 is 0: the quotient is " + digits(narrow.weight) + " at step " +
                      std::to_string(narrow.steps - 1) + ". In float32 1000 steps bring the weight to " + digits(wide.weight) +
                      ".",
          .measurements = {{"steps_until_not_finite", "float16", whole(narrow.steps), whole(1000), "chosen: steps tried"},
                           {"eps", "float16", eps, 1e-8, "torch.optim.Adam"},
                           {"weight", "float32", wide.weight}}};
}

Judgement adam_second_moment_bf16() {
  StateStorage narrow = all_in(emu::float32);
  narrow.second.format = emu::bfloat16;
  constexpr std::uint64_t steps = 10000;
  const AdamWalk bf16 = adam(narrow, 1e-8, 1, steps), wide = adam(all_in(emu::float32), 1e-8, 1, steps);
  const double ratio = std::sqrt(wide.second / bf16.second);
  return {.verdict = bf16.second == 0.25 && ratio > 1.9 ? holds : fails,
          .sentence = "With gradients of 1 Adam's second moment stops at " + digits(bf16.second) +
                      " in bfloat16, where a thousandth of "
                      "the rest is less than half an ulp; in float32 it comes to " +
                      digits(wide.second, 6) + ". Steps are " + digits(ratio, 3) + " times too large.",
          .measurements = {{"second_moment", "bfloat16, after 10000 steps", bf16.second, wide.second, "measured: float32's"},
                           {"step_ratio", "bfloat16 over float32", ratio, 1.0, derived}}};
}

Judgement e4m3_gradients() {
  std::uint64_t lost = 0, lost_scaled = 0;
  for (int i = 0; i <= 40; ++i) {
    lost += emu::round_to(emu::float8_e4m3fn, std::ldexp(1.0, -i)).value == 0 ? 1 : 0;
    lost_scaled += emu::round_to(emu::float8_e4m3fn, std::ldexp(256.0, -i)).value == 0 ? 1 : 0;
  }
  return {.verdict = lost > 20 ? holds : fails,
          .sentence = "Of gradients 2^0 to 2^-40 E4M3 loses " + std::to_string(lost) + " of 41 binades without a scale, and " +
                      std::to_string(lost_scaled) +
                      " with the best one for the whole tensor: its range is too short for one scale.",
          .measurements = {
              {"lost", "float8_e4m3fn, scale 1", whole(lost), whole(0), "chosen: nothing is lost if no gradient becomes zero"},
              {"lost", "float8_e4m3fn, scale 2^8", whole(lost_scaled)}}};
}

Judgement delayed_spike() {
  constexpr double largest = 448, spike = 1000;
  constexpr std::uint64_t steps = 3000, at = 500;
  recipes::Scaler scaler("te_delayed", emu::float8_e4m3fn);
  std::uint64_t saturated = 0, coarse = 0;
  for (std::uint64_t step = 0; step < steps; ++step) {
    const double amax = step == at ? spike : 1;
    saturated += amax * scaler.scale() > largest ? 1 : 0;
    coarse += step > at && scaler.scale() < largest / 2 ? 1 : 0;
    scaler.step({.amax = amax});
  }
  constexpr std::uint64_t history = 1024;
  return {.verdict = saturated == 1 && coarse == history ? holds : fails,
          .sentence = "A spike of 1000 times the usual amax saturates for " + std::to_string(saturated) + " step; for the " +
                      std::to_string(coarse) + " behind it the scale is that of the spike, and ten bits of range are unused.",
          .measurements = {{"steps_coarse", "te_delayed, float8_e4m3fn", whole(coarse), whole(history),
                            "Transformer Engine, DelayedScaling: amax_history_len"},
                           {"steps_saturated", "te_delayed, float8_e4m3fn", whole(saturated)}}};
}

Judgement hopper_accumulator(int threads) {
  constexpr std::size_t k = 4096;
  const double plain = mean_error(k, 0, threads), promoted = mean_error(k, 128, threads);
  return {.verdict = plain < -0.01 && std::fabs(promoted) < std::fabs(plain) / 10 ? holds : fails,
          .sentence = "Sums of 4096 products of numbers from [0, 1) in E4M3 come out " + digits(-100 * plain, 3) +
                      "% too small on sm_90, whose sums keep 13 bits of fraction and cut off the rest; " +
                      digits(-100 * promoted, 3) + "% if partial sums go to float32 every 128 products.",
          .measurements = {
              {"mean_relative_error", "sm_90, float8_e4m3fn, K = 4096", plain, promoted, "measured: promoted every 128"},
              {"mean_relative_error", "the same, promoted every 128", promoted}}};
}

Judgement mxfp8_floor_scales(int threads) {
  const studies::ErrorSums floor = scaled("mx:floor", threads), up = scaled("mx:rceil", threads);
  const double root = studies::root_mean(floor.saturating_error, 1) / studies::root_mean(up.saturating_error, 1),
               ratio = root * root;
  const double of_floor = clipped("mx:floor"), of_rceil = clipped("mx:rceil");
  return {.verdict = ratio > 1.1 && of_floor > 0.005 && of_rceil == 0 ? holds : fails,
          .sentence = "Scales rounded down clip " + digits(100 * of_floor, 3) +
                      "% of normal numbers in MXFP8 and make the mean squared error " + digits(100 * (ratio - 1), 3) +
                      "% larger than scales rounded up, which clip none.",
          .measurements = {
              {"mse_ratio", "mx:floor over mx:rceil, float8_e4m3fn, normal:0,1", ratio, 1.0, "arXiv 2506.08027 rounds up"},
              {"clipped", "mx:floor, above 448 before rounding", of_floor},
              {"clipped", "mx:rceil", of_rceil}}};
}

Judgement functions_fp16() {
  Tape<float> tape(uniform_precision(emu::float16), 0, 1);
  const auto of = [&](float x, std::size_t count) { return tape.input(Array<float>({count}, x), emu::float16, false); };
  const auto result = [&](Variable v) { return static_cast<double>(tape.value(v).values[0]); };
  const double squared = result(square(tape, of(256, 1))), summed = result(sum(tape, of(1, 65520))),
               exponential = result(exp(tape, of(11.09375F, 1)));
  const bool all = std::isinf(squared) && std::isinf(summed) && std::isinf(exponential);
  return {.verdict = all ? holds : fails,
          .sentence = "In float16 the square of 256 is " + digits(squared) +
                      ", as in a norm's variance; the sum of 65520 ones is " + digits(summed) +
                      ", and e^11.09375, as in a softmax without its maximum taken off, is " + digits(exponential) + ".",
          .measurements = {{"square", "256 in float16", squared, 65504.0, "float16's largest finite number"},
                           {"sum", "65520 ones in float16", summed, 65504.0, "float16's largest finite number"},
                           {"exp", "11.09375 in float16", exponential, 65504.0, "float16's largest finite number"}}};
}

}  // namespace ulpscope::training
