// SPDX-License-Identifier: Apache-2.0
// The scalar core as device code: this file only has to compile.
#include "emu/catalogue.hpp"
#include "emu/encode.hpp"
#include "emu/philox.hpp"

using namespace ulpscope::emu;

template <Format format>
__global__ void round_all(const float* in, double* out, Code* codes, RoundingOptions options, int count) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= count) return;
  const Rounded fixed = round_to(format, in[i]);
  const Rounded chosen = round_to(format, static_cast<double>(in[i]), options, rounding_bits(7, static_cast<std::uint64_t>(i)));
  codes[i] = convert(format, fixed.code, float32).code + encode(format, in[i]);
  out[i] = chosen.value + decode(format, fixed.code);
}

__global__ void round_at_run_time(Format format, const float* in, double* out) { out[0] = round_to(format, in[0]).value; }

template __global__ void round_all<e4m3>(const float*, double*, Code*, RoundingOptions, int);
template __global__ void round_all<fp16>(const float*, double*, Code*, RoundingOptions, int);
template __global__ void round_all<e8m0>(const float*, double*, Code*, RoundingOptions, int);
