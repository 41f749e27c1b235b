// SPDX-License-Identifier: Apache-2.0
// The scalar core as device code: this file only has to compile.
#include "emu/arithmetic.hpp"
#include "emu/catalogue.hpp"
#include "emu/comparison.hpp"
#include "emu/encode.hpp"
#include "emu/integral.hpp"
#include "emu/number.hpp"
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

// Formats of more than 24 significand bits compute with 128-bit words.
template <Format format>
__global__ void compute_all(const Code* in, Code* codes, Order* orders, std::int64_t* integers, RoundingOptions options) {
  const Code a = in[0], b = in[1], c = in[2];
  int next = 0;
  for (const Result result :
       {add(format, a, b, options), sub(format, a, b, options), mul(format, a, b, options), div(format, a, b, options),
        fma(format, a, b, c, options), sqrt(format, a, options), remainder(format, a, b, options), minimum(format, a, b),
        maximum_number(format, a, b), round_to_integral(format, a, options), from_integer(format, integers[0], options),
        next_up(format, a), next_down(format, a), scale_b(format, a, 3, options), log_b(format, a)})
    codes[next++] = result.code;
  orders[0] = compare_quiet(format, a, b).order;
  integers[1] = to_integer<std::int64_t>(format, a, options).value;
}

template __global__ void compute_all<e4m3>(const Code*, Code*, Order*, std::int64_t*, RoundingOptions);
template __global__ void compute_all<fp64>(const Code*, Code*, Order*, std::int64_t*, RoundingOptions);

template <class N>
__global__ void compute_numbers(const N* in, N* out, float* floats) {
  __shared__ N tile[2];
  tile[threadIdx.x & 1] = in[threadIdx.x];
  const N x = tile[0], y = N(floats[0]) * 2 + in[1];
  out[0] = x < y && x == x ? -x / y : fma(x, y, 1) - static_cast<N>(static_cast<int>(x));
  out[1] = sqrt(abs(x)) + copysign(fmax(x, 0), nextafter(y, x)) + remainder(floor(x), std::numeric_limits<N>::max());
  out[2] = isnan(x) ? ldexp(x, ilogb(y)) : x;
  floats[1] = static_cast<float>(Number<bf16>(out[2]));
}

template __global__ void compute_numbers(const Number<e4m3>*, Number<e4m3>*, float*);
template __global__ void compute_numbers(const Number<fp64>*, Number<fp64>*, float*);
using Upward = Number<bf16, RoundingOptions{.rounding = Rounding::upward}>;
template __global__ void compute_numbers(const Upward*, Upward*, float*);
