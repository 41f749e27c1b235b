// SPDX-License-Identifier: Apache-2.0
// Census and sweep of a tensor in memory, beside the mere reading of it: `of_read` is the speed of reading by one thread over
// that of the study, per pass over the data.
#include "studies/census.hpp"

#include <benchmark/benchmark.h>

#include <bit>
#include <chrono>
#include <cstdint>
#include <vector>

#include "emu/catalogue.hpp"
#include "studies/sweep.hpp"
#include "tensors/tensor.hpp"

namespace {

using namespace ulpscope;

constexpr std::uint64_t elements = std::uint64_t{64} << 20;

const tensors::Tensor& normal() {
  static const tensors::Tensor tensor = [] {
    const tensors::Tensor source = tensors::open("normal:0,1:" + std::to_string(elements)).front();
    std::vector<float> values(elements);
    source.source->read(0, std::span(values));
    return tensors::from_values("normal", {elements}, std::move(values));
  }();
  return tensor;
}

/// Every bit of the tensor, in a loop that the compiler makes a vector loop of.
std::uint32_t read_all() {
  const std::span<const float> values = normal().source->floats(0, elements);
  std::uint32_t bits = 0;
  for (const float x : values) bits |= std::bit_cast<std::uint32_t>(x);
  return bits;
}

double seconds_to_read() {
  static const double seconds = [] {
    double least = 1e9;
    for (int i = 0; i < 5; ++i) {
      const auto start = std::chrono::steady_clock::now();
      benchmark::DoNotOptimize(read_all());
      least = std::min(least, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
    return least;
  }();
  return seconds;
}

void report(benchmark::State& state, double seconds, double passes) {
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(elements));
  state.counters["of_read"] = seconds_to_read() * static_cast<double>(state.iterations()) * passes / seconds;
}

template <class Study>
void measure(benchmark::State& state, Study study) {
  normal();
  double seconds = 0;
  for (auto unused : state) {
    static_cast<void>(unused);
    const auto start = std::chrono::steady_clock::now();
    study();
    seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  report(state, seconds, 1);
}

void reading(benchmark::State& state) {
  measure(state, [] { benchmark::DoNotOptimize(read_all()); });
}

studies::CensusConfig config_of(std::vector<emu::Format> formats, std::int64_t threads) {
  studies::CensusConfig config;
  config.formats = std::move(formats);
  config.threads = static_cast<int>(threads);
  return config;
}

void census(benchmark::State& state, emu::Format format) {
  const auto config = config_of({format}, state.range(0));
  measure(state, [&] { benchmark::DoNotOptimize(studies::census(normal(), {}, config)); });
}

void sweep(benchmark::State& state) {
  const auto config = config_of({emu::fp16, emu::bf16, emu::e4m3, emu::e5m2}, state.range(0));
  measure(state, [&] { benchmark::DoNotOptimize(studies::sweep(normal(), {-23, 24, 1}, config)); });
}

BENCHMARK(reading)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(census, float16, emu::fp16)->Arg(1)->Arg(2)->ArgName("threads")->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(census, bfloat16, emu::bf16)
    ->Arg(1)
    ->Arg(2)
    ->ArgName("threads")
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK_CAPTURE(census, float8_e4m3fn, emu::e4m3)
    ->Arg(1)
    ->Arg(2)
    ->ArgName("threads")
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK_CAPTURE(census, float8_e5m2, emu::e5m2)
    ->Arg(1)
    ->Arg(2)
    ->ArgName("threads")
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK(sweep)->Arg(1)->Arg(2)->ArgName("threads")->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
