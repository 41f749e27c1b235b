// SPDX-License-Identifier: Apache-2.0
// Optimizers: where stored weights stop, against published figures; steps in float64 against the formulas, written apart.
#include "training/state/optimizer.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cmath>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "emu/catalogue.hpp"
#include "emu/encode.hpp"
#include "emu/error.hpp"

namespace ulpscope::training {
namespace {

using Weights = std::vector<float>;

/// SGD on (w - 1)^2 / 2 from 0 with rate 0.01, the weight alone in a format: where it stops, and the first step that changes
/// nothing.
std::pair<float, int> stop_of(emu::Format format) {
  const StateStorage storage{.weights = {format, {}}};
  OptimizerState<float> state;
  Weights w{0};
  for (int step = 0; step < 10000; ++step) {
    const Weights before = w;
    const UpdateCounts counts = optimizer_step<float>({}, storage, 0.01, w, {w[0] - 1}, state, 0, 0);
    CHECK(counts.elements == 1);
    CHECK(counts.lost == (w == before ? counts.wanted : 0));
    if (w == before) return {w[0], step};
  }
  return {w[0], -1};
}

TEST_CASE("stored weights stop where a step is less than half an ulp", "[training]") {
  CHECK(stop_of(emu::bfloat16) == std::pair{0.8046875F, 146});
  CHECK(stop_of(emu::float16) == std::pair{0.9755859375F, 358});
  CHECK(stop_of(emu::float8_e4m3fn) == std::pair{0.21875F, 21});
  CHECK(stop_of(emu::float8_e5m2) == std::pair{0.125F, 11});
}

TEST_CASE("a step that float32 itself loses is lost", "[training]") {
  for (const OptimizerKind kind : {OptimizerKind::sgd, OptimizerKind::adam, OptimizerKind::adamw, OptimizerKind::muon})
    for (const UpdateRounding update : {UpdateRounding::nearest, UpdateRounding::stochastic})
      for (const emu::Format format : {emu::float32, emu::bfloat16}) {
        OptimizerState<float> state;
        Weights w{1, -2, 3, 4};
        const StateStorage storage{.weights = {format, {}}, .update = update};
        const UpdateCounts counts =
            optimizer_step<float>({.kind = kind}, storage, 1e-12, w, {1, 2, 0, -1}, state, 0, 0, {2, 2});
        CAPTURE(kind, update, format.bits());
        CHECK(w == Weights{1, -2, 3, 4});
        CHECK(counts.wanted >= 3);  // Muon's step of a matrix moves all of it
        CHECK(counts.lost == counts.wanted);
      }
}

TEST_CASE("Adam's second moment in bfloat16 stops at a quarter", "[training]") {
  const StateStorage storage{.second = {emu::bfloat16, {}}};
  OptimizerState<float> state;
  Weights w{0};
  int last_change = 0;
  float before = -1;
  for (int step = 1; step <= 2000; ++step) {
    optimizer_step<float>({.kind = OptimizerKind::adam}, storage, 1e-3, w, {1}, state, 0, 0);
    if (state.second[0] != before) last_change = step;
    before = state.second[0];
  }
  CHECK(state.second[0] == 0.25F);
  CHECK(last_change == 256);
}

/// 1 + 1000 steps of 0.001.
float sum_of_thousandths(emu::Format format, UpdateRounding update, std::uint64_t seed = 0) {
  const StateStorage storage{.weights = {format, {}}, .update = update};
  OptimizerState<float> state;
  Weights w{1};
  for (std::uint64_t step = 0; step < 1000; ++step) optimizer_step<float>({}, storage, 0.001, w, {-1}, state, seed, step);
  return w[0];
}

TEST_CASE("1 + 1000 x 0.001, under every rounding of the update", "[training]") {
  CHECK(sum_of_thousandths(emu::bfloat16, UpdateRounding::nearest) == 1.0F);
  CHECK(sum_of_thousandths(emu::float16, UpdateRounding::nearest) == 1.9765625F);
  CHECK(sum_of_thousandths(emu::bfloat16, UpdateRounding::kahan) == 2.0F);
  CHECK(sum_of_thousandths(emu::float16, UpdateRounding::kahan) == 2.0F);
  for (const emu::Format format : {emu::bfloat16, emu::float16}) {
    double sum = 0;
    constexpr int runs = 2000;
    for (int run = 0; run < runs; ++run)
      sum += static_cast<double>(sum_of_thousandths(format, UpdateRounding::stochastic, static_cast<std::uint64_t>(run)));
    // A sum's variance is at most 1000 p (1 - p) of one spacing, 2^-7 or 2^-10, squared: the mean of 2000 is within 5 sigma.
    const double spacing = format == emu::bfloat16 ? 0x1p-7 : 0x1p-10, p = 0.001 / spacing;
    const double share = p - std::floor(p);
    CHECK(std::fabs(sum / runs - 2) < 5 * spacing * std::sqrt(1000 * share * (1 - share) / runs));
  }
}

TEST_CASE("1e-8 is no epsilon in float16", "[training]") {
  const StateStorage storage{.weights = {emu::float16, {}}, .first = {emu::float16, {}}, .second = {emu::float16, {}}};
  OptimizerState<float> state;
  Weights w{1};
  const double eps = emu::round_to(emu::float16, 1e-8).value;  // as a framework that keeps everything in fp16 has it
  CHECK(eps == 0);
  optimizer_step<float>({.kind = OptimizerKind::adam, .eps = eps}, storage, 1e-3, w, {0}, state, 0, 0);
  CHECK(std::isnan(w[0]));  // 0 / 0
}

/// The formulas in long double, from their papers and from the frameworks' own code.
struct Reference {
  OptimizerSettings s;
  long double m = 0, v = 0;
  int t = 0;

