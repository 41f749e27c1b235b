// SPDX-License-Identifier: Apache-2.0
// Dot products and fused multiply-adds in 512-bit vectors, where every lane computes the same. The instructions are spelled
// out: the order of their operands decides which NaN survives, and compilers feel free to change it.
#include "gpu/cpu/cpu_units.hpp"

#if defined(__x86_64__)

#include <immintrin.h>

#include <cstdint>
#include <string>
#include <utility>

#include "emu/catalogue.hpp"
#include "gpu/cpu/avx512_fp16.hpp"
#include "gpu/cpu/control_word.hpp"
#include "gpu/cpu/vector_unit.hpp"

namespace ulpscope::gpu {
namespace {

using detail::Lanes, detail::VectorOperation;

/// MXCSR as it is: the instruction neither reads nor writes it.
__attribute__((target("avx512f,avx512bf16"))) void dot_products(Lanes<std::uint32_t>& lanes) {
  __m512i sum = _mm512_loadu_si512(lanes.c.data());
  for (std::size_t step = 0; step < lanes.steps(); ++step) {
    const __m512i a = _mm512_loadu_si512(&lanes.a[step * lanes.count]), b = _mm512_loadu_si512(&lanes.b[step * lanes.count]);
    __asm__ volatile("vdpbf16ps %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b));
  }
  _mm512_storeu_si512(lanes.c.data(), sum);
}

__attribute__((target(ULPSCOPE_AVX512_FP16))) void half_chains(Lanes<std::uint16_t>& lanes) {
  const detail::ControlWord mxcsr;
  __m512i sum = _mm512_loadu_si512(lanes.c.data());
  for (std::size_t step = 0; step < lanes.steps(); ++step) {
    const __m512i a = _mm512_loadu_si512(&lanes.a[step * lanes.count]), b = _mm512_loadu_si512(&lanes.b[step * lanes.count]);
    __asm__ volatile("vfmadd231ph %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b));
  }
  _mm512_storeu_si512(lanes.c.data(), sum);
}

/// float32 and float64.
template <class Word>
__attribute__((target("avx512f"))) void wide_chains(Lanes<Word>& lanes) {
  const detail::ControlWord mxcsr;
  __m512i sum = _mm512_loadu_si512(lanes.c.data());
  for (std::size_t step = 0; step < lanes.steps(); ++step) {
    const __m512i a = _mm512_loadu_si512(&lanes.a[step * lanes.count]), b = _mm512_loadu_si512(&lanes.b[step * lanes.count]);
    if constexpr (sizeof(Word) == 4)
      __asm__ volatile("vfmadd231ps %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b));
    else
      __asm__ volatile("vfmadd231pd %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b));
  }
  _mm512_storeu_si512(lanes.c.data(), sum);
}

VectorOperation fma(std::string instruction, emu::Format format, void (*multiply)(const InnerProducts&, std::span<emu::Code>)) {
  return detail::fused(std::move(instruction), format, format, "x86_fma", multiply);
}

}  // namespace

std::unique_ptr<Unit> detail::avx512_bf16_unit() {
  if (!__builtin_cpu_supports("avx512bf16")) return nullptr;
  const Operation dot{.instruction = "VDPBF16PS",
                      .a = emu::bfloat16,
                      .b = emu::bfloat16,
                      .accumulator = emu::float32,
                      .products = 2,
                      .engine = "avx512_bf16"};
  return std::make_unique<VectorUnit>(
      "cpu:avx512_bf16", std::vector{VectorOperation{dot, detail::multiply_by_vectors<std::uint32_t, 2, dot_products>}});
}

std::unique_ptr<Unit> detail::avx512_fp16_unit() {
  if (!detail::has_avx512_fp16()) return nullptr;
  return std::make_unique<VectorUnit>(
      "cpu:avx512_fp16",
      std::vector{fma("VFMADD231PH", emu::float16, detail::multiply_by_vectors<std::uint16_t, 1, half_chains>)});
}

std::unique_ptr<Unit> detail::avx512f_unit() {
  if (!__builtin_cpu_supports("avx512f")) return nullptr;
  return std::make_unique<VectorUnit>(
      "cpu:avx512f",
      std::vector{fma("VFMADD231PS", emu::float32, detail::multiply_by_vectors<std::uint32_t, 1, wide_chains<std::uint32_t>>),
                  fma("VFMADD231PD", emu::float64, detail::multiply_by_vectors<std::uint64_t, 1, wide_chains<std::uint64_t>>)});
}

}  // namespace ulpscope::gpu

#else

namespace ulpscope::gpu::detail {

std::unique_ptr<Unit> avx512_bf16_unit() { return nullptr; }
std::unique_ptr<Unit> avx512_fp16_unit() { return nullptr; }
std::unique_ptr<Unit> avx512f_unit() { return nullptr; }

}  // namespace ulpscope::gpu::detail

#endif
