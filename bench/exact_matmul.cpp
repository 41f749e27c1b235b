// SPDX-License-Identifier: Apache-2.0
// Products per second of the exact matrix product, beside a float32 product of three loops on one thread.
#include "emu/exact_matmul.hpp"

#include <benchmark/benchmark.h>

#include <cmath>
#include <cstddef>
#include <random>
#include <string>
#include <vector>

#include "emu/catalogue.hpp"

namespace {
using namespace ulpscope;

std::vector<float> normal_numbers(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> out(count);
  for (float& x : out) x = normal(random);
  return out;
}

void count_products(benchmark::State& state, std::size_t n) {
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(n * n * n));
}

void exact(benchmark::State& state, emu::Format format, int threads) {
  const auto n = static_cast<std::size_t>(state.range(0));
  const auto matrix = [&](unsigned seed) {
    std::vector<emu::Code> codes;
    for (const float x : normal_numbers(n * n, seed)) codes.push_back(emu::encode(format, x));
    return emu::ExactMatrix(format, codes, {n, n});
  };
  const emu::ExactMatrix a = matrix(1), b = matrix(2);
  std::vector<float> out(n * n);
  for ([[maybe_unused]] auto _ : state) {
    emu::exact_matmul(a, b, emu::fp32, std::span<float>(out), {.threads = threads});
    benchmark::DoNotOptimize(out.data());
  }
  count_products(state, n);
}

void float32_loops(benchmark::State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  const std::vector<float> a = normal_numbers(n * n, 1), b = normal_numbers(n * n, 2);
  std::vector<float> out(n * n);
  for ([[maybe_unused]] auto _ : state) {
    std::fill(out.begin(), out.end(), 0.0F);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t k = 0; k < n; ++k)
        for (std::size_t j = 0; j < n; ++j) out[i * n + j] += a[i * n + k] * b[k * n + j];
    benchmark::DoNotOptimize(out.data());
  }
  count_products(state, n);
}

const bool registered = [] {
  const auto add = [](const std::string& name, auto function) {
    benchmark::RegisterBenchmark(name.c_str(), function)->Arg(256)->UseRealTime()->Unit(benchmark::kMillisecond);
  };
  add("float32_loops", float32_loops);
  for (const int threads : {1, 2}) {
    const std::string suffix = "/threads:" + std::to_string(threads);
    add("exact/e4m3" + suffix, [=](benchmark::State& s) { exact(s, emu::e4m3, threads); });
    add("exact/fp16" + suffix, [=](benchmark::State& s) { exact(s, emu::fp16, threads); });
    add("exact/bf16" + suffix, [=](benchmark::State& s) { exact(s, emu::bf16, threads); });
  }
  return true;
}();

}  // namespace
