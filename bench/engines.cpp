// SPDX-License-Identifier: Apache-2.0
// Operations per second (two a product) of matrix products on emulated engines, beside OpenBLAS sgemm and dgemm of the same
// size.
#include "emu/engines.hpp"

#include <benchmark/benchmark.h>
#include <cblas.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <random>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "emu/bulk.hpp"
#include "emu/engine_matmul.hpp"
#include "emu/names.hpp"
#include "emu/simd.hpp"

extern "C" void openblas_set_num_threads(int threads);

namespace {
using namespace ulpscope;

constexpr int all_threads = 0;
constexpr std::array sizes{256, 1024};

template <class Float>
std::vector<Float> normal_numbers(std::size_t count, emu::Format format, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<Float> normal;
  std::vector<Float> out(count);
  for (Float& x : out) x = normal(random);
  emu::round_to(format, std::span<const Float>(out), std::span(out));
  return out;
}

void count_operations(benchmark::State& state, std::size_t n) {
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(2 * n * n * n));
}

/// Scales of an operand of n by n, for blocks of `each` along K.
emu::ScaleGrid block_scales(const emu::EngineMode& mode, std::span<const float> values, std::size_t rows, std::size_t columns) {
  emu::ScaleGrid grid;
  if (mode.model.scales == emu::EngineScales::none) return grid;
  grid.format = mode.scale_format;
  grid.values = values.first(rows * columns);
  grid.rows = rows;
  grid.columns = columns;
  return grid;
}

std::vector<float> powers_of_two(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> out(count);
  for (float& x : out) x = std::ldexp(1.0F, static_cast<int>(random() % 8) - 4);
  return out;
}

template <class Float>
void engine(benchmark::State& state, const emu::EngineMode& mode, emu::Format format, int threads) {
  const auto n = static_cast<std::size_t>(state.range(0));
  const auto a = normal_numbers<Float>(n * n, format, 1), b = normal_numbers<Float>(n * n, format, 2);
  std::vector<Float> d(n * n);
  emu::EngineMatmul<Float> problem{};
  problem.engine = mode.model;
  problem.a = {format, a, {n, n}};
  problem.b = {format, b, {n, n}};
  problem.out = std::is_same_v<Float, double> ? emu::float64 : emu::float32;
  problem.threads = threads;
  const std::size_t blocks = n / static_cast<std::size_t>(std::max(mode.model.scale_products, 1));
  const std::vector<float> a_scales = powers_of_two(n * blocks, 3), b_scales = powers_of_two(n * blocks, 4);
  problem.scale_a = block_scales(mode, a_scales, n, blocks);
  problem.scale_b = block_scales(mode, b_scales, blocks, n);
  for ([[maybe_unused]] auto _ : state) {
    emu::engine_matmul(problem, std::span(d));
    benchmark::DoNotOptimize(d.data());
  }
  count_operations(state, n);
  state.SetLabel(std::string(mode.model.accumulator == emu::float64 ? "dgemm" : "sgemm") +
                 (threads == 1 ? "" : "_all_threads"));
}

/// Seconds of the processor for a product of 32 by 32 by `depth`, called again and again: the least of several rounds.
class SmallProduct {
 public:
  SmallProduct(const emu::EngineMode& mode, emu::Format format, std::size_t depth)
      : a_(normal_numbers<float>(extent * depth, format, 1)), b_(normal_numbers<float>(depth * extent, format, 2)) {
    problem_.engine = mode.model;
    problem_.a = {format, a_, {extent, depth}};
    problem_.b = {format, b_, {extent, depth}, true};
    problem_.threads = 1;
  }
  void call() {
    emu::engine_matmul(problem_, std::span(d_), workspace_);
    benchmark::DoNotOptimize(d_.data());
  }
  double seconds() {
    constexpr int rounds = 20, calls = 500;
    double least = 1;
    for (int round = 0; round < rounds; ++round) {
      const std::clock_t begin = std::clock();
      for (int i = 0; i < calls; ++i) call();
      least = std::min(least, static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC / calls);
    }
    return least;
  }

 private:
  static constexpr std::size_t extent = 32;
  std::vector<float> a_, b_, d_ = std::vector<float>(extent * extent);
  emu::EngineMatmul<float> problem_{};
  emu::MatmulWorkspace workspace_{};
};

/// A call at 32 by 32 by 32, and what of it would be there without any products: twice the time of K = 32 less that of 64.
void small_call(benchmark::State& state, const emu::EngineMode& mode, emu::Format format) {
  SmallProduct product(mode, format, 32), twice(mode, format, 64);
  for ([[maybe_unused]] auto _ : state) product.call();
  state.counters["overhead_us"] = 1e6 * (2 * product.seconds() - twice.seconds());
}

