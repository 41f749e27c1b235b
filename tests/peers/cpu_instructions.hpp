// SPDX-License-Identifier: Apache-2.0
// The CPU's scalar arithmetic, one instruction at a time, with the exceptions it raises: Intel SDM, volume 1, chapters 10.2.3
// (MXCSR) and 14; AVX512-FP16 architecture specification, 347407. Shares nothing with emu.
#pragma once

#include <cpuid.h>

#include <cstdint>

namespace peers {

/// The operands' words, right-aligned; an integer operand is `a`.
struct Operands {
  std::uint64_t a = 0, b = 0, c = 0;
};

/// The words that the instruction left in the low 64 bits of its register, and MXCSR after it.
struct Executed {
  std::uint64_t bits;
  std::uint32_t mxcsr;
};

using Instruction = Executed (*)(const Operands&, std::uint32_t control);

/// MXCSR: bits 0-5 flags, 6 subnormal operands are zero, 7-12 all exceptions masked, 13-14 direction, 15 flush to zero.
inline constexpr std::uint32_t mxcsr_usual = 0b0'00'111111'0'000000, mxcsr_daz = 1U << 6, mxcsr_ftz = 1U << 15;
inline constexpr std::uint32_t mxcsr_nearest = 0U << 13, mxcsr_down = 1U << 13, mxcsr_up = 2U << 13, mxcsr_zero = 3U << 13;
inline constexpr std::uint32_t mxcsr_ie = 1, mxcsr_ze = 4, mxcsr_oe = 8, mxcsr_ue = 16, mxcsr_pe = 32;

/// GCC 12 knows no name for it; avx512f says that the system saves the registers. Intel SDM, CPUID leaf 7: EDX bit 23.
inline bool cpu_has_avx512fp16() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __builtin_cpu_supports("avx512f") != 0 && __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d >> 23 & 1) != 0;
}
inline bool cpu_has_fma() { return __builtin_cpu_supports("avx") != 0 && __builtin_cpu_supports("fma") != 0; }
inline bool cpu_has_avx512f() { return __builtin_cpu_supports("avx512f") != 0; }

/// Two 64-bit lanes.
using Vector = long long __attribute__((vector_size(16)));

// One instruction as a function: MXCSR is loaded, the instruction run and MXCSR stored within one assembly block, so that no
// compiler moves anything between them. In `text`, r holds a and takes the result, b and c hold theirs; i is the general
// register that holds a and takes an integer result. `result` is vector[0] or integer; further arguments are further inputs.
#define PEERS_INSTRUCTION(name, isa, text, result, ...)                                                               \
  __attribute__((target(isa))) static Executed name(const Operands& x, std::uint32_t control) {                       \
    Vector vector = {static_cast<long long>(x.a), 0};                                                                 \
    const Vector b = {static_cast<long long>(x.b), 0}, c = {static_cast<long long>(x.c), 0};                          \
    std::uint64_t integer = x.a;                                                                                      \
    std::uint32_t mxcsr = 0;                                                                                          \
    asm volatile("ldmxcsr %[control]\n\t" text "\n\tstmxcsr %[mxcsr]\n\tldmxcsr %[usual]"                             \
                 : [r] "+x"(vector), [i] "+r"(integer), [mxcsr] "=m"(mxcsr)                                           \
                 : [b] "x"(b), [c] "x"(c), [control] "m"(control), [usual] "m"(mxcsr_usual)__VA_OPT__(, ) __VA_ARGS__ \
                 : "rax", "xmm7", "cc");                                                                              \
    return {static_cast<std::uint64_t>(result), mxcsr};                                                               \
  }

