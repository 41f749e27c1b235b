// SPDX-License-Identifier: Apache-2.0
// Training runs: float64 against the formulas written as plain loops, the effects that papers name, files in and out, bad
// input.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "../reports/temporary_directory.hpp"
#include "emu/catalogue.hpp"
#include "emu/encode.hpp"
#include "emu/error.hpp"
#include "tensors/tensor.hpp"
#include "tensors/write.hpp"
#include "training/scale/scale_study.hpp"
#include "training/tape/operations.hpp"
#include "training/train/recipe_precision.hpp"
#include "training/train/run_findings.hpp"
#include "training/train/train_request.hpp"

namespace ulpscope::training {
namespace {

using Numbers = std::vector<double>;

/// Numbers that are float32 numbers, between -1 and 1.
Numbers numbers(std::size_t count, std::uint64_t seed) {
  Numbers out;
  std::uint64_t state = seed * 2654435761U + 12345;
  for (std::size_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    out.push_back(static_cast<double>(static_cast<float>(static_cast<double>(state >> 40) * 0x1p-23 - 1)));
  }
  return out;
}

void write_npy(const std::string& path, const std::vector<std::uint64_t>& shape, const Numbers& values) {
  tensors::write_npy(path, shape, tensors::Producer<double>([&](std::uint64_t first, std::span<double> out) {
                       std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(first), out.size(), out.begin());
                     }));
}

struct Parameter {
  std::string name;
  std::vector<std::uint64_t> shape;
  Numbers values;
};

void write_weights(const std::string& path, const std::vector<Parameter>& parameters) {
  std::vector<tensors::NamedCodes> all;
  for (const Parameter& p : parameters)
    all.push_back({p.name, emu::float64, p.shape, [&p](std::uint64_t first, std::span<emu::Code> out) {
                     for (std::size_t i = 0; i < out.size(); ++i)
                       out[i] = emu::encode(emu::float64, p.values[static_cast<std::size_t>(first) + i]);
                   }});
  tensors::write_safetensors(path, all);
}

/// Two layers with sigmoids, mean squared error, SGD with momentum: every sum and product in long double.
struct Plain {
  std::size_t in, hidden, out;
  std::vector<long double> w1, b1, w2, b2;
  std::vector<long double> m1{}, n1{}, m2{}, n2{};

  static long double sigmoid(long double x) { return 1 / (1 + std::exp(-x)); }

  long double step(const Numbers& x, const Numbers& t, std::size_t samples, long double lr, long double momentum) {
    std::vector<long double> gw1(w1.size()), gb1(b1.size()), gw2(w2.size()), gb2(b2.size());
    long double loss = 0;
    const auto count = static_cast<long double>(samples * out);
    for (std::size_t s = 0; s < samples; ++s) {
      std::vector<long double> h(hidden), y(out), dh(hidden);
      for (std::size_t i = 0; i < hidden; ++i) {
        long double z = b1[i];
        for (std::size_t j = 0; j < in; ++j) z += w1[i * in + j] * static_cast<long double>(x[s * in + j]);
        h[i] = sigmoid(z);
      }
      for (std::size_t o = 0; o < out; ++o) {
        long double z = b2[o];
        for (std::size_t i = 0; i < hidden; ++i) z += w2[o * hidden + i] * h[i];
        y[o] = sigmoid(z);
        const long double d = y[o] - static_cast<long double>(t[s * out + o]);
        loss += d * d / count;
        const long double dz = 2 * d / count * y[o] * (1 - y[o]);
        gb2[o] += dz;
        for (std::size_t i = 0; i < hidden; ++i) gw2[o * hidden + i] += dz * h[i], dh[i] += dz * w2[o * hidden + i];
      }
      for (std::size_t i = 0; i < hidden; ++i) {
        const long double dz = dh[i] * h[i] * (1 - h[i]);
        gb1[i] += dz;
        for (std::size_t j = 0; j < in; ++j) gw1[i * in + j] += dz * static_cast<long double>(x[s * in + j]);
      }
    }
    const auto update = [&](std::vector<long double>& w, std::vector<long double>& m, const std::vector<long double>& g) {
      if (m.empty()) m.resize(w.size());
      for (std::size_t i = 0; i < w.size(); ++i) m[i] = momentum * m[i] + g[i], w[i] -= lr * m[i];
    };
    update(w1, m1, gw1), update(b1, n1, gb1), update(w2, m2, gw2), update(b2, n2, gb2);
    return loss;
  }
};

std::vector<long double> wide(const Numbers& values) { return {values.begin(), values.end()}; }

/// A study of that network in a folder.
struct Network {
  TemporaryDirectory* folder;
  std::size_t samples = 12, in = 5, hidden = 7, out = 3;
  Numbers x = numbers(60, 1), t = numbers(36, 2), w1 = numbers(35, 3), b1 = numbers(7, 4), w2 = numbers(21, 5),
          b2 = numbers(3, 6);

