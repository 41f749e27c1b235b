// SPDX-License-Identifier: Apache-2.0
// An LSTM against its equations, a GAN with two optimizers and one scaler, batch norms' statistics.
#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "emu/catalogue.hpp"
#include "small_runs.hpp"
#include "tensors/tensor.hpp"
#include "training/state/all_reduce.hpp"
#include "training/train/gan.hpp"

namespace ulpscope::training {
namespace {

double logistic_of(double x) { return 1 / (1 + std::exp(-x)); }

/// Logits of an LSTM, by the equations in torch.nn.LSTM's documentation.
Numbers plain_lstm(const ModelSpec& model, const std::vector<Numbers>& p, const std::vector<std::size_t>& tokens) {
  const std::size_t width = model.width, sequences = tokens.size() / model.context;
  Numbers logits;
  for (std::size_t s = 0; s < sequences; ++s) {
    Numbers h(width), c(width);
    for (std::size_t t = 0; t < model.context; ++t) {
      const std::size_t token = tokens[s * model.context + t];
      std::array<Numbers, 4> gates;
      for (std::size_t g = 0; g < 4; ++g)
        for (std::size_t i = 0; i < width; ++i) {
          const std::size_t row = g * width + i;
          double sum = p[3][row] + p[4][row];
          for (std::size_t j = 0; j < width; ++j)
            sum += p[1][row * width + j] * p[0][token * width + j] + p[2][row * width + j] * h[j];
          gates[g].push_back(g == 2 ? std::tanh(sum) : logistic_of(sum));
        }
      for (std::size_t i = 0; i < width; ++i) {
        c[i] = gates[1][i] * c[i] + gates[0][i] * gates[2][i];
        h[i] = gates[3][i] * std::tanh(c[i]);
      }
      for (std::size_t v = 0; v < model.vocabulary; ++v) {
        double sum = p[6][v];
        for (std::size_t j = 0; j < width; ++j) sum += p[5][v * width + j] * h[j];
        logits.push_back(sum);
      }
    }
  }
  return logits;
}

/// What the discriminator [2, 16, 1] says of points, by its matrices: a logit each.
Numbers plain_logits(const std::vector<Numbers>& p, const Numbers& points) {
  Numbers logits;
  for (std::size_t i = 0; i + 1 < points.size(); i += 2) {
    double sum = p[7][0];
    for (std::size_t h = 0; h < 16; ++h)
      sum += p[6][h] * std::fmax(0.0, p[4][2 * h] * points[i] + p[4][2 * h + 1] * points[i + 1] + p[5][h]);
    logits.push_back(sum);
  }
  return logits;
}

/// The mean of -log of the probability of being real, or of being made.
double plain_loss(const Numbers& logits, bool real) {
  double sum = 0;
  for (const double z : logits) sum -= std::log(real ? logistic_of(z) : 1 - logistic_of(z));
  return sum / static_cast<double>(logits.size());
}

std::string gan_study(const std::string& more, const std::string& run) {
  return "[model]\nkind = \"gan\"\nwidths = [4, 16, 2]\ndiscriminator_widths = [2, 16, 1]\n[data]\ntable = \"normal\"\nsamples "
         "= "
         "256\nbatch = 32\n[optimizer]\nkind = \"adam\"\nlr = 1e-3\n" +
         more + "[run]\n" + run;
}

}  // namespace

TEST_CASE("an LSTM follows its equations, and its gradients are the differences of its loss", "[training]") {
  ModelSpec model;
  model.kind = "lstm";
  model.vocabulary = 5, model.context = 4, model.width = 6;
  const std::vector<ParameterShape> shapes = parameters_of(model);
  CHECK(shapes[1].name == "lstm.weight_ih_l0");
  CHECK(shapes[1].shape == Shape{24, 6});
  auto weights = initial_parameters<double>(model, shapes, 1);
  for (auto& values : weights)
    for (double& x : values) x *= 3;
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
  Tape<double> tape(uniform_precision(emu::float64), 0, 1);
  std::vector<Variable> variables;
  const Variable outputs = outputs_of(tape, variables);
  const Numbers expected = plain_lstm(model, weights, samples.tokens);
  REQUIRE(expected.size() == tape.value(outputs).count());
  for (std::size_t i = 0; i < expected.size(); ++i) CHECK(std::fabs(expected[i] - tape.value(outputs).values[i]) < 1e-13);

  const Variable result = cross_entropy(tape, outputs, samples.classes_of({0, 1}));
  tape.backward(result);
  const auto loss = [&] {
    Tape<double> other(uniform_precision(emu::float64), 0, 1);
    std::vector<Variable> again;
    const Variable of = outputs_of(other, again);
    return other.value(cross_entropy(other, of, samples.classes_of({0, 1}))).values[0];
  };
  check_gradients(weights, 5, loss, [&](std::size_t p) { return tape.gradient(variables[p]).values; });
}

TEST_CASE("two networks are trained in turn, each by its own loss", "[training]") {
  const std::string text = gan_study("", "steps = 1\n");
  const TrainStudy study = parse_train_study(text, "s.toml");
  const RunResult before = run_of(text, "float64");
  REQUIRE(before.parameters.size() == 8);
  CHECK(before.parameters[0].name == "generator.0.weight");
  CHECK(before.parameters[4].name == "discriminator.0.weight");
  // One optimizer without steps leaves its network as it was.
  const auto moved = [&](const std::string& part) {
    const RunResult one = run_of(gan_study("[optimizer." + part + "]\nlr = 0\n", "steps = 1\n"), "float64");
    const auto first = initial_parameters<double>(study.model, one.parameters, 0x9e3779b97f4a7c15U + 2);
    std::array<bool, 2> changed{};
    for (std::size_t p = 0; p < 8; ++p) changed[p / 4] |= one.recorded.back().values[p] != first[p];
    return changed;
  };
  CHECK(moved("generator") == std::array{false, true});
  CHECK(moved("discriminator") == std::array{true, false});
  CHECK(before.steps[0].other_loss > 1.2);  // about 2 log 2: it cannot tell yet
  CHECK(before.steps[0].other_loss < 1.6);
  CHECK(std::fabs(before.steps[0].loss - std::log(2.0)) < 0.2);
}

TEST_CASE("a GAN's losses are cross-entropies: real and made for the discriminator, made as real for the generator",
          "[training]") {
  // Goodfellow et al., Generative Adversarial Nets, 2014, algorithm 1, with the generator's loss that does not saturate
  // (section 3).
  const TrainStudy study = parse_train_study(gan_study("", "steps = 1\n"), "s.toml");
  const std::vector<ParameterShape> shapes = parameters_of(study.model);
  auto weights = initial_parameters<double>(study.model, shapes, 3);
  for (auto& values : weights)
    for (double& x : values) x *= 2;
  Samples samples;
  samples.count = 3;
  samples.shape = {2};
  samples.inputs = {0.5, -1, 2, 0.25, -0.75, 1.5};
  const std::vector<std::size_t> batch = {2, 0, 1};
  Tape<double> tape(uniform_precision(emu::float64), 0, 1);
  std::vector<Variable> variables;
  for (std::size_t i = 0; i < weights.size(); ++i)
    variables.push_back(tape.input(Array<double>(shapes[i].shape, weights[i]), emu::float64, true));
  Buffers<double> buffers;
  const auto loss_of = [&](GanPart part) {
    return tape.value(gan_loss(tape, study.model, part, variables, samples, batch, 5, buffers)).values[0];
  };
  const auto& made = tape.value(gan_samples(tape, study.model, variables, batch.size(), 5, buffers)).values;
  const Numbers of_made = plain_logits(weights, Numbers(made.begin(), made.end()));
  const Numbers of_real = plain_logits(weights, Numbers(samples.inputs.begin(), samples.inputs.end()));
  CHECK(std::fabs(plain_loss(of_made, true) - plain_loss(of_made, false)) > 0.01);
  CHECK(std::fabs(loss_of(GanPart::generator) - plain_loss(of_made, true)) < 1e-14);
  CHECK(std::fabs(loss_of(GanPart::discriminator) - (plain_loss(of_real, true) + plain_loss(of_made, false))) < 1e-14);
}

TEST_CASE("a scaler of two optimizers skips the one that overflowed, and backs off once", "[training]") {
  // The discriminator's gradients overflow fp16 at this scale, the generator's, which go through small weights, do not.
  const std::string text = gan_study("[scaler]\nkind = \"pytorch:init_scale=2^18\"\n", "steps = 6\n");
  const RunResult result = run_of(text, "fp16_amp");
  const auto split =
      std::find_if(result.steps.begin(), result.steps.end(), [](const TrainStep& s) { return s.skipped != s.other_skipped; });
  REQUIRE(split != result.steps.end());
  REQUIRE(split + 1 != result.steps.end());
  CHECK((split + 1)->scale == split->scale / 2);
  CHECK(split->wanted > 0);
  const reports::Table summary = train_tables({result})[1];
  const auto others =
      std::count_if(result.steps.begin(), result.steps.end(), [](const TrainStep& s) { return s.other_skipped; });
  CHECK(others > 0);
  CHECK(summary.rows[0][summary.column("discriminator_skipped_steps")] == reports::Cell(static_cast<double>(others)));
  CHECK(train_findings({result}, "")[0].sentence.find(" of the discriminator skipped") != std::string::npos);
  const auto both =
      std::find_if(result.steps.begin(), result.steps.end(), [](const TrainStep& s) { return !s.skipped && !s.other_skipped; });
  REQUIRE(both != result.steps.end());
  if (both + 1 != result.steps.end()) CHECK((both + 1)->scale == both->scale);
}

TEST_CASE("points of normal have the moments that are stated, and their distance is Frechet's", "[training]") {
  const std::vector<double> points = normal_points(40000);
  double x = 0, y = 0, xx = 0, xy = 0, yy = 0;
  for (std::size_t i = 0; i < points.size(); i += 2) x += points[i] / 40000, y += points[i + 1] / 40000;
  for (std::size_t i = 0; i < points.size(); i += 2) {
    xx += (points[i] - x) * (points[i] - x) / 40000, xy += (points[i] - x) * (points[i + 1] - y) / 40000;
    yy += (points[i + 1] - y) * (points[i + 1] - y) / 40000;
  }
  CHECK(std::fabs(x - 1) < 0.025);
  CHECK(std::fabs(y + 0.5) < 0.02);
  CHECK(std::fabs(xx - 1) < 0.04);
  CHECK(std::fabs(xy - 0.6) < 0.03);
  CHECK(std::fabs(yy - 0.52) < 0.02);
  CHECK(std::fabs(frechet_distance(points, points)) < 1e-12);
  // Four points with covariance diag(a^2, b^2) each: |m|^2 + (a1 - a2)^2 + (b1 - b2)^2.
  const auto cross = [](double mx, double my, double a, double b) {
    return Numbers{mx + a, my + b, mx + a, my - b, mx - a, my + b, mx - a, my - b};
  };
  CHECK(std::fabs(frechet_distance(cross(0, 0, 1, 2), cross(3, 4, 2, 5)) - (25 + 1 + 9)) < 1e-12);
  // The same turned by 45 degrees: distances do not change.
  const auto turned = [&](Numbers all) {
    for (std::size_t i = 0; i < all.size(); i += 2) {
      const double u = all[i], v = all[i + 1];
      all[i] = (u - v) / std::sqrt(2.0), all[i + 1] = (u + v) / std::sqrt(2.0);
    }
    return all;
  };
  CHECK(std::fabs(frechet_distance(turned(cross(0, 0, 1, 2)), turned(cross(3, 4, 2, 5))) - 35) < 1e-12);
}

TEST_CASE("running statistics follow the batches, and stop in a format without room", "[training]") {
  RunningStatistics<double> running(1);
  const BatchStatistics<double> batch{{3}, {5}};
  long double mean = 0, variance = 1;
  for (int i = 0; i < 20; ++i) {
    follow(running, batch, {emu::float64, {}});
    mean = 0.9L * mean + 0.1L * 3, variance = 0.9L * variance + 0.1L * 5;
  }
  CHECK(std::fabs(running.statistics.mean[0] - static_cast<double>(mean)) < 1e-15);
  CHECK(std::fabs(running.statistics.variance[0] - static_cast<double>(variance)) < 1e-15);
  CHECK(running.lost == 0);
  // In e4m3, near 3, neighbours are 0.25 apart: 0.1 of a difference below 1.25 is less than half of that.
  RunningStatistics<float> narrow(1);
  for (int i = 0; i < 100; ++i) follow(narrow, {{3}, {5}}, {emu::float8_e4m3fn, {}});
  CHECK(narrow.statistics.mean[0] < 2.5F);
  CHECK(narrow.lost > 50);
  CHECK_THROWS_AS(follow(running, BatchStatistics<double>{{1, 2}, {1, 2}}, Storage{emu::float64, {}}), Error);
}

TEST_CASE("running statistics are recorded with the weights, and a run begins with those of its init", "[training]") {
  TemporaryDirectory folder;
  write_npy(folder.file("x.npy"), {30, 3}, numbers(90, 5));
  write_npy(folder.file("t.npy"), {30}, Numbers(30, 1));
  const auto text = [&](int steps, const std::string& init) {
    return "[model]\nkind = \"layers\"\nlayers = [{batch_norm = 3}, {linear = [3, 2]}]\n" + init + "[data]\ninputs = \"" +
           folder.file("x.npy") + "\"\ntargets = \"" + folder.file("t.npy") +
           "\"\nbatch = 10\n[run]\nsteps = " + std::to_string(steps) + "\n";
  };
  const RunResult whole = run_of(text(6, ""), "float64"), half = run_of(text(3, ""), "float64");
  REQUIRE(whole.recorded.back().statistics.size() == 2);
  CHECK(whole.recorded.back().statistics.at("0.running_mean") != half.recorded.back().statistics.at("0.running_mean"));
  write_recorded(folder.file("out"), {half});
  const std::string file = folder.file("out") + "/weights/float64-0-3.safetensors";
  CHECK(tensors::open(file + ":0.running_var").front().shape == std::vector<std::uint64_t>{3});
  const RunResult other = run_of(text(3, "init = \"" + file + "\"\n"), "float64");
  CHECK(other.recorded.back().values == whole.recorded.back().values);
  CHECK(other.recorded.back().statistics == whole.recorded.back().statistics);
}

TEST_CASE("weights of 4 bits that would end within a byte are recorded in float32", "[training]") {
  const TemporaryDirectory folder;
  RunResult run;
  run.recipe = "fp4";
  run.parameters = {{.name = "0.weight", .shape = {2, 3}}, {.name = "0.bias", .shape = {3}}};
  run.weights_format = emu::e2m1;
  run.recorded = {{.step = 1, .values = {{0.5, 1, 1.5, 2, 3, 4}, {-6, 0, 1.5}}}};

  write_recorded(folder.file("out"), {run});

  const std::string file = folder.file("out") + "/weights/fp4-0-1.safetensors";
  const tensors::Tensor weight = tensors::open_one(file + ":0.weight"), bias = tensors::open_one(file + ":0.bias");

  CHECK(weight.dtype.format == emu::e2m1);
  CHECK(bias.dtype.format == emu::float32);
  Numbers values(3);
  bias.source->read(0, std::span(values));
  CHECK(values == Numbers{-6, 0, 1.5});
}

TEST_CASE("a model with batch norms is evaluated by its running statistics", "[training]") {
  TemporaryDirectory folder;
  write_npy(folder.file("x.npy"), {40, 3}, numbers(120, 5));
  Numbers classes = numbers(40, 9);
  for (double& x : classes) x = x > 0 ? 1 : 0;
  write_npy(folder.file("t.npy"), {40}, classes);
  const std::string text = "[model]\nkind = \"layers\"\nlayers = [{batch_norm = 3}, {linear = [3, 2]}]\n[data]\ninputs = \"" +
                           folder.file("x.npy") + "\"\ntargets = \"" + folder.file("t.npy") +
                           "\"\nbatch = 10\nheld_back = 10\n[run]\nsteps = 3\nevaluate = [\"float32\"]\n";
  const RunResult result = run_of(text, "float64");
  REQUIRE(result.evaluations.size() == 2);
  // By hand: three batches' statistics, then the loss of the last ten samples with the weights behind the last step.
  const Numbers x = numbers(120, 5);
  std::array<long double, 3> mean{}, variance{1, 1, 1};
  for (std::size_t batch = 0; batch < 3; ++batch)
    for (std::size_t c = 0; c < 3; ++c) {
      long double m = 0, v = 0;
      for (std::size_t i = 0; i < 10; ++i) m += static_cast<long double>(x[(batch * 10 + i) * 3 + c]) / 10;
      for (std::size_t i = 0; i < 10; ++i) {
        const long double d = static_cast<long double>(x[(batch * 10 + i) * 3 + c]) - m;
        v += d * d / 9;
      }
      mean[c] = 0.9L * mean[c] + 0.1L * m, variance[c] = 0.9L * variance[c] + 0.1L * v;
    }
  const auto& w = result.recorded.back().values;
  long double loss = 0;
  for (std::size_t i = 30; i < 40; ++i) {
    std::array<long double, 2> logits{w[3][0], w[3][1]};
    for (std::size_t c = 0; c < 3; ++c) {
      const long double hat = (static_cast<long double>(x[i * 3 + c]) - mean[c]) / std::sqrt(variance[c] + 1e-5L);
      const long double y = hat * static_cast<long double>(w[0][c]) + static_cast<long double>(w[1][c]);
      for (std::size_t o = 0; o < 2; ++o) logits[o] += y * static_cast<long double>(w[2][o * 3 + c]);
    }
    const long double top = std::max(logits[0], logits[1]);
    const long double sum = std::exp(logits[0] - top) + std::exp(logits[1] - top);
    loss += (top + std::log(sum) - logits[static_cast<std::size_t>(classes[i])]) / 10;
  }
  CHECK(std::fabs(static_cast<long double>(result.evaluations[0].loss) - loss) < 1e-12L);
  CHECK(result.evaluations[0].recipe == "float64");
  CHECK(result.evaluations[1].recipe == "float32");
  CHECK(std::fabs(result.evaluations[1].loss - result.evaluations[0].loss) < 1e-6);
}

TEST_CASE("workers' numbers are added in the order that is stated, rounded at each addition", "[training]") {
  // In bfloat16 with 8 bits of precision 256 + 1 is 256, but 1 + 1 + 256 is 258.
  const Storage bf16{emu::bfloat16, {}};
  const std::vector<std::vector<float>> workers{{256, 1, 1, 256}, {1, 1, 256, 1}, {1, 256, 1, 1}, {1, 1, 1, 1}};
  // Part c begins at worker c + 1 and ends at worker c.
  const auto expected = [&](std::size_t c) {
    const auto rounded = [](double x) { return emu::round_to(emu::bfloat16, x).value; };
    double sum = static_cast<double>(workers[(c + 1) % 4][c]);
    for (std::size_t w = 2; w <= 4; ++w) sum = rounded(sum + static_cast<double>(workers[(c + w) % 4][c]));
    return static_cast<float>(sum);
  };
  const std::vector<float> ring = all_reduce(workers, ReduceOrder::ring, bf16);
  for (std::size_t c = 0; c < 4; ++c) CHECK(ring[c] == expected(c));
  CHECK(ring[0] == 260);  // 1 + 1 + 1 + 256 = 259, a tie that goes to even
  CHECK(ring[1] == 256);
  const std::vector<float> tree = all_reduce(workers, ReduceOrder::tree, bf16);
  CHECK(tree[0] == 258);  // (256 + 1) + (1 + 1)
  CHECK(tree[1] == 258);  // (1 + 1) + (256 + 1)
  // Sizes and numbers of workers that do not divide: exact where nothing is rounded.
  for (const std::size_t count : {1U, 2U, 3U, 5U, 8U})
    for (const std::size_t size : {0U, 1U, 2U, 7U, 16U}) {
      std::vector<std::vector<double>> all;
      for (std::size_t w = 0; w < count; ++w) {
        all.emplace_back();
        for (std::size_t i = 0; i < size; ++i) all.back().push_back(static_cast<double>(w * 100 + i));
      }
      for (const ReduceOrder order : {ReduceOrder::ring, ReduceOrder::tree}) {
        const std::vector<double> sum = all_reduce(all, order, {emu::float64, {}});
        const std::size_t of_hundreds = count * (count - 1) / 2;
        for (std::size_t i = 0; i < size; ++i) CHECK(sum[i] == static_cast<double>(count * i + 100 * of_hundreds));
      }
    }
  CHECK(bytes_moved(4, 1000, emu::bfloat16) == std::uint64_t{2} * 3 * 2000);
  CHECK_THROWS_AS(all_reduce<float>({}, ReduceOrder::ring, bf16), Error);
  CHECK_THROWS_AS(all_reduce<float>({{1}, {1, 2}}, ReduceOrder::ring, bf16), Error);
}

TEST_CASE("workers together do what one does with their batches, in exact arithmetic", "[training]") {
  TemporaryDirectory folder;
  const Network network{&folder};
  const std::string more = "[optimizer]\nlr = 0.5\n";
  const RunResult whole_batch = run_of(network.study("steps = 5\n", more), "float64");
  for (const std::string order : {"ring", "tree"}) {
    std::string text = network.study("steps = 5\nworkers = 4\nall_reduce = \"" + order + "\"\n", more);
    text.insert(text.find("[loss]"), "batch = 3\n");
    const RunResult workers = run_of(text, "float64");
    for (std::size_t p = 0; p < 4; ++p)
      for (std::size_t i = 0; i < workers.recorded.back().values[p].size(); ++i)
        CHECK(std::fabs(workers.recorded.back().values[p][i] - whole_batch.recorded.back().values[p][i]) < 1e-14);
    CHECK(workers.all_reduce_bytes == std::uint64_t{2} * 3 * 8 * (35 + 7 + 21 + 3));
  }
}

TEST_CASE("what a worker's backward pass overflows or loses does not depend on how many there are", "[training]") {
  TemporaryDirectory folder;
  const Network network{&folder};
  const auto first_step = [&](const std::string& workers, int log2_scale) {
    std::string text = network.study("steps = 1\nworkers = " + workers + "\n",
                                     "[scaler]\nkind = \"static:2^" + std::to_string(log2_scale) + "\"\n");
    text.insert(text.find("[loss]"), "batch = 3\n");
    return run_of(text, "fp16_amp");
  };
  int least = 0;
  while (!first_step("1", least).steps[0].skipped) ++least;
  CHECK(least > 0);
  CHECK(first_step("4", least).steps[0].skipped);  // one of them has the same batch
  // At 2^-18 most gradients are subnormal or zero.
  const auto share = [&](const std::string& workers) {
    for (const WatchedPlace& watched : first_step(workers, -18).places)
      if (watched.place == Place{"2", "linear", "grad_output"})
        return static_cast<double>(watched.counts.to_zero + watched.counts.subnormal) /
               static_cast<double>(watched.counts.count);
    return -1.0;
  };
  const double one = share("1"), four = share("4");
  CHECK(one > 0);
  CHECK(std::fabs(one - four) < 0.25);
}

}  // namespace ulpscope::training