template <class Float>
void gemm(benchmark::State& state, int threads) {
  const auto n = static_cast<std::size_t>(state.range(0));
  const auto order = static_cast<int>(n);
  const emu::Format format = std::is_same_v<Float, double> ? emu::float64 : emu::float32;
  const auto a = normal_numbers<Float>(n * n, format, 1), b = normal_numbers<Float>(n * n, format, 2);
  std::vector<Float> d(n * n);
  openblas_set_num_threads(threads == all_threads ? static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)) : threads);
  for ([[maybe_unused]] auto _ : state) {
    if constexpr (std::is_same_v<Float, double>)
      cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, order, order, order, 1, a.data(), order, b.data(), order, 0,
                  d.data(), order);
    else
      cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, order, order, order, 1, a.data(), order, b.data(), order, 0,
                  d.data(), order);
    benchmark::DoNotOptimize(d.data());
  }
  count_operations(state, n);
}

/// What a mode multiplies here: each of its formats. Engines that take any multiply float16, and those that add in float64
/// float64, too.
std::vector<emu::Format> operands_of(const emu::EngineMode& mode) {
  if (!mode.inputs.empty()) return {mode.inputs.begin(), mode.inputs.end()};
  if (mode.model.accumulator == emu::float64) return {emu::float16, emu::float64};
  return {emu::float16};
}

/// ENGINE/INPUT/ACCUMULATOR; block scales that the engine applies join the input by a plus.
std::string name_of(const emu::EngineMode& mode, emu::Format operands) {
  const bool scaled = mode.model.scales != emu::EngineScales::none;
  return std::string(mode.engine) + "/" + emu::format_name(operands) +
         (scaled ? "+" + emu::format_name(mode.scale_format) : "") + "/" + emu::format_name(mode.model.accumulator);
}

void register_all() {
  // One thread is timed by what it has of the processor.
  const auto add = [&](const std::string& name, int threads, auto function) {
    for (const int size : sizes) {
      auto* const benchmark = benchmark::RegisterBenchmark(name.c_str(), function)->Arg(size)->Unit(benchmark::kMillisecond);
      if (threads != 1) benchmark->UseRealTime();
    }
  };
  for (const char* const name : {"fma", "sm_80", "sm_90"}) {
    const emu::EngineMode& mode = emu::find_engine(name, {emu::float16, emu::float16});
    benchmark::RegisterBenchmark((std::string("call/") + name).c_str(), [&mode](benchmark::State& s) {
      small_call(s, mode, emu::float16);
    })->Unit(benchmark::kMicrosecond);
  }
  for (const int threads : {1, all_threads}) {
    const std::string suffix = threads == 1 ? "" : "_all_threads";
    add("sgemm" + suffix, threads, [=](benchmark::State& s) { gemm<float>(s, threads); });
    add("dgemm" + suffix, threads, [=](benchmark::State& s) { gemm<double>(s, threads); });
    for (const emu::EngineMode& mode : emu::engine_modes())
      for (const emu::Format format : operands_of(mode))
        add("engine" + suffix + "/" + name_of(mode, format), threads, [&mode, format, threads](benchmark::State& s) {
          (mode.model.accumulator == emu::float64 ? engine<double> : engine<float>)(s, mode, format, threads);
        });
  }
}

/// OpenBLAS's kernels for the path in force: it takes those of Haswell on some processors that have AVX-512, and reads the
/// variable when it is loaded.
void choose_blas_kernels(char** argv) {
  constexpr const char* variable = "OPENBLAS_CORETYPE";
  const emu::SimdPath path = emu::simd_path();
  if (std::getenv(variable) != nullptr || (path != emu::SimdPath::avx512 && path != emu::SimdPath::avx2)) return;
  setenv(variable, path == emu::SimdPath::avx512 ? "SkylakeX" : "Haswell", 1);
  execv("/proc/self/exe", argv);
}

}  // namespace

int main(int argc, char** argv) {
  if (const char* path = std::getenv("ULPSCOPE_SIMD")) emu::use_simd_path(path);
  choose_blas_kernels(argv);
  register_all();
  benchmark::Initialize(&argc, argv);
  benchmark::AddCustomContext("compiler", ULPSCOPE_COMPILER);
  benchmark::AddCustomContext("simd_path", std::string(emu::name_of(emu::simd_path())));
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