  std::string study(const std::string& run, const std::string& more = "") const {
    write_npy(folder->file("x.npy"), {samples, in}, x);
    write_npy(folder->file("t.npy"), {samples, out}, t);
    write_weights(
        folder->file("w.safetensors"),
        {{"0.weight", {hidden, in}, w1}, {"0.bias", {hidden}, b1}, {"2.weight", {out, hidden}, w2}, {"2.bias", {out}, b2}});
    return "[model]\nkind = \"layers\"\nlayers = [{linear = [5, 7]}, \"sigmoid\", {linear = [7, 3]}, \"sigmoid\"]\ninit = \"" +
           folder->file("w.safetensors") + "\"\n[data]\ninputs = \"" + folder->file("x.npy") + "\"\ntargets = \"" +
           folder->file("t.npy") + "\"\n[loss]\nkind = \"mse\"\n" + more + "[run]\n" + run;
  }
};

}  // namespace

namespace {

RunResult run_of(const std::string& text, const std::string& recipe, RunOptions options = {}, std::uint64_t seed = 0) {
  const TrainStudy study = parse_train_study(text, "study.toml");
  return train(study, read_samples(study), recipe, seed, options);
}

bool same_bits(const RunResult& a, const RunResult& b) {
  if (a.recorded.size() != b.recorded.size() || a.steps.size() != b.steps.size()) return false;
  for (std::size_t i = 0; i < a.recorded.size(); ++i)
    if (a.recorded[i].values != b.recorded[i].values) return false;
  for (std::size_t i = 0; i < a.steps.size(); ++i)
    if (a.steps[i].loss != b.steps[i].loss || a.steps[i].grad_norm != b.steps[i].grad_norm) return false;
  return true;
}

}  // namespace

TEST_CASE("training in float64 follows the formulas", "[training]") {
  TemporaryDirectory folder;
  const Network network{&folder};
  const std::string more = "[optimizer]\nkind = \"sgd\"\nlr = 0.5\nmomentum = 0.9\n";
  const RunResult result =
      run_of(network.study("steps = 60\nrecipes = [\"float64\"]\n", more), "float64", {.record_every = 20});

  Plain plain{5, 7, 3, wide(network.w1), wide(network.b1), wide(network.w2), wide(network.b2)};
  REQUIRE(result.steps.size() == 60);
  for (const TrainStep& step : result.steps) {
    const long double loss = plain.step(network.x, network.t, 12, 0.5L, 0.9L);
    REQUIRE(std::fabs(static_cast<long double>(step.loss) - loss) < 1e-13L);
  }
  REQUIRE(result.recorded.size() == 3);
  CHECK(result.recorded.back().step == 60);
  const std::vector<const std::vector<long double>*> expected{&plain.w1, &plain.b1, &plain.w2, &plain.b2};
  for (std::size_t p = 0; p < 4; ++p)
    for (std::size_t i = 0; i < expected[p]->size(); ++i)
      CHECK(std::fabs(static_cast<long double>(result.recorded.back().values[p][i]) - (*expected[p])[i]) < 1e-12L);

  // float32 follows to rounding error, and differs.
  const RunResult single = run_of(network.study("steps = 60\n", more), "float32");
  double apart = 0;
  for (std::size_t p = 0; p < 4; ++p)
    for (std::size_t i = 0; i < expected[p]->size(); ++i)
      apart = std::max(apart, std::fabs(single.recorded.back().values[p][i] - result.recorded.back().values[p][i]));
  CHECK(apart > 0);
  CHECK(apart < 1e-4);
}

