// SPDX-License-Identifier: Apache-2.0
// CUDA's integer, conversion and directed-rounding intrinsics on the host (CUDA Math API; float to integer as PTX ISA cvt: it
// saturates, and a NaN gives 0 for 32-bit results of float, the least integer otherwise).
#pragma once

#include <algorithm>
#include <bit>
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

inline float __int_as_float(int x) { return std::bit_cast<float>(x); }
inline float __uint_as_float(unsigned x) { return std::bit_cast<float>(x); }
inline int __float_as_int(float x) { return std::bit_cast<int>(x); }
inline unsigned __float_as_uint(float x) { return std::bit_cast<unsigned>(x); }
inline double __longlong_as_double(long long x) { return std::bit_cast<double>(x); }
inline long long __double_as_longlong(double x) { return std::bit_cast<long long>(x); }

inline int __clz(int x) { return std::countl_zero(static_cast<unsigned>(x)); }
inline int __clzll(long long x) { return std::countl_zero(static_cast<unsigned long long>(x)); }
inline int __ffs(int x) { return x == 0 ? 0 : std::countr_zero(static_cast<unsigned>(x)) + 1; }
inline int __ffsll(long long x) { return x == 0 ? 0 : std::countr_zero(static_cast<unsigned long long>(x)) + 1; }
inline int __popc(unsigned x) { return std::popcount(x); }
inline int __popcll(unsigned long long x) { return std::popcount(x); }
inline unsigned __brev(unsigned x) {
  unsigned reversed = 0;
  for (int i = 0; i < 32; ++i) reversed |= (x >> i & 1) << (31 - i);
  return reversed;
}
inline unsigned __umulhi(unsigned x, unsigned y) { return static_cast<unsigned>(std::uint64_t{x} * y >> 32); }
inline int __mulhi(int x, int y) { return static_cast<int>(std::int64_t{x} * y >> 32); }
inline unsigned long long __umul64hi(unsigned long long x, unsigned long long y) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<unsigned long long>(Wide{x} * y >> 64);
}
/// The upper word of (high:low) << shift and the lower of >> shift, the shift modulo 32.
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>(((std::uint64_t{high} << 32 | low) << (shift & 31)) >> 32);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>((std::uint64_t{high} << 32 | low) >> (shift & 31));
}
inline unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
  const std::uint64_t bytes = std::uint64_t{y} << 32 | x;
  unsigned result = 0;
  for (int i = 0; i < 4; ++i) result |= static_cast<unsigned>(bytes >> (selector >> 4 * i & 7) * 8 & 0xff) << 8 * i;
  return result;
}

namespace fake_cuda {

/// One function of the two signed halves of words.
template <class F>
unsigned by_halves(unsigned x, unsigned y, F function) {
  const auto low = [](unsigned word) { return static_cast<std::int16_t>(word & 0xffff); };
  const auto high = [](unsigned word) { return static_cast<std::int16_t>(word >> 16); };
  const auto word = [](std::int16_t half) { return static_cast<unsigned>(static_cast<std::uint16_t>(half)); };
  return word(function(low(x), low(y))) | word(function(high(x), high(y))) << 16;
}

template <class To, class From>
To to_integer(From x, From rounded) {
  if (x != x) return sizeof(From) == 4 && sizeof(To) == 4 ? To{0} : static_cast<To>(To{1} << (8 * sizeof(To) - 1));
  const From beyond = std::ldexp(From{1}, std::numeric_limits<To>::digits);
  if (rounded >= beyond) return std::numeric_limits<To>::max();
  const From least = std::is_signed_v<To> ? -beyond : From{0};
  return rounded <= least ? std::numeric_limits<To>::min() : static_cast<To>(rounded);
}

/// The value of compute() rounded in a direction; not inlined, so that nothing moves out of it.
template <class F>
__attribute__((noinline)) auto in_direction(int direction, F compute) {
  const int before = std::fegetround();
  std::fesetround(direction);
  const volatile auto result = compute();
  std::fesetround(before);
  return static_cast<std::remove_cv_t<decltype(result)>>(result);
}

}  // namespace fake_cuda

