// SPDX-License-Identifier: Apache-2.0
// Training steps a second under recipes, beside the same step in float32 with OpenBLAS: two layers, ReLU, cross-entropy, SGD.
// Arguments are inputs, hidden units, outputs and samples; the smallest is the perceptron of studies/training/digits.toml.
#include <benchmark/benchmark.h>
#include <cblas.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "training/train/run.hpp"

extern "C" void openblas_set_num_threads(int threads);

namespace {
using namespace ulpscope;

struct Sizes {
  std::size_t in, hidden, out, batch;

  explicit Sizes(const benchmark::State& state)
      : in(static_cast<std::size_t>(state.range(0))),
        hidden(static_cast<std::size_t>(state.range(1))),
        out(static_cast<std::size_t>(state.range(2))),
        batch(static_cast<std::size_t>(state.range(3))) {}
};

training::Samples samples_of(const Sizes& sizes) {
  std::mt19937_64 random(1);
  training::Samples samples;
  samples.count = sizes.batch;
  samples.shape = {sizes.in};
  for (std::size_t i = 0; i < sizes.batch * sizes.in; ++i)
    samples.inputs.push_back(std::ldexp(static_cast<double>(random() >> 40), -24));
  for (std::size_t i = 0; i < sizes.batch; ++i) samples.classes.push_back(random() % sizes.out);
  return samples;
}

void recipe(benchmark::State& state, const std::string& name) {
  const Sizes sizes(state);
  const training::Samples samples = samples_of(sizes);
  const std::uint64_t steps = sizes.in < 128 ? 50 : 2;  // a run's beginning and end are not to count
  const training::TrainStudy study = training::parse_train_study(
      "[model]\nkind = \"mlp\"\nwidths = [" + std::to_string(sizes.in) + ", " + std::to_string(sizes.hidden) + ", " +
          std::to_string(sizes.out) + "]\n[data]\ntable = \"digits\"\n[run]\nsteps = " + std::to_string(steps) + "\n",
      "bench");
  for ([[maybe_unused]] auto _ : state) benchmark::DoNotOptimize(training::train(study, samples, name, 0, {.threads = 1}));
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(steps));
}

/// The same step, as a framework does it.
class BlasStep {
 public:
  explicit BlasStep(const Sizes& sizes)
      : s_(sizes), w1_(s_.hidden * s_.in, 1e-3F), w2_(s_.out * s_.hidden, 1e-3F), x_(s_.batch * s_.in, 0.5F) {
    for (auto* const v : {&h_, &dh_}) v->resize(s_.batch * s_.hidden);
    for (auto* const v : {&y_, &dy_}) v->resize(s_.batch * s_.out);
    g1_.resize(w1_.size()), g2_.resize(w2_.size());
  }

  void step() {
    multiply(CblasNoTrans, CblasTrans, s_.batch, s_.hidden, s_.in, x_, w1_, h_);
    for (float& x : h_) x = std::max(x, 0.0F);
    multiply(CblasNoTrans, CblasTrans, s_.batch, s_.out, s_.hidden, h_, w2_, y_);
    for (std::size_t i = 0; i < s_.batch; ++i) {
      const float* const row = y_.data() + i * s_.out;
      const float most = *std::max_element(row, row + s_.out);
      float sum = 0;
      for (std::size_t j = 0; j < s_.out; ++j) sum += dy_[i * s_.out + j] = std::exp(row[j] - most);
      for (std::size_t j = 0; j < s_.out; ++j) dy_[i * s_.out + j] /= sum * static_cast<float>(s_.batch);
      dy_[i * s_.out + i % s_.out] -= 1 / static_cast<float>(s_.batch);
    }
    multiply(CblasTrans, CblasNoTrans, s_.out, s_.hidden, s_.batch, dy_, h_, g2_);
    multiply(CblasNoTrans, CblasNoTrans, s_.batch, s_.hidden, s_.out, dy_, w2_, dh_);
    for (std::size_t i = 0; i < dh_.size(); ++i) dh_[i] = h_[i] > 0 ? dh_[i] : 0;
    multiply(CblasTrans, CblasNoTrans, s_.hidden, s_.in, s_.batch, dh_, x_, g1_);
    for (std::size_t i = 0; i < g1_.size(); ++i) w1_[i] -= 0.01F * g1_[i];
    for (std::size_t i = 0; i < g2_.size(); ++i) w2_[i] -= 0.01F * g2_[i];
  }

 private:
  static void multiply(CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, std::size_t m, std::size_t n, std::size_t k,
                       const std::vector<float>& a, const std::vector<float>& b, std::vector<float>& c) {
    const auto whole = [](std::size_t x) { return static_cast<int>(x); };
    cblas_sgemm(CblasRowMajor, ta, tb, whole(m), whole(n), whole(k), 1, a.data(), whole(ta == CblasNoTrans ? k : m), b.data(),
                whole(tb == CblasNoTrans ? n : k), 0, c.data(), whole(n));
  }

  Sizes s_;
  std::vector<float> w1_, w2_, x_, h_{}, y_{}, dy_{}, dh_{}, g1_{}, g2_{};
};

void sgemm(benchmark::State& state) {
  openblas_set_num_threads(1);
  BlasStep blas{Sizes(state)};
  for ([[maybe_unused]] auto _ : state) {
    blas.step();
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations());
}

void sizes(benchmark::internal::Benchmark* const bench) {
  bench->ArgNames({"in", "hidden", "out", "samples"})->Unit(benchmark::kMillisecond);
  bench->Args({64, 128, 10, 64})->Args({128, 128, 128, 256})->Args({256, 256, 256, 256})->Args({1024, 1024, 1024, 256});
}
BENCHMARK(sgemm)->Apply(sizes);
BENCHMARK_CAPTURE(recipe, float32, "float32")->Apply(sizes);
BENCHMARK_CAPTURE(recipe, bf16_amp, "bf16_amp")->Apply(sizes);
BENCHMARK_CAPTURE(recipe, fp8_deepseek, "fp8_deepseek")->Apply(sizes);
BENCHMARK_CAPTURE(recipe, mxfp8, "mxfp8")->Apply(sizes);

}  // namespace