TEST_CASE("micro-batches add up to the batch", "[training]") {
  TemporaryDirectory folder;
  const Network network{&folder};
  const std::string more = "[optimizer]\nlr = 0.5\n";
  // 12 samples at once, or 3 at a time, four times.
  const RunResult whole_batch = run_of(network.study("steps = 5\n", more), "float64");
  std::string text = network.study("steps = 5\naccumulate = 4\n", more);
  text.insert(text.find("[loss]"), "batch = 3\n");
  const RunResult parts = run_of(text, "float64");
  for (std::size_t p = 0; p < 4; ++p)
    for (std::size_t i = 0; i < parts.recorded.back().values[p].size(); ++i)
      CHECK(std::fabs(parts.recorded.back().values[p][i] - whole_batch.recorded.back().values[p][i]) < 1e-14);
}

TEST_CASE("the same bits with any number of threads, and others with another seed", "[training]") {
  TemporaryDirectory folder;
  Numbers classes = numbers(97, 9);
  for (double& x : classes) x = std::floor((x + 1) * 4.999);
  write_npy(folder.file("x.npy"), {97, 64}, numbers(97 * 64, 8));
  write_npy(folder.file("t.npy"), {97}, classes);
  const std::string text =
      "[model]\nkind = \"cnn\"\n[data]\ninputs = \"" + folder.file("x.npy") + "\"\ntargets = \"" + folder.file("t.npy") + R"("
batch = 16
order = "shuffled"
held_back = 40
[optimizer]
kind = "adamw"
weight_decay = 0.1
[scaler]
kind = "pytorch"
[run]
steps = 4
)";
  const std::string recipe = GENERATE("float32", "bf16_stochastic", "nvfp4", "fp8_delayed", "mxfp8_floor");
  CAPTURE(recipe);
  const RunResult one = run_of(text, recipe, {.threads = 1}), three = run_of(text, recipe, {.threads = 3});
  CHECK(same_bits(one, three));
  CHECK(one.accuracy == three.accuracy);
  CHECK_FALSE(same_bits(one, run_of(text, recipe, {.threads = 1}, 1)));
}

namespace {

/// One weight, one sample, loss w x: gradient x. `more` goes before [run].
std::string one_weight(const TemporaryDirectory& folder, double x, double w, const std::string& more, int steps = 1) {
  write_npy(folder.file("x.npy"), {1, 1}, {x});
  write_weights(folder.file("w.safetensors"), {{"0.weight", {1, 1}, {w}}, {"0.bias", {1}, {0}}});
  return "[model]\nkind = \"layers\"\nlayers = [{linear = [1, 1]}]\ninit = \"" + folder.file("w.safetensors") +
         "\"\n[data]\ninputs = \"" + folder.file("x.npy") + "\"\n[loss]\nkind = \"sum\"\n[optimizer]\nlr = 1\n" + more +
         "[run]\nsteps = " + std::to_string(steps) + "\n";
}

double weight_of(const RunResult& result) { return result.recorded.back().values[0][0]; }

}  // namespace

