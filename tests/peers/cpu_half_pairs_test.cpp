// SPDX-License-Identifier: Apache-2.0
// emu's float16 sums, products and quotients of all pairs against the CPU's.
#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>

#include "cpu_check.hpp"
#include "cpu_x86.hpp"
#include "emu/catalogue.hpp"

using namespace peers;

namespace {

using Ours = X86<emu::fp16>;
const ResultKind half = number(emu::fp16);

const Law in_float[] = {{"vaddss of halves", CpuHalfInFloat::add, Ours::add, half},
                        {"vmulss of halves", CpuHalfInFloat::mul, Ours::mul, half},
                        {"vdivss of halves", CpuHalfInFloat::div, Ours::div, half}};

/// One expected operation, its instruction where the CPU has AVX512-FP16, and the way through float elsewhere.
template <auto expected>
void check_all_pairs(Instruction instruction, Instruction through_float) {
  if (__builtin_cpu_supports("f16c") == 0 && !cpu_has_avx512fp16()) SKIP("this CPU has neither AVX512-FP16 nor F16C");
  const Instruction hardware = cpu_has_avx512fp16() ? instruction : through_float;
  std::optional<Operands> found[2];
  const auto sweep = [&](std::uint64_t odd) {
    for (std::uint64_t a = odd; a < 0x10000; a += 2)
      for (std::uint64_t b = 0; b < 0x10000; ++b) {
        const Executed executed = hardware({a, b}, nearest.control);
        const emu::Result ours = expected({a, b}, nearest.options);
        const std::uint64_t code = executed.bits & 0xffff;
        const bool same = emu::fp16.is_nan(code) ? ours.code == emu::fp16.nan_code() : ours.code == code;
        if (same && ours.flags == flags_of(executed.mxcsr)) continue;
        found[odd] = {a, b};
        return;
      }
  };
  std::thread odd(sweep, 1U);
  sweep(0U);
  odd.join();
  for (const auto& x : found)
    if (x) FAIL(difference({"half", hardware, expected, half}, nearest, *x).value_or("no difference"));
  SUCCEED();
}

}  // namespace

TEST_CASE("float arithmetic between F16C conversions is fp16's, flags included, in every direction", "[peers][arithmetic]") {
  if (__builtin_cpu_supports("f16c") == 0) SKIP("this CPU has no F16C");
  for (const Law& law : in_float) {
    check({law}, directions(), pairs_of_interesting(half_layout));
    check({law}, directions(), random_pairs(half_layout, effort(200'000)));
  }
}

TEST_CASE("all 2^32 sums of halves are the CPU's, with its flags", "[peers][exhaustive]") {
  check_all_pairs<Ours::add>(CpuHalf::add, CpuHalfInFloat::add);
}

TEST_CASE("all 2^32 products of halves are the CPU's, with its flags", "[peers][exhaustive]") {
  check_all_pairs<Ours::mul>(CpuHalf::mul, CpuHalfInFloat::mul);
}

TEST_CASE("all 2^32 quotients of halves are the CPU's, with its flags", "[peers][exhaustive]") {
  check_all_pairs<Ours::div>(CpuHalf::div, CpuHalfInFloat::div);
}
