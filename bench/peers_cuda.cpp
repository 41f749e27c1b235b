// SPDX-License-Identifier: Apache-2.0
// Elements per second of the host side of NVIDIA's conversion headers: one call an element, as they offer it. Cases are named
// operation/format/header/elements; `round_to` encodes and goes back to float.
#include <benchmark/benchmark.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <random>
#include <string>
#include <vector>

namespace {

constexpr std::int64_t elements = 1 << 20;

const std::vector<float>& values() {
  static const std::vector<float> all = [] {
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    std::vector<float> out(elements);
    for (float& x : out) x = normal(random);
    return out;
  }();
  return all;
}

template <class Out, class Convert>
void add(const std::string& name, Convert convert) {
  benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) {
    std::vector<Out> out(elements);
    for ([[maybe_unused]] auto _ : state) {
      for (std::size_t i = 0; i < out.size(); ++i) out[i] = convert(values()[i]);
      benchmark::DoNotOptimize(out.data());
      benchmark::ClobberMemory();
    }
    state.SetItemsProcessed(state.iterations() * elements);
  })->Arg(elements);
}

template <class Encode, class Decode>
void add_format(const std::string& format, const std::string& header, Encode encode, Decode decode) {
  add<decltype(encode(0.0F))>("encode/" + format + '/' + header, encode);
  add<float>("round_to/" + format + '/' + header, [=](float x) { return decode(encode(x)); });
}

template <__nv_fp8_interpretation_t kind>
void add_fp8(const std::string& format) {
  add_format(
      format, "cuda_fp8.h", [](float x) { return __nv_cvt_float_to_fp8(x, __NV_NOSAT, kind); },
      [](__nv_fp8_storage_t code) { return __half2float(__half(__nv_cvt_fp8_to_halfraw(code, kind))); });
}

const bool registered = [] {
  add_format(
      "float16", "cuda_fp16.h", [](float x) { return __float2half_rn(x); }, [](__half x) { return __half2float(x); });
  add_format(
      "bfloat16", "cuda_bf16.h", [](float x) { return __float2bfloat16_rn(x); },
      [](__nv_bfloat16 x) { return __bfloat162float(x); });
  add_fp8<__NV_E4M3>("float8_e4m3fn");
  add_fp8<__NV_E5M2>("float8_e5m2");
  return true;
}();

}  // namespace