TEST_CASE("a loss scale saves gradients that fp16 loses, and one too large skips every step", "[training]") {
  TemporaryDirectory folder;
  // The gradient 2^-26 is zero in fp16 without a scale.
  const double x = 0x1p-20, w = 1;
  const auto with = [&](const std::string& scaler) {
    return run_of(one_weight(folder, x, w, scaler.empty() ? "" : "[scaler]\nkind = \"" + scaler + "\"\n", 3), "fp16_amp");
  };
  CHECK(weight_of(with("")) == w - 3 * x);  // 2^-20 is a subnormal number of fp16
  const double small = 0x1p-26;
  const auto with_small = [&](const std::string& scaler) {
    return run_of(one_weight(folder, small, w, scaler.empty() ? "" : "[scaler]\nkind = \"" + scaler + "\"\n"), "fp16_amp");
  };
  CHECK(with_small("").steps[0].grad_norm == 1.0);  // the bias alone, whose gradient is 1
  // x itself is an operand of fp16: what is lost before the scale stays lost.
  CHECK(with_small("static:2^10").steps[0].grad_norm == 1.0);

  const RunResult never = with("static:2^20");
  CHECK(std::all_of(never.steps.begin(), never.steps.end(), [](const TrainStep& step) { return step.skipped; }));
  CHECK(weight_of(never) == w);
  const RunResult dynamic = with("pytorch:init_scale=2^17");  // the bias' gradient overflows at 2^16
  CHECK(dynamic.steps[0].skipped);
  CHECK(dynamic.steps[1].skipped);
  CHECK_FALSE(dynamic.steps[2].skipped);
  CHECK(dynamic.steps[2].scale == 0x1p15);
  CHECK(weight_of(dynamic) == w - x);
}

TEST_CASE("gradients are clipped behind the unscaling, or, which is wrong, before it", "[training]") {
  TemporaryDirectory folder;
  const auto moved = [&](const std::string& order) {
    std::string text = one_weight(folder, 3, 1, "[scaler]\nkind = \"static:2^4\"\n");
    text += "clip_value = 2\nclip = \"" + order + "\"\n";
    return 1 - weight_of(run_of(text, "float32"));
  };
  CHECK(moved("after_unscale") == 2);
  CHECK(moved("before_unscale") == 2.0 / 16);
}

TEST_CASE("weights in bfloat16 stop, with stochastic and Kahan's updates they do not", "[training]") {
  TemporaryDirectory folder;
  // Every step takes 2^-10 off a weight of 1, whose neighbours below are 2^-8 apart.
  const auto after = [&](const std::string& recipe) {
    std::string text = one_weight(folder, 0x1p-10, 1, "", 256);
    return run_of(text, recipe);
  };
  const RunResult nearest = after("bf16_pure");
  CHECK(weight_of(nearest) == 1);
  const std::vector<TrainFinding> findings = watched_findings(nearest);
  CHECK(std::none_of(findings.begin(), findings.end(), [](const auto& f) { return f.finding == "non_finite"; }));
  CHECK(weight_of(after("bf16_kahan")) == 0.75);
  CHECK(std::fabs(weight_of(after("bf16_stochastic")) - 0.75) < 0.1);
  CHECK(nearest.steps[0].wanted == 2);
  CHECK(nearest.steps[0].lost == 1);
}

TEST_CASE("a run that becomes infinite ends with the operation that made it so", "[training]") {
  TemporaryDirectory folder;
  const RunResult result = run_of(one_weight(folder, 300, 300, "", 5), "fp16_amp");
  CHECK(result.diverged);
  CHECK(result.steps.size() == 1);
  REQUIRE(result.findings.size() == 1);
  CHECK(result.findings[0].finding == "non_finite");
  CHECK(result.findings[0].layer == "0");
  CHECK(result.findings[0].place == "linear output");
  // float32 holds the same product.
  CHECK_FALSE(run_of(one_weight(folder, 300, 300, "", 5), "float32").diverged);
}

TEST_CASE("the classes of every rounding are counted", "[training]") {
  TemporaryDirectory folder;
  // 2^-26 is zero as an operand of fp16, 2^-20 subnormal.
  for (const auto& [x, zero, subnormal] : {std::tuple{0x1p-26, 1, 0}, {0x1p-20, 0, 1}, {0.5, 0, 0}}) {
    const RunResult result = run_of(one_weight(folder, x, 1, ""), "fp16_amp");
    const auto found = std::find_if(result.places.begin(), result.places.end(),
                                    [](const WatchedPlace& p) { return p.place == Place{"0", "linear", "input"}; });
    REQUIRE(found != result.places.end());
    CHECK(found->counts.format == emu::float16);
    // Forward, and again where the weight's gradient is formed.
    CHECK(found->counts.count == 2);
    CHECK(found->counts.to_zero == static_cast<std::uint64_t>(2 * zero));
    CHECK(found->counts.subnormal == static_cast<std::uint64_t>(2 * subnormal));
  }
}

