// SPDX-License-Identifier: Apache-2.0
// Census and sweep of a tensor in memory, beside the mere reading of it by one thread. Cases are named as those of bulk.cpp are:
//   census/float8_e4m3fn/nearest_even/normal/67108864     census_2_threads/...   sweep/..., 48 scales and four formats
#include "studies/census/census.hpp"

#include <benchmark/benchmark.h>

#include <bit>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/stepped.hpp"
#include "emu/catalogue.hpp"
#include "emu/names.hpp"
#include "studies/census/sweep.hpp"
#include "tensors/tensor.hpp"

namespace {

using namespace ulpscope;

constexpr std::int64_t elements = std::int64_t{64} << 20;

tensors::Tensor normal_numbers(std::uint64_t count) {
  const tensors::Tensor source = tensors::open("normal:0,1:" + std::to_string(count)).front();
  std::vector<float> values(count);
  source.source->read(0, std::span(values));
  return tensors::from_values("normal", {count}, std::move(values));
}

const tensors::Tensor& normal() {
  static const tensors::Tensor tensor = normal_numbers(elements);
  return tensor;
}

/// Every bit of the tensor, in a loop that the compiler makes a vector loop of.
std::uint32_t read_all() {
  std::uint32_t bits = 0;
  const tensors::FloatPiece all = normal().source->floats(0, elements);
  for (const float x : all.values) bits |= std::bit_cast<std::uint32_t>(x);
  return bits;
}

studies::CensusConfig config_of(std::vector<emu::Format> formats, int threads,
                                emu::Rounding rounding = emu::Rounding::nearest_even) {
  studies::CensusConfig config;
  config.formats = std::move(formats);
  config.threads = threads;
  config.options.rounding = rounding;
  return config;
}

/// Vector instructions of a census for an element, of those that are summed together: the first of them take more than the
/// last.
std::optional<double> counted(const studies::CensusConfig& config) {
  static const tensors::Tensor chunk = normal_numbers(studies::chunk_elements), one = normal_numbers(1);
  const auto census_of = [&](const tensors::Tensor& tensor) { benchmark::DoNotOptimize(studies::census(tensor, {}, config)); };
  const auto all = bench::more_vector_instructions([&] { census_of(chunk); }, [&] { census_of(one); });
  if (!all) return std::nullopt;
  return *all / static_cast<double>(studies::chunk_elements - 1);
}

template <class Work>
void add_case(const std::string& name, Work work, const std::function<std::optional<double>()>& instructions = {}) {
  const auto measure = [=, counted = std::optional<std::optional<double>>()](benchmark::State& state) mutable {
    normal();
    if (instructions && !counted) counted = instructions();
    if (counted && *counted) state.counters["vector_instructions"] = **counted;
    for (auto unused : state) {
      static_cast<void>(unused);
      work();
    }
    state.SetItemsProcessed(state.iterations() * elements);
    state.SetLabel("read");
  };
  const std::string whole = name + "/" + std::to_string(elements);
  benchmark::RegisterBenchmark(whole.c_str(), measure)->Unit(benchmark::kMillisecond)->UseRealTime();
}

void add_census(const std::string& operation, const studies::CensusConfig& config) {
  const std::string rounding(emu::name_of(config.options.rounding));
  add_case(
      operation + '/' + emu::format_name(config.formats.front()) + '/' + rounding + "/normal",
      [=] { benchmark::DoNotOptimize(studies::census(normal(), {}, config)); },
      config.threads == 1 ? std::function([=] { return counted(config); }) : nullptr);
}

const bool registered = [] {
  const std::vector<emu::Format> formats{emu::fp16, emu::bf16, emu::e4m3, emu::e5m2};
  add_case("read/all", [] { benchmark::DoNotOptimize(read_all()); });
  for (const int threads : {1, 2}) {
    const std::string suffix = threads == 1 ? "" : "_2_threads", data = "/nearest_even/normal";
    for (const emu::Rounding rounding : {emu::Rounding::nearest_even, emu::Rounding::stochastic})
      for (const emu::Format format : formats)
        if (threads == 1 || rounding == emu::Rounding::nearest_even)
          add_census("census" + suffix, config_of({format}, threads, rounding));
    const auto config = config_of(formats, threads);
    add_case("sweep" + suffix + "/48_scales_4_formats" + data,
             [=] { benchmark::DoNotOptimize(studies::sweep(normal(), {-23, 24, 1}, config)); });
  }
  return true;
}();

}  // namespace