// What every scalar type has. `s`: "sh", "ss" or "sd". (The AT&T order: b, a, result.) The comparisons leave ZF, PF and CF in
// bits 6, 2 and 0 of AH.
#define PEERS_ARITHMETIC(isa, s, round)                                                                    \
  PEERS_INSTRUCTION(add, isa, "vadd" s " %[b], %[r], %[r]", vector[0])                                     \
  PEERS_INSTRUCTION(sub, isa, "vsub" s " %[b], %[r], %[r]", vector[0])                                     \
  PEERS_INSTRUCTION(mul, isa, "vmul" s " %[b], %[r], %[r]", vector[0])                                     \
  PEERS_INSTRUCTION(div, isa, "vdiv" s " %[b], %[r], %[r]", vector[0])                                     \
  PEERS_INSTRUCTION(least, isa, "vmin" s " %[b], %[r], %[r]", vector[0])                                   \
  PEERS_INSTRUCTION(greatest, isa, "vmax" s " %[b], %[r], %[r]", vector[0])                                \
  PEERS_INSTRUCTION(sqrt, isa, "vsqrt" s " %[r], %[r], %[r]", vector[0])                                   \
  PEERS_INSTRUCTION(fma, isa, "vfmadd213" s " %[c], %[b], %[r]", vector[0])                                \
  PEERS_INSTRUCTION(fma_less, isa, "vfmsub213" s " %[c], %[b], %[r]", vector[0])                           \
  PEERS_INSTRUCTION(negated_fma, isa, "vfnmadd213" s " %[c], %[b], %[r]", vector[0])                       \
  PEERS_INSTRUCTION(negated_fma_less, isa, "vfnmsub213" s " %[c], %[b], %[r]", vector[0])                  \
  PEERS_INSTRUCTION(whole_exact, isa, round " $4, %[r], %[r], %[r]", vector[0])                            \
  PEERS_INSTRUCTION(whole, isa, round " $12, %[r], %[r], %[r]", vector[0])                                 \
  PEERS_INSTRUCTION(compare_quiet, isa, "vucomi" s " %[b], %[r]\n\tlahf\n\tmovl %%eax, %k[i]", integer)    \
  PEERS_INSTRUCTION(compare_signaling, isa, "vcomi" s " %[b], %[r]\n\tlahf\n\tmovl %%eax, %k[i]", integer) \
  PEERS_INSTRUCTION(to_int32, isa, "vcvt" s "2si %[r], %k[i]", integer)                                    \
  PEERS_INSTRUCTION(to_int64, isa, "vcvt" s "2si %[r], %q[i]", integer)                                    \
  PEERS_INSTRUCTION(truncate_to_int32, isa, "vcvtt" s "2si %[r], %k[i]", integer)                          \
  PEERS_INSTRUCTION(truncate_to_int64, isa, "vcvtt" s "2si %[r], %q[i]", integer)                          \
  PEERS_INSTRUCTION(from_int32, isa, "vcvtsi2" s "l %k[i], %[b], %[r]", vector[0])                         \
  PEERS_INSTRUCTION(from_int64, isa, "vcvtsi2" s "q %q[i], %[b], %[r]", vector[0])

// What AVX512F and AVX512-FP16 add.
#define PEERS_AVX512(isa, s)                                                         \
  PEERS_INSTRUCTION(exponent, isa, "vgetexp" s " %[r], %[r], %[r]", vector[0])       \
  PEERS_INSTRUCTION(scale, isa, "vscalef" s " %[b], %[r], %[r]", vector[0])          \
  PEERS_INSTRUCTION(to_uint32, isa, "vcvt" s "2usi %[r], %k[i]", integer)            \
  PEERS_INSTRUCTION(to_uint64, isa, "vcvt" s "2usi %[r], %q[i]", integer)            \
  PEERS_INSTRUCTION(truncate_to_uint32, isa, "vcvtt" s "2usi %[r], %k[i]", integer)  \
  PEERS_INSTRUCTION(truncate_to_uint64, isa, "vcvtt" s "2usi %[r], %q[i]", integer)  \
  PEERS_INSTRUCTION(from_uint32, isa, "vcvtusi2" s "l %k[i], %[b], %[r]", vector[0]) \
  PEERS_INSTRUCTION(from_uint64, isa, "vcvtusi2" s "q %q[i], %[b], %[r]", vector[0])