TEST_CASE("the monitor tells classes apart", "[training]") {
  Monitor monitor;
  const auto told = [&](std::string_view place, emu::Format format, const std::vector<float>& before,
                        const std::vector<float>& after) {
    monitor.add(Stored<float>{"linear", "3", place, format, before, after});
  };
  const float inf = HUGE_VALF, nan = std::nanf("");
  told("output", emu::float16, {0, -0.0F, 0x1p-30F, 0x1p-24F, 0x1p-14F, 1, 70000, inf, nan},
       {0, -0.0F, 0, 0x1p-24F, 0x1p-14F, 1, inf, inf, nan});
  const PlaceCounts& counts = monitor.places().at({"3", "linear", "output"});
  CHECK(counts.count == 9);
  CHECK(counts.to_zero == 1);
  CHECK(counts.subnormal == 1);
  CHECK(counts.overflow == 1);
  CHECK(counts.nonfinite == 2);
  CHECK(monitor.first_nonfinite() == Place{"3", "linear", "output"});
  CHECK(words_of(*monitor.first_nonfinite()) == "layer 3, linear, output");

  monitor.clear();
  told("input", emu::float8_e4m3fn, {448, 460, 900, -900}, {448, 448, 448, -448});  // 460 is rounded, 900 clamped
  CHECK(monitor.places().at({"3", "linear", "input"}).overflow == 2);
  CHECK_FALSE(monitor.first_nonfinite().has_value());
}

TEST_CASE("delayed scales are made of the steps before", "[training]") {
  DelayedScales delayed;
  const Storage e4m3{emu::float8_e4m3fn, {}};
  const OperandPrecision first = delayed.operand("0", "input", e4m3);
  CHECK(first.scaling.number == 1);
  *first.amax = 2;
  CHECK(delayed.operand("0", "input", e4m3).scaling.number == 1);
  delayed.step();
  CHECK(delayed.operand("0", "input", e4m3).scaling.number == 224);
  CHECK(delayed.operand("0", "weight", e4m3).scaling.number == 1);
  CHECK(*delayed.operand("0", "input", e4m3).amax == 0);

  // 0.3 as a weight of e4m3: 0.3125 at scale 1, and 448 / scale from the second step on.
  TemporaryDirectory folder;
  std::string text = one_weight(folder, 2, 0.3, "", 2);
  text.replace(text.find("lr = 1"), 6, "lr = 0");
  const RunResult result = run_of(text, "fp8_delayed");
  CHECK(result.steps[0].loss == 0.625);
  CHECK(result.steps[1].loss == 0.6015625);  // 0.6 in bfloat16
}

TEST_CASE("every step has random bits of its own", "[training]") {
  TemporaryDirectory folder;
  const Network network{&folder};
  const std::string text = network.study("steps = 2\n", "[optimizer]\nlr = 0\n");
  const RunResult rounded = run_of(text, "nvfp4", {.gradients_every = 1}),
                  plain = run_of(text, "float32", {.gradients_every = 1});
  CHECK(rounded.gradients[0].values != rounded.gradients[1].values);
  CHECK(plain.gradients[0].values == plain.gradients[1].values);
}