  long double step(long double w, long double g, long double lr) {
    ++t;
    if (s.kind == OptimizerKind::sgd) {
      g += static_cast<long double>(s.weight_decay) * w;
      if (s.momentum == 0) return w - lr * g;
      const auto mu = static_cast<long double>(s.momentum);
      m = t == 1 ? g : mu * m + (1 - static_cast<long double>(s.dampening)) * g;
      return w - lr * (s.nesterov ? g + mu * m : m);
    }
    const auto b1 = static_cast<long double>(s.beta1), b2 = static_cast<long double>(s.beta2);
    const auto eps = static_cast<long double>(s.eps), decay = static_cast<long double>(s.weight_decay);
    if (s.kind == OptimizerKind::adam) g += decay * w;
    m = b1 * m + (1 - b1) * g;
    v = b2 * v + (1 - b2) * g * g;
    const long double c1 = 1 - std::pow(b1, static_cast<long double>(t)), c2 = 1 - std::pow(b2, static_cast<long double>(t));
    long double step = 0;
    switch (s.eps_placement) {
      case EpsilonPlacement::torch: step = lr * (m / c1) / (std::sqrt(v / c2) + eps); break;
      case EpsilonPlacement::inside_step: step = lr * std::sqrt(c2) / c1 * m / (std::sqrt(v) + eps); break;
      case EpsilonPlacement::bitsandbytes: step = lr * std::sqrt(c2) / c1 * m / (std::sqrt(v) + eps * std::sqrt(c2)); break;
    }
    if (s.kind == OptimizerKind::adam) return w - step;
    const long double kept = 1 - lr * decay;
    return s.eps_placement == EpsilonPlacement::bitsandbytes ? (w - step) * kept : w * kept - step;
  }
};

TEST_CASE("steps in float64 follow the formulas", "[training]") {
  const auto [kind, decay, momentum, dampening, nesterov, placement] =
      GENERATE(table<OptimizerKind, double, double, double, bool, EpsilonPlacement>(
          {{OptimizerKind::sgd, 0, 0, 0, false, EpsilonPlacement::torch},
           {OptimizerKind::sgd, 0.1, 0.9, 0, false, EpsilonPlacement::torch},
           {OptimizerKind::sgd, 0.01, 0.8, 0.3, false, EpsilonPlacement::torch},
           {OptimizerKind::sgd, 0, 0.9, 0, true, EpsilonPlacement::torch},
           {OptimizerKind::adam, 0, 0, 0, false, EpsilonPlacement::torch},
           {OptimizerKind::adam, 0.1, 0, 0, false, EpsilonPlacement::inside_step},
           {OptimizerKind::adam, 0, 0, 0, false, EpsilonPlacement::bitsandbytes},
           {OptimizerKind::adamw, 0.1, 0, 0, false, EpsilonPlacement::torch},
           {OptimizerKind::adamw, 0.1, 0, 0, false, EpsilonPlacement::inside_step},
           {OptimizerKind::adamw, 0.1, 0, 0, false, EpsilonPlacement::bitsandbytes}}));
  const OptimizerSettings settings{.kind = kind,
                                   .momentum = momentum,
                                   .dampening = dampening,
                                   .nesterov = nesterov,
                                   .weight_decay = decay,
                                   .eps_placement = placement};
  CAPTURE(name_of(kind), name_of(placement), decay, momentum);
  const StateStorage storage{.weights = {emu::float64, {}}, .first = {emu::float64, {}}, .second = {emu::float64, {}}};
  std::mt19937_64 random(5);
  const auto draw = [&] { return static_cast<double>(random() >> 11) * 0x1p-52 - 1; };
  std::vector<double> weights(7);
  for (double& w : weights) w = draw();
  std::vector<Reference> references(weights.size(), Reference{.s = settings});
  std::vector<long double> expected(weights.begin(), weights.end());
  OptimizerState<double> state;
  for (int t = 0; t < 300; ++t) {
    std::vector<double> gradient(weights.size());
    for (double& g : gradient) {
      const double size = std::ldexp(1.0, -static_cast<int>(random() % 40));  // small ones are where epsilon counts
      g = draw() * size;
    }
    const double rate = t < 150 ? 0.01 : 0.003;
    optimizer_step<double>(settings, storage, rate, weights, gradient, state, 0, 0);
    for (std::size_t i = 0; i < weights.size(); ++i)
      expected[i] = references[i].step(expected[i], static_cast<long double>(gradient[i]), static_cast<long double>(rate));
  }
  for (std::size_t i = 0; i < weights.size(); ++i)
    CHECK(std::fabs(static_cast<long double>(weights[i]) - expected[i]) <= 1e-12L * std::max(1.0L, std::fabs(expected[i])));
}

TEST_CASE("where epsilon stands shows where gradients are small", "[training]") {
  const StateStorage storage{.weights = {emu::float64, {}}, .first = {emu::float64, {}}, .second = {emu::float64, {}}};
  const auto after = [&](EpsilonPlacement placement) {
    OptimizerState<double> state;
    std::vector<double> w{0};
    optimizer_step<double>({.kind = OptimizerKind::adam, .eps_placement = placement}, storage, 1e-3, w, {1e-6}, state, 0, 0);
    return w[0];
  };
  const double torch = after(EpsilonPlacement::torch), inside = after(EpsilonPlacement::inside_step);
  CHECK(std::fabs(inside / torch - 1) > 0.1);  // 1e-8 beside sqrt(v) = 3e-8
  CHECK(std::fabs(after(EpsilonPlacement::bitsandbytes) / torch - 1) < 1e-12);
}

TEST_CASE("words of optimizers, and words that are none", "[training]") {
  for (const char* const word : {"sgd", "adam", "adamw"}) CHECK(name_of(parse_optimizer(word)) == word);
  for (const char* const word : {"torch", "inside_step", "bitsandbytes"}) CHECK(name_of(parse_epsilon_placement(word)) == word);
  for (const char* const word : {"nearest", "stochastic", "kahan"}) CHECK(name_of(parse_update_rounding(word)) == word);
  CHECK_THROWS_AS(parse_optimizer("adagrad"), Error);
  OptimizerState<float> state;
  Weights w{1, 2};
  CHECK_THROWS_AS(optimizer_step<float>({}, {}, 0.1, w, {1}, state, 0, 0), Error);
}

}  // namespace
TEST_CASE("every operation of a step may be rounded to a narrow format", "[training]") {
  const auto half = [](double x) { return emu::round_to(emu::float16, x).value; };
  std::vector<float> weight{1};
  OptimizerState<float> state;
  // SGD with momentum and weight decay, twice, by hand: each line is one operation on a tensor.
  const OptimizerSettings sgd{.momentum = 0.9, .nesterov = true, .weight_decay = 0.01};
  StateStorage storage;
  storage.step = emu::float16;
  double w = 1, buffer = 0;
  for (const double g : {0.3, -0.7}) {
    double d = half(g + static_cast<double>(0.01F) * w);
    buffer = state.steps == 0 ? d : half(half(static_cast<double>(0.9F) * buffer) + d);
    d = half(d + static_cast<double>(0.9F) * buffer);
    w = half(w - static_cast<double>(0.1F) * d);
    optimizer_step(sgd, storage, 0.1, weight, {static_cast<float>(g)}, state, 0, 0);
    CHECK(static_cast<double>(weight[0]) == w);
  }
  // Adam: the square of 1e-4 and an epsilon of 1e-8 are both zero in fp16.
  weight = {1}, state = {};
  optimizer_step({.kind = OptimizerKind::adam}, storage, 1e-3, weight, {1e-4F}, state, 0, 0);
  CHECK(state.second[0] == 0);
  CHECK(std::isinf(weight[0]));
  weight = {1}, state = {};
  optimizer_step({.kind = OptimizerKind::adam}, {}, 1e-3, weight, {1e-4F}, state, 0, 0);
  CHECK(std::fabs(weight[0] - 0.999F) < 1e-6F);
}

}  // namespace ulpscope::training
