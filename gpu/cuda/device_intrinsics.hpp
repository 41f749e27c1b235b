// SPDX-License-Identifier: Apache-2.0
// Directed roundings that one instruction of a GPU does: by its intrinsics in device code, and in plain C++ elsewhere.
// ULPSCOPE_DEVICE_INTRINSICS says which; tests set it to run the intrinsics on a stand-in for the CUDA runtime.
#pragma once

#include <cstdint>

#include "emu/bits.hpp"
#include "emu/config.hpp"

#if !defined(ULPSCOPE_DEVICE_INTRINSICS)
#if defined(__CUDA_ARCH__)
#define ULPSCOPE_DEVICE_INTRINSICS 1
#else
#define ULPSCOPE_DEVICE_INTRINSICS 0
#endif
#endif
#if ULPSCOPE_DEVICE_INTRINSICS
#include <cuda_runtime.h>
#endif

namespace ulpscope::gpu::cuda::detail {

/// x cut to an integer; anything where |x| is 2^31 or more.
ULPSCOPE_INLINE int cut(float x) noexcept {
#if ULPSCOPE_DEVICE_INTRINSICS
  return __float2int_rz(x);
#else
  return x > -0x1p31F && x < 0x1p31F ? static_cast<int>(x) : 0;
#endif
}

#if ULPSCOPE_DEVICE_INTRINSICS
ULPSCOPE_INLINE float float_toward_zero(std::int32_t x) noexcept { return __int2float_rz(x); }
ULPSCOPE_INLINE float float_toward_zero(std::int64_t x) noexcept { return __ll2float_rz(x); }
ULPSCOPE_INLINE bool holds(float x, std::int32_t integer) noexcept { return __float2int_rz(x) == integer; }
ULPSCOPE_INLINE bool holds(float x, std::int64_t integer) noexcept { return __float2ll_rz(x) == integer; }
#else
ULPSCOPE_INLINE float float_toward_zero(std::int64_t x) noexcept {
  const std::uint64_t magnitude = x < 0 ? 0 - static_cast<std::uint64_t>(x) : static_cast<std::uint64_t>(x);
  const int beyond = 64 - emu::leading_zeros(magnitude) - 24;
  const auto kept = static_cast<float>(beyond > 0 ? magnitude >> beyond << beyond : magnitude);
  return x < 0 ? -kept : kept;
}
ULPSCOPE_INLINE bool holds(float x, std::int64_t integer) noexcept { return static_cast<std::int64_t>(x) == integer; }
#endif

/// An integer as a float, toward zero; with `to_odd` its last bit set where something was lost.
template <class Integer>
ULPSCOPE_INLINE float cut_float(Integer x, bool to_odd) noexcept {
  const float kept = float_toward_zero(x);
  return emu::bit_cast<float>(emu::bit_cast<std::uint32_t>(kept) | (to_odd && !holds(kept, x) ? 1u : 0u));
}

/// a * b + c rounded toward zero once. On the host only for what needs no more than 53 bits beside terms too small to reach the
/// next float32, and for normal results.
ULPSCOPE_INLINE float fma_toward_zero(float a, float b, float c) noexcept {
#if ULPSCOPE_DEVICE_INTRINSICS
  return __fmaf_rz(a, b, c);
#else
  const double sum = static_cast<double>(a) * b + c;
  return static_cast<float>(emu::bit_cast<double>(emu::bit_cast<std::uint64_t>(sum) >> 29 << 29));
#endif
}
ULPSCOPE_INLINE float add_toward_zero(float a, float b) noexcept {
#if ULPSCOPE_DEVICE_INTRINSICS
  return __fadd_rz(a, b);
#else
  return fma_toward_zero(a, 1, b);
#endif
}

}  // namespace ulpscope::gpu::cuda::detail