TEST_CASE("parameters have torch's names, shapes and first values", "[training]") {
  const std::vector<Layer> layers{
      {"conv", {2, 4, 3}}, {"relu", {}}, {"flatten", {}}, {"linear", {100, 10}}, {"layer_norm", {10}}};
  const std::vector<ParameterShape> parameters = parameters_of({.layers = layers});
  REQUIRE(parameters.size() == 6);
  CHECK(parameters[0].name == "0.weight");
  CHECK(parameters[0].shape == Shape{4, 2, 3, 3});
  CHECK(parameters[1].shape == Shape{4});
  CHECK(parameters[2].name == "3.weight");
  CHECK(parameters[2].shape == Shape{10, 100});
  CHECK(parameters[4].name == "4.weight");
  const auto values = initial_parameters<float>({.layers = layers}, parameters, 7);
  for (const std::size_t p : {0U, 1U, 2U, 3U}) {
    const double bound = p < 2 ? 1 / std::sqrt(18.0) : 0.1;
    float most = 0;
    for (const float x : values[p]) most = std::max(most, std::fabs(x));
    CHECK(static_cast<double>(most) <= bound);
    if (values[p].size() >= 10) CHECK(static_cast<double>(most) > bound * 0.7);
  }
  CHECK(values[4] == std::vector<float>(10, 1));
  CHECK(values[5] == std::vector<float>(10, 0));
  CHECK(values != initial_parameters<float>({.layers = layers}, parameters, 8));
  const auto wide_values = initial_parameters<double>({.layers = layers}, parameters, 7);
  CHECK(std::equal(values[2].begin(), values[2].end(), wide_values[2].begin()));
}

TEST_CASE("every order of the samples is as likely", "[training]") {
  Batches batches({.order = "shuffled", .batch = 2}, 4, 3);
  CHECK(batches.per_epoch() == 2);
  std::map<std::vector<std::size_t>, int> seen;
  constexpr int epochs = 24000;
  for (std::uint64_t epoch = 0; epoch < epochs; ++epoch) {
    std::vector<std::size_t> order = batches.at(2 * epoch);
    for (const std::size_t i : batches.at(2 * epoch + 1)) order.push_back(i);
    ++seen[order];
  }
  CHECK(seen.size() == 24);
  for (const auto& [order, times] : seen) {
    CHECK(std::set(order.begin(), order.end()).size() == 4);
    CHECK(std::abs(times - 1000) < 160);  // 5 sigma
  }
  Batches fixed({.batch = 3}, 8, 0);
  CHECK(fixed.per_epoch() == 3);
  CHECK(fixed.at(2) == std::vector<std::size_t>{6, 7});
  CHECK(fixed.at(3) == std::vector<std::size_t>{0, 1, 2});
  CHECK_THROWS_AS(Batches({.batch = 9}, 8, 0), Error);
}

TEST_CASE("sequences of markov have the optimum that is stated", "[training]") {
  constexpr std::size_t count = 3000, context = 20, vocabulary = 8;
  const Samples samples = markov_samples(count, context, vocabulary);
  REQUIRE(samples.tokens.size() == count * context);
  Numbers of_d(vocabulary), of_token(vocabulary);
  double entropy = 0;
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t t = 0; t < context; ++t) {
      const std::size_t at = i * context + t;
      ++of_token[samples.tokens[at]];
      if (t + 1 < context && samples.classes[at] != samples.tokens[at + 1]) FAIL("a target is the next token");
      if (t == 0) {
        entropy += std::log(static_cast<double>(vocabulary));
        continue;
      }
      const std::size_t d = (samples.classes[at] + vocabulary - samples.tokens[at - 1]) % vocabulary;
      ++of_d[d];
      REQUIRE(d < 4);
      entropy -= std::log(Numbers{0.5, 0.25, 0.125, 0.125}[d]);
    }
  const auto all = static_cast<double>(count * (context - 1));
  for (const auto& [d, p] : {std::pair{0, 0.5}, {1, 0.25}, {2, 0.125}, {3, 0.125}})
    CHECK(std::fabs(of_d[static_cast<std::size_t>(d)] / all - p) < 5 * std::sqrt(p * (1 - p) / all));
  for (const double n : of_token) CHECK(std::fabs(n / (all + count) - 0.125) < 0.01);
  CHECK(std::fabs(entropy / (all + count) - markov_optimum(context, vocabulary)) < 5 * 0.5 / std::sqrt(all));
}