inline unsigned __vadd2(unsigned x, unsigned y) {
  return fake_cuda::by_halves(x, y, [](int a, int b) { return static_cast<std::int16_t>(a + b); });
}
inline unsigned __vmaxs2(unsigned x, unsigned y) {
  return fake_cuda::by_halves(x, y, [](int a, int b) { return static_cast<std::int16_t>(std::max(a, b)); });
}
inline unsigned __vmins2(unsigned x, unsigned y) {
  return fake_cuda::by_halves(x, y, [](int a, int b) { return static_cast<std::int16_t>(std::min(a, b)); });
}
inline unsigned __viaddmax_s16x2(unsigned x, unsigned y, unsigned z) { return __vmaxs2(__vadd2(x, y), z); }
inline int __viaddmax_s32(int x, int y, int z) { return std::max(x + y, z); }

#define FAKE_CUDA_CONVERSIONS(mode, function)                                                              \
  inline int __float2int_##mode(float x) { return fake_cuda::to_integer<int>(x, function(x)); }            \
  inline unsigned __float2uint_##mode(float x) { return fake_cuda::to_integer<unsigned>(x, function(x)); } \
  inline long long __float2ll_##mode(float x) { return fake_cuda::to_integer<long long>(x, function(x)); } \
  inline int __double2int_##mode(double x) { return fake_cuda::to_integer<int>(x, function(x)); }          \
  inline long long __double2ll_##mode(double x) { return fake_cuda::to_integer<long long>(x, function(x)); }
FAKE_CUDA_CONVERSIONS(rz, std::trunc)
FAKE_CUDA_CONVERSIONS(rn, std::nearbyint)
FAKE_CUDA_CONVERSIONS(ru, std::ceil)
FAKE_CUDA_CONVERSIONS(rd, std::floor)
#undef FAKE_CUDA_CONVERSIONS

#define FAKE_CUDA_DIRECTED(mode, direction)                                            \
  inline float __fadd_##mode(float x, float y) {                                       \
    const volatile float a = x, b = y;                                                 \
    return fake_cuda::in_direction(direction, [&] { return a + b; });                  \
  }                                                                                    \
  inline float __fsub_##mode(float x, float y) { return __fadd_##mode(x, -y); }        \
  inline float __fmul_##mode(float x, float y) {                                       \
    const volatile float a = x, b = y;                                                 \
    return fake_cuda::in_direction(direction, [&] { return a * b; });                  \
  }                                                                                    \
  inline float __fmaf_##mode(float x, float y, float z) {                              \
    const volatile float a = x, b = y, c = z;                                          \
    return fake_cuda::in_direction(direction, [&] { return std::fma(a, b, c); });      \
  }                                                                                    \
  inline double __dadd_##mode(double x, double y) {                                    \
    const volatile double a = x, b = y;                                                \
    return fake_cuda::in_direction(direction, [&] { return a + b; });                  \
  }                                                                                    \
  inline double __dsub_##mode(double x, double y) { return __dadd_##mode(x, -y); }     \
  inline double __dmul_##mode(double x, double y) {                                    \
    const volatile double a = x, b = y;                                                \
    return fake_cuda::in_direction(direction, [&] { return a * b; });                  \
  }                                                                                    \
  inline double __fma_##mode(double x, double y, double z) {                           \
    const volatile double a = x, b = y, c = z;                                         \
    return fake_cuda::in_direction(direction, [&] { return std::fma(a, b, c); });      \
  }                                                                                    \
  inline float __double2float_##mode(double x) {                                       \
    const volatile double a = x;                                                       \
    return fake_cuda::in_direction(direction, [&] { return static_cast<float>(a); });  \
  }                                                                                    \
  inline float __int2float_##mode(int x) {                                             \
    const volatile int a = x;                                                          \
    return fake_cuda::in_direction(direction, [&] { return static_cast<float>(a); });  \
  }                                                                                    \
  inline float __ll2float_##mode(long long x) {                                        \
    const volatile long long a = x;                                                    \
    return fake_cuda::in_direction(direction, [&] { return static_cast<float>(a); });  \
  }                                                                                    \
  inline double __ll2double_##mode(long long x) {                                      \
    const volatile long long a = x;                                                    \
    return fake_cuda::in_direction(direction, [&] { return static_cast<double>(a); }); \
  }
FAKE_CUDA_DIRECTED(rn, FE_TONEAREST)
FAKE_CUDA_DIRECTED(rz, FE_TOWARDZERO)
FAKE_CUDA_DIRECTED(ru, FE_UPWARD)
FAKE_CUDA_DIRECTED(rd, FE_DOWNWARD)
#undef FAKE_CUDA_DIRECTED

template <class T>
T __ldg(const T* at) {
  return *at;
}
inline long long clock64() { return 0; }
