// SPDX-License-Identifier: Apache-2.0
// Training steps a second under recipes, beside the same step in float32 with OpenBLAS: two layers of one width, ReLU,
// cross-entropy, SGD.
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

constexpr std::size_t batch = 256;
constexpr std::uint64_t steps = 2;

training::Samples samples_of(std::size_t width) {
  std::mt19937_64 random(1);
  training::Samples samples;
  samples.count = batch;
  samples.shape = {width};
  for (std::size_t i = 0; i < batch * width; ++i)
    samples.inputs.push_back(std::ldexp(static_cast<double>(random() >> 40), -24));
  for (std::size_t i = 0; i < batch; ++i) samples.classes.push_back(random() % width);
  return samples;
}

void recipe(benchmark::State& state, const std::string& name) {
  const auto width = static_cast<std::size_t>(state.range(0));
  const training::Samples samples = samples_of(width);
  const training::TrainStudy study = training::parse_train_study(
      "[model]\nkind = \"mlp\"\nwidths = [" + std::to_string(width) + ", " + std::to_string(width) + ", " +
          std::to_string(width) + "]\n[data]\ntable = \"digits\"\n[run]\nsteps = " + std::to_string(steps) + "\n",
      "bench");
  for (auto _ : state) benchmark::DoNotOptimize(training::train(study, samples, name, 0, {.threads = 1}));
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(steps));
}

/// The same step, as a framework does it.
class BlasStep {
 public:
  explicit BlasStep(std::size_t width) : n_(width), w1_(n_ * n_, 1e-3F), w2_(n_ * n_, 1e-3F), x_(batch * n_, 0.5F) {
    for (auto* const v : {&h_, &y_, &dy_, &dh_}) v->resize(batch * n_);
    for (auto* const v : {&g1_, &g2_}) v->resize(n_ * n_);
  }

  void step() {
    multiply(CblasNoTrans, CblasTrans, batch, n_, n_, x_, w1_, h_);
    for (float& x : h_) x = std::max(x, 0.0F);
    multiply(CblasNoTrans, CblasTrans, batch, n_, n_, h_, w2_, y_);
    for (std::size_t i = 0; i < batch; ++i) {
      const float* const row = y_.data() + i * n_;
      const float most = *std::max_element(row, row + n_);
      float sum = 0;
      for (std::size_t j = 0; j < n_; ++j) sum += dy_[i * n_ + j] = std::exp(row[j] - most);
      for (std::size_t j = 0; j < n_; ++j) dy_[i * n_ + j] /= sum * static_cast<float>(batch);
      dy_[i * n_ + i % n_] -= 1 / static_cast<float>(batch);
    }
    multiply(CblasTrans, CblasNoTrans, n_, n_, batch, dy_, h_, g2_);
    multiply(CblasNoTrans, CblasNoTrans, batch, n_, n_, dy_, w2_, dh_);
    for (std::size_t i = 0; i < dh_.size(); ++i) dh_[i] = h_[i] > 0 ? dh_[i] : 0;
    multiply(CblasTrans, CblasNoTrans, n_, n_, batch, dh_, x_, g1_);
    for (std::size_t i = 0; i < g1_.size(); ++i) w1_[i] -= 0.01F * g1_[i], w2_[i] -= 0.01F * g2_[i];
  }

 private:
  static void multiply(CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, std::size_t m, std::size_t n, std::size_t k,
                       const std::vector<float>& a, const std::vector<float>& b, std::vector<float>& c) {
    const auto whole = [](std::size_t x) { return static_cast<int>(x); };
    cblas_sgemm(CblasRowMajor, ta, tb, whole(m), whole(n), whole(k), 1, a.data(), whole(ta == CblasNoTrans ? k : m), b.data(),
                whole(tb == CblasNoTrans ? n : k), 0, c.data(), whole(n));
  }

  std::size_t n_;
  std::vector<float> w1_, w2_, x_, h_{}, y_{}, dy_{}, dh_{}, g1_{}, g2_{};
};

void sgemm(benchmark::State& state) {
  openblas_set_num_threads(1);
  BlasStep blas(static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) {
    blas.step();
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations());
}

BENCHMARK(sgemm)->Arg(128)->Arg(1024)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(recipe, float32, "float32")->Arg(128)->Arg(1024)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(recipe, bf16_amp, "bf16_amp")->Arg(128)->Arg(1024)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(recipe, fp8_deepseek, "fp8_deepseek")->Arg(128)->Arg(1024)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(recipe, mxfp8, "mxfp8")->Arg(128)->Arg(1024)->Unit(benchmark::kMillisecond);

}  // namespace