TEST_CASE("a GPT sees the past alone, and its gradients are the differences of its loss", "[training]") {
  ModelSpec model;
  model.kind = "gpt";
  model.vocabulary = 5, model.context = 4, model.width = 6, model.heads = 2, model.blocks = 2;
  const std::vector<ParameterShape> shapes = parameters_of(model);
  CHECK(shapes.front().name == "transformer.wte.weight");
  CHECK(shapes[4].name == "transformer.h.0.attn.c_attn.weight");
  CHECK(shapes[4].shape == Shape{18, 6});
  CHECK(shapes.back().name == "lm_head.weight");
  auto weights = initial_parameters<double>(model, shapes, 1);
  Samples samples;
  samples.count = 2;
  samples.tokens = {0, 3, 1, 4, 2, 2, 0, 1};
  samples.classes = {3, 1, 4, 0, 2, 0, 1, 3};
  const auto outputs_of = [&](Tape<double>& tape, std::vector<Variable>& variables) {
    for (std::size_t i = 0; i < weights.size(); ++i)
      variables.push_back(tape.input(Array<double>(shapes[i].shape, weights[i]), emu::float64, true));
    return apply(tape, model, variables, samples, {0, 1});
  };
  const auto loss = [&] {
    Tape<double> tape(uniform_precision(emu::float64), 0, 1);
    std::vector<Variable> variables;
    const Variable outputs = outputs_of(tape, variables);
    return tape.value(cross_entropy(tape, outputs, samples.classes_of({0, 1}))).values[0];
  };
  Tape<double> tape(uniform_precision(emu::float64), 0, 1);
  std::vector<Variable> variables;
  const Variable outputs = outputs_of(tape, variables);
  const Numbers before = tape.value(outputs).values;
  CHECK(before.size() == 8 * 5);
  tape.backward(cross_entropy(tape, outputs, samples.classes_of({0, 1})));
  for (std::size_t p = 0; p < weights.size(); ++p)
    for (std::size_t i = 0; i < weights[p].size(); i += std::max<std::size_t>(1, weights[p].size() / 3)) {
      CAPTURE(shapes[p].name, i);
      const double kept = weights[p][i], h = 1e-5;
      weights[p][i] = kept + h;
      const double up = loss();
      weights[p][i] = kept - h;
      const double down = loss();
      weights[p][i] = kept;
      CHECK(std::fabs((up - down) / (2 * h) - tape.gradient(variables[p]).values[i]) < 1e-8);
    }

  samples.tokens[2] = 3;  // the third token of the first sequence
  Tape<double> other(uniform_precision(emu::float64), 0, 1);
  std::vector<Variable> again;
  const Numbers after = other.value(outputs_of(other, again)).values;
  CHECK(std::equal(before.begin(), before.begin() + 10, after.begin()));
  CHECK_FALSE(std::equal(before.begin() + 10, before.begin() + 15, after.begin() + 10));
  CHECK(std::equal(before.begin() + 20, before.end(), after.begin() + 20));
}

TEST_CASE("what is recorded begins another run, and is a trace of gradients", "[training]") {
  TemporaryDirectory folder;
  const Network network{&folder};
  const std::string more = "[optimizer]\nlr = 0.5\n";
  const RunResult ten = run_of(network.study("steps = 10\n", more), "float32", {.gradients_every = 2, .record_every = 5});
  write_recorded(folder.path(), {ten});
  CHECK(std::filesystem::exists(folder.file("weights/float32-0-5.safetensors")));
  CHECK(std::filesystem::exists(folder.file("weights/float32-0-10.safetensors")));
  std::string text = network.study("steps = 5\n", more);
  const std::string before = folder.file("w.safetensors");
  text.replace(text.find(before), before.size(), folder.file("weights/float32-0-5.safetensors"));
  // SGD without momentum has no state: five steps on are the last five of ten.
  CHECK(run_of(text, "float32").recorded.back().values == ten.recorded.back().values);

  const ScaleResult scaled = replay({.trace = folder.file("gradients/float32-0.safetensors"), .scaler = {"static:1"}});
  REQUIRE(scaled.replays[0].steps.size() == 5);
  CHECK(scaled.replays[0].steps[1].number == 2);
  CHECK(scaled.elements == 5 * (35 + 7 + 21 + 3));
}

