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
#include "emu/error.hpp"
#include "gpu/cpu/avx512_fp16.hpp"
#include "gpu/cpu/lanes.hpp"

namespace ulpscope::gpu {
namespace {

using detail::Lanes;

/// The default MXCSR, masked and to nearest without flushing, for the length of a scope (SDM volume 1, 10.2.3).
class DefaultMxcsr {
 public:
  DefaultMxcsr() noexcept : before_(_mm_getcsr()) { _mm_setcsr(0x1f80); }
  ~DefaultMxcsr() { _mm_setcsr(before_); }
  DefaultMxcsr(const DefaultMxcsr&) = delete;
  DefaultMxcsr& operator=(const DefaultMxcsr&) = delete;

 private:
  unsigned before_;
};

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
  const DefaultMxcsr mxcsr;
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
  const DefaultMxcsr mxcsr;
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

/// An operation, and what runs it on a whole problem.
struct Instruction {
  Operation operation;
  void (*multiply)(const InnerProducts& problem, std::span<emu::Code> d);
};

class VectorUnit final : public Unit {
 public:
  VectorUnit(std::string name, std::vector<Instruction> instructions)
      : name_(std::move(name)), instructions_(std::move(instructions)) {}

  std::string name() const override { return name_; }

  std::vector<Operation> operations() const override {
    std::vector<Operation> operations;
    for (const Instruction& instruction : instructions_) operations.push_back(instruction.operation);
    return operations;
  }

  void multiply(const Operation& operation, const InnerProducts& problem, std::span<emu::Code> d) const override {
    for (const Instruction& instruction : instructions_)
      if (instruction.operation.instruction == operation.instruction) return instruction.multiply(problem, d);
    throw Error(name_ + " has no operation " + operation.instruction);
  }

 private:
  std::string name_;
  std::vector<Instruction> instructions_;
};

/// codes_in_word: products of one instruction.
template <class Word, std::size_t codes_in_word, void (*chain)(Lanes<Word>&)>
void multiply(const InnerProducts& problem, std::span<emu::Code> d) {
  detail::multiply_in_lanes<Word>(problem, codes_in_word, Lanes<Word>::Layout::step_by_step, d, chain);
}

Instruction fma(std::string instruction, emu::Format format, void (*multiply)(const InnerProducts&, std::span<emu::Code>)) {
  return {{.instruction = std::move(instruction),
           .a = format,
           .b = format,
           .accumulator = format,
           .products = 1,
           .engine = "x86_fma"},
          multiply};
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
  return std::make_unique<VectorUnit>("cpu:avx512_bf16",
                                      std::vector{Instruction{dot, multiply<std::uint32_t, 2, dot_products>}});
}

std::unique_ptr<Unit> detail::avx512_fp16_unit() {
  if (!detail::has_avx512_fp16()) return nullptr;
  return std::make_unique<VectorUnit>("cpu:avx512_fp16",
                                      std::vector{fma("VFMADD231PH", emu::float16, multiply<std::uint16_t, 1, half_chains>)});
}

std::unique_ptr<Unit> detail::avx512f_unit() {
  if (!__builtin_cpu_supports("avx512f")) return nullptr;
  return std::make_unique<VectorUnit>(
      "cpu:avx512f", std::vector{fma("VFMADD231PS", emu::float32, multiply<std::uint32_t, 1, wide_chains<std::uint32_t>>),
                                 fma("VFMADD231PD", emu::float64, multiply<std::uint64_t, 1, wide_chains<std::uint64_t>>)});
}

}  // namespace ulpscope::gpu

#else

namespace ulpscope::gpu::detail {

std::unique_ptr<Unit> avx512_bf16_unit() { return nullptr; }
std::unique_ptr<Unit> avx512_fp16_unit() { return nullptr; }
std::unique_ptr<Unit> avx512f_unit() { return nullptr; }

}  // namespace ulpscope::gpu::detail

#endif
