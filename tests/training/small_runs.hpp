// SPDX-License-Identifier: Apache-2.0
// Small training runs for the tests: a network as plain loops, its files, and a model of one weight.
#pragma once

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
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
#include "training/train/train_all.hpp"
#include "training/train/train_findings.hpp"
#include "training/train/train_page.hpp"
#include "training/train/train_tables.hpp"

namespace ulpscope::training {

using Numbers = std::vector<double>;

/// Numbers that are float32 numbers, between -1 and 1.
inline Numbers numbers(std::size_t count, std::uint64_t seed) {
  Numbers out;
  std::uint64_t state = seed * 2654435761U + 12345;
  for (std::size_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    out.push_back(static_cast<double>(static_cast<float>(static_cast<double>(state >> 40) * 0x1p-23 - 1)));
  }
  return out;
}

inline void write_npy(const std::string& path, const std::vector<std::uint64_t>& shape, const Numbers& values) {
  tensors::write_npy(path, shape, tensors::Producer<double>([&](std::uint64_t first, std::span<double> out) {
                       std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(first), out.size(), out.begin());
                     }));
}

struct Parameter {
  std::string name;
  std::vector<std::uint64_t> shape;
  Numbers values;
};

inline void write_weights(const std::string& path, const std::vector<Parameter>& parameters) {
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

inline std::vector<long double> wide(const Numbers& values) { return {values.begin(), values.end()}; }

/// A recipe in float32 but for its states.
inline std::string with_states(const TemporaryDirectory& folder, const std::string& state) {
  const std::string path = folder.file("mine.toml");
  std::ofstream(path) << "[state]\n"
                      << state << "[[rule]]\ninput = \"float32\"\nweight = \"float32\"\noutput = \"float32\"\n"
                      << "grad_output = \"float32\"\ngrad_input = \"float32\"\ngrad_weight = \"float32\"\n"
                      << "accumulate = \"float32\"\n";
  return path;
}

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

inline RunResult run_of(const std::string& text, const std::string& recipe, RunOptions options = {}, std::uint64_t seed = 0) {
  const TrainStudy study = parse_train_study(text, "study.toml");
  return train(study, read_samples(study), recipe, seed, options);
}

inline bool same_bits(const RunResult& a, const RunResult& b) {
  if (a.recorded.size() != b.recorded.size() || a.steps.size() != b.steps.size()) return false;
  for (std::size_t i = 0; i < a.recorded.size(); ++i)
    if (a.recorded[i].values != b.recorded[i].values) return false;
  for (std::size_t i = 0; i < a.steps.size(); ++i)
    if (a.steps[i].loss != b.steps[i].loss || a.steps[i].grad_norm != b.steps[i].grad_norm) return false;
  return true;
}

/// One weight, one sample, loss w x: gradient x. `more` goes before [run].
inline std::string one_weight(const TemporaryDirectory& folder, double x, double w, const std::string& more, int steps = 1) {
  write_npy(folder.file("x.npy"), {1, 1}, {x});
  write_weights(folder.file("w.safetensors"), {{"0.weight", {1, 1}, {w}}, {"0.bias", {1}, {0}}});
  return "[model]\nkind = \"layers\"\nlayers = [{linear = [1, 1]}]\ninit = \"" + folder.file("w.safetensors") +
         "\"\n[data]\ninputs = \"" + folder.file("x.npy") + "\"\n[loss]\nkind = \"sum\"\n[optimizer]\nlr = 1\n" + more +
         "[run]\nsteps = " + std::to_string(steps) + "\n";
}

inline double weight_of(const RunResult& result) { return result.recorded.back().values[0][0]; }

/// Files of what runs recorded, below a folder.
inline void write_recorded(const std::string& folder, const std::vector<RunResult>& runs) {
  for (const auto& [name, bytes] : recorded_files(runs)) {
    const std::filesystem::path path = std::filesystem::path(folder) / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << bytes;
  }
}

/// Every so many-th gradient beside the central difference of the loss, which reads `weights`.
template <class Loss, class Gradient>
void check_gradients(std::vector<Numbers>& weights, std::size_t of_each, const Loss& loss, const Gradient& gradient) {
  for (std::size_t p = 0; p < weights.size(); ++p)
    for (std::size_t i = 0; i < weights[p].size(); i += std::max<std::size_t>(1, weights[p].size() / of_each)) {
      CAPTURE(p, i);
      const double kept = weights[p][i], h = 1e-5;
      weights[p][i] = kept + h;
      const double up = loss();
      weights[p][i] = kept - h;
      const double down = loss();
      weights[p][i] = kept;
      CHECK(std::fabs((up - down) / (2 * h) - gradient(p)[i]) < 1e-8);
    }
}

}  // namespace ulpscope::training