TEST_CASE("tables have the columns that scripts rely on", "[training]") {
  TemporaryDirectory folder;
  const RunResult result = run_of(one_weight(folder, 300, 300, "", 5), "fp16_amp");
  const std::vector<reports::Table> tables = train_tables({result});
  const auto begins = [](const reports::Table& table, const std::string& name, const std::vector<std::string>& columns) {
    CHECK(table.name == name);
    REQUIRE(table.columns.size() >= columns.size());
    CHECK(std::equal(columns.begin(), columns.end(), table.columns.begin()));
  };
  begins(tables[0], "curves", {"recipe", "seed", "step", "loss", "grad_norm", "scale", "skipped"});
  begins(tables[1], "summary", {"recipe"});
  begins(tables[2], "tensors", {"recipe", "seed", "step", "layer"});
  begins(tables[3], "findings", {"recipe", "seed", "step", "layer", "place", "finding", "value", "threshold"});
  CHECK(train_findings({result}, "")[0].severity == reports::Severity::bad);
  CHECK(train_findings({result}, "diverges")[0].severity == reports::Severity::warning);
}

TEST_CASE("studies that cannot be run are refused with file and line", "[training]") {
  const auto message = [](const std::string& text) -> std::string {
    try {
      parse_train_study(text, "s.toml");
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  const std::string data = "[data]\ntable = \"digits\"\n[run]\nsteps = 1\n";
  CHECK(message("[data]\ntable = \"digits\"\n") == "s.toml: [model] is missing");
  CHECK(message("[model]\nkind = \"mlp\"\n[data]\ntable = \"digits\"\n") == "s.toml: [run] steps or epochs: give one of them");
  CHECK(message("[model]\nkind = \"mlp\"\n[run]\nsteps = 1\n") == "s.toml: [data] inputs or table: give one of them");
  CHECK(message("[modle]\n" + data).starts_with("s.toml:1: unknown key 'modle'; nearest: model"));
  CHECK(message("[model]\nkind = \"rnn\"\n" + data).starts_with("s.toml:2: "));
  CHECK(message("[model]\nkind = \"layers\"\n" + data).find("[model] layers: give them with kind \"layers\"") !=
        std::string::npos);
  CHECK(message("[model]\nkind = \"layers\"\nlayers = [\"rellu\"]\n" + data) ==
        "s.toml:3: unknown layer 'rellu'; nearest: relu, gelu, silu");
  CHECK(message("[model]\nkind = \"layers\"\nlayers = [{linear = [3]}]\n" + data) == "s.toml:3: linear has 2 sizes, not 1");
  CHECK(message("[model]\nkind = \"layers\"\nlayers = [{linear = [3, 0]}]\n" + data) ==
        "s.toml:3: linear: sizes are whole numbers from 1 to 16777216");
  CHECK(message("[model]\nkind = \"mlp\"\n[scaler]\nkind = \"pytorh\"\n" + data).find("unknown scaler") != std::string::npos);
  CHECK(message("[model]\nkind = \"mlp\"\n" + data + "recipes = [\"fp61_amp\"]\n").find("unknown recipe") != std::string::npos);
  CHECK(message("[model]\nkind = \"mlp\"\n[optimizer]\nbetas = [0.9]\n" + data) == "[optimizer] betas: give two");
  CHECK(message("expect = \"fails\"\n[model]\nkind = \"mlp\"\n" + data).starts_with("s.toml:1: expect"));
  CHECK(message("[model]\nkind = \"gpt\"\n" + data).find("go together") != std::string::npos);
  CHECK(message("[model]\nkind = \"gpt\"\nheads = 3\n[data]\ntable = \"markov\"\n[run]\nsteps = 1\n")
            .find("3 does not divide width 64") != std::string::npos);
  CHECK(message("[model]\nkind = \"mlp\"\n" + data).empty());

  TemporaryDirectory folder;
  const Network network{&folder};
  std::string text = network.study("steps = 1\n");
  text.replace(text.find("[7, 3]"), 6, "[8, 3]");
  CHECK_THROWS_AS(run_of(text, "float32"), Error);
  CHECK_THROWS_AS(run_of(one_weight(folder, 1, 1, "[scaler]\nkind = \"te_current\"\n"), "float32"), Error);
}

}  // namespace ulpscope::training
