// SPDX-License-Identifier: Apache-2.0
// The processor's rounding direction for the length of a scope, with everything else as the language assumes it: subnormals are
// numbers, exceptions are masked. What was there before comes back, exception flags included.
#pragma once

#include <cfenv>

#include "emu/bulk/plan.hpp"

namespace ulpscope::emu::detail {

#if defined(__x86_64__)

class FloatEnvironment {
 public:
  /// Bits of MXCSR (Intel SDM volume 1, 10.2.3): subnormals are numbers, or results that are subnormal are zeros, or inputs
  /// too.
  enum Subnormals : unsigned { subnormals = 0, flush_results = 1U << 15, flush = flush_results | 1U << 6 };

  explicit FloatEnvironment(Direction direction, Subnormals small = subnormals) noexcept : before_(__builtin_ia32_stmxcsr()) {
    constexpr unsigned all_masked = 0x1f80;
    __builtin_ia32_ldmxcsr(all_masked | static_cast<unsigned>(direction) << 13 | small);
  }
  ~FloatEnvironment() { __builtin_ia32_ldmxcsr(before_); }
  FloatEnvironment(const FloatEnvironment&) = delete;
  FloatEnvironment& operator=(const FloatEnvironment&) = delete;

 private:
  unsigned before_;
};

#else

class FloatEnvironment {
 public:
  explicit FloatEnvironment(Direction direction) noexcept {
    std::fegetenv(&before_);
    std::fesetenv(FE_DFL_ENV);
    constexpr int directions[] = {FE_TONEAREST, FE_DOWNWARD, FE_UPWARD, FE_TOWARDZERO};
    std::fesetround(directions[static_cast<int>(direction)]);
  }
  ~FloatEnvironment() { std::fesetenv(&before_); }
  FloatEnvironment(const FloatEnvironment&) = delete;
  FloatEnvironment& operator=(const FloatEnvironment&) = delete;

 private:
  std::fenv_t before_;
};

#endif

}  // namespace ulpscope::emu::detail
