// SPDX-License-Identifier: Apache-2.0
// The control word of this processor's floating-point arithmetic with its flags, and words that change what instructions do.
#pragma once

#if defined(__x86_64__) || defined(__aarch64__)

#include <cstdint>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace ulpscope::testing {

#if defined(__x86_64__)

// MXCSR (Intel SDM volume 1, 10.2.3).
inline std::uint64_t control_word() { return _mm_getcsr(); }
inline void set_control_word(std::uint64_t word) { _mm_setcsr(static_cast<unsigned>(word)); }
/// Roundings, FTZ, DAZ, and exceptions that are not masked.
inline std::vector<std::uint64_t> control_words() {
  constexpr std::uint64_t masks = 0x1f80, downward = 0x2000, upward = 0x4000, toward_zero = 0x6000, ftz = 0x8000, daz = 0x0040;
  return {masks | downward, masks | upward, masks | toward_zero, masks | ftz, masks | daz, 0};
}

#else

// FPCR, and above it FPSR (DDI 0487, C5.2).
inline std::uint64_t control_word() {
  std::uint64_t fpcr = 0, fpsr = 0;
  __asm__ volatile("mrs %0, fpcr\n\tmrs %1, fpsr" : "=r"(fpcr), "=r"(fpsr)::"memory");
  return fpsr << 32 | fpcr;
}
inline void set_control_word(std::uint64_t word) {
  __asm__ volatile("msr fpcr, %0\n\tmsr fpsr, %1" ::"r"(word & 0xffffffff), "r"(word >> 32) : "memory");
}
/// Roundings, FZ, FZ16, DN, AHP, and a flag.
inline std::vector<std::uint64_t> control_words() {
  constexpr std::uint64_t mode = 1 << 22, fz16 = 1 << 19, fz = 1 << 24, dn = 1 << 25, ahp = 1 << 26,
                          ioc = std::uint64_t{1} << 32;
  return {mode, 2 * mode, 3 * mode, fz, fz16, dn, ahp, ioc};
}

#endif

}  // namespace ulpscope::testing

#endif
