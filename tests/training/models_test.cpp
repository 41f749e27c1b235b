// SPDX-License-Identifier: Apache-2.0
// The parts of a training run: monitor, delayed scales, random bits, parameters, batches, sequences, GPT.
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

#include "small_runs.hpp"

namespace ulpscope::training {

TEST_CASE("the monitor tells classes apart", "[training]") {
  Monitor monitor;
  const auto told = [&](std::string_view place, emu::Format format, const std::vector<float>& before,
                        const std::vector<float>& after) {
    monitor.add(Stored<float>{"linear", "3", place, format, before, after});
  };
  const float inf = HUGE_VALF, nan = std::nanf("");
  told("output", emu::float16, {0, -0.0F, 0x1p-30F, 0x1p-24F, 0x1p-14F, 1, 70000, inf, nan},
       {0, -0.0F, 0, 0x1p-24F, 0x1p-14F, 1, inf, inf, nan});
  const PlaceCounts counts = monitor.places().at({"3", "linear", "output"});
  CHECK(counts.count == 9);
  CHECK(counts.to_zero == 1);
  CHECK(counts.subnormal == 1);
  CHECK(counts.overflow == 1);
  CHECK(counts.infinite == 1);
  CHECK(counts.nan == 1);
  CHECK(counts.zero == 2);
  CHECK(counts.exact == 2);
  CHECK(counts.rounded() == 0);
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
  const OperandPrecision first = delayed.operand("0", "input", e4m3, "");
  CHECK(first.scaling.number == 1);
  *first.amax = 2;
  CHECK(delayed.operand("0", "input", e4m3, "").scaling.number == 1);
  delayed.step();
  CHECK(delayed.operand("0", "input", e4m3, "").scaling.number == 224);
  CHECK(delayed.operand("0", "weight", e4m3, "").scaling.number == 1);
  CHECK(*delayed.operand("0", "input", e4m3, "").amax == 0);

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
    Buffers<double> buffers;
    return apply(tape, model, variables, samples, {0, 1}, buffers);
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
  CHECK(before.size() == 40);
  tape.backward(cross_entropy(tape, outputs, samples.classes_of({0, 1})));
  check_gradients(weights, 3, loss, [&](std::size_t p) { return tape.gradient(variables[p]).values; });

  samples.tokens[2] = 3;  // the third token of the first sequence
  Tape<double> other(uniform_precision(emu::float64), 0, 1);
  std::vector<Variable> again;
  const Numbers after = other.value(outputs_of(other, again)).values;
  CHECK(std::equal(before.begin(), before.begin() + 10, after.begin()));
  CHECK_FALSE(std::equal(before.begin() + 10, before.begin() + 15, after.begin() + 10));
  CHECK(std::equal(before.begin() + 20, before.end(), after.begin() + 20));
}

}  // namespace ulpscope::training
