// SPDX-License-Identifier: Apache-2.0
// The control word of the processor's floating-point arithmetic. Exceptions are masked and nothing is flushed; where an
// instruction rounds by the word, so do all that run in its scope. What was there before comes back, exception flags included.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace ulpscope::gpu::detail {

#if defined(__x86_64__)

/// MXCSR (SDM volume 1, 10.2.3 and table 4-8).
class ControlWord {
 public:
  static constexpr std::uint64_t usual = 0x1f80;  ///< to nearest
  static constexpr int rounding_position = 13;

  explicit ControlWord(std::uint64_t control = usual) noexcept : before_(_mm_getcsr()) {
    _mm_setcsr(static_cast<unsigned>(control));
  }
  ~ControlWord() { _mm_setcsr(before_); }
  ControlWord(const ControlWord&) = delete;
  ControlWord& operator=(const ControlWord&) = delete;

 private:
  unsigned before_;
};

#elif defined(__aarch64__)

/// FPCR, and FPSR for the flags (DDI 0487, C5.2).
class ControlWord {
 public:
  static constexpr std::uint64_t usual = 0;  ///< to nearest
  static constexpr int rounding_position = 22;

  explicit ControlWord(std::uint64_t control = usual) noexcept {
    __asm__ volatile("mrs %0, fpcr\n\tmrs %1, fpsr" : "=r"(fpcr_), "=r"(fpsr_)::"memory");
    __asm__ volatile("msr fpcr, %0" ::"r"(control) : "memory");
  }
  ~ControlWord() { __asm__ volatile("msr fpcr, %0\n\tmsr fpsr, %1" ::"r"(fpcr_), "r"(fpsr_) : "memory"); }
  ControlWord(const ControlWord&) = delete;
  ControlWord& operator=(const ControlWord&) = delete;

 private:
  std::uint64_t fpcr_, fpsr_;
};

#else

/// A processor none of whose instructions are asked for.
struct ControlWord {
  static constexpr std::uint64_t usual = 0;
  static constexpr int rounding_position = 0;

  explicit ControlWord(std::uint64_t = usual) noexcept {}
};

#endif

}  // namespace ulpscope::gpu::detail