struct CpuHalf {
  PEERS_ARITHMETIC("avx512fp16", "sh", "vrndscalesh")
  PEERS_AVX512("avx512fp16", "sh")
  PEERS_INSTRUCTION(to_int16, "avx512fp16,avx512vl", "vcvtph2w %[r], %[r]", vector[0])
  PEERS_INSTRUCTION(to_uint16, "avx512fp16,avx512vl", "vcvtph2uw %[r], %[r]", vector[0])
  PEERS_INSTRUCTION(from_int16, "avx512fp16,avx512vl", "vcvtw2ph %[r], %[r]", vector[0])
  PEERS_INSTRUCTION(from_uint16, "avx512fp16,avx512vl", "vcvtuw2ph %[r], %[r]", vector[0])
  PEERS_INSTRUCTION(to_float, "avx512fp16", "vcvtsh2ss %[r], %[r], %[r]", vector[0])
  PEERS_INSTRUCTION(to_double, "avx512fp16", "vcvtsh2sd %[r], %[r], %[r]", vector[0])
  PEERS_INSTRUCTION(from_float, "avx512fp16", "vcvtss2sh %[r], %[r], %[r]", vector[0])
  PEERS_INSTRUCTION(from_double, "avx512fp16", "vcvtsd2sh %[r], %[r], %[r]", vector[0])
  /// The predicate's truth, 0 or 1.
  template <int predicate>
  PEERS_INSTRUCTION(is, "avx512fp16", "vcmpsh %[p], %[b], %[r], %%k1\n\tkmovw %%k1, %k[i]", integer, [p] "i"(predicate))
};

struct CpuFloat {
  PEERS_ARITHMETIC("fma", "ss", "vroundss")
  PEERS_AVX512("avx512f", "ss")
  PEERS_INSTRUCTION(to_double, "fma", "vcvtss2sd %[r], %[r], %[r]", vector[0])
  /// The predicate's truth, 0 or 1.
  template <int predicate>
  PEERS_INSTRUCTION(is, "fma", "vcmpss %[p], %[b], %[r], %[r]", vector[0] & 1, [p] "i"(predicate))
};

struct CpuDouble {
  PEERS_ARITHMETIC("fma", "sd", "vroundsd")
  PEERS_AVX512("avx512f", "sd")
  PEERS_INSTRUCTION(to_float, "fma", "vcvtsd2ss %[r], %[r], %[r]", vector[0])
  /// The predicate's truth, 0 or 1.
  template <int predicate>
  PEERS_INSTRUCTION(is, "fma", "vcmpsd %[p], %[b], %[r], %[r]", vector[0] & 1, [p] "i"(predicate))
};

/// Half arithmetic of CPUs without AVX512-FP16: F16C to float, one operation there, F16C back in MXCSR's direction. With p = 11
/// and p' = 24 >= 2 p + 2 the second rounding does no harm to a normal nearest result (Figueroa, "When is double rounding
/// innocuous?", SIGNUM Newsletter 30 (1995)); directed roundings compose because half's numbers are floats. Nor does it to a
/// subnormal one: sums there are exact in half; products of 11 bits by 11 are exact in float; and a quotient x / y that is no
/// boundary m 2^k of half's grid (m of at most 11 bits there, midpoints included) differs from it by at least 1 part in
/// m y > 2^-22, more than float's rounding moves it. The flags of both steps add up to those of one rounding: the sum of both
/// is inexact just if one is, and range and tininess are half's, judged by the second.
struct CpuHalfInFloat {
#define PEERS_IN_FLOAT(name, instruction)                                            \
  PEERS_INSTRUCTION(name, "f16c",                                                    \
                    "vcvtph2ps %[b], %%xmm7\n\tvcvtph2ps %[r], %[r]\n\t" instruction \
                    " %%xmm7, %[r], %[r]\n\tvcvtps2ph $4, %[r], %[r]",               \
                    vector[0])
  PEERS_IN_FLOAT(add, "vaddss")
  PEERS_IN_FLOAT(mul, "vmulss")
  PEERS_IN_FLOAT(div, "vdivss")
#undef PEERS_IN_FLOAT
};

#undef PEERS_AVX512
#undef PEERS_ARITHMETIC
#undef PEERS_INSTRUCTION

}  // namespace peers
