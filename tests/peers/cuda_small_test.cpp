// SPDX-License-Identifier: Apache-2.0
// emu against the host-side conversions of cuda_fp6.h, cuda_fp4.h, and of cuda_fp8.h's scale type e8m0.
#include <cuda_fp4.h>
#include <cuda_fp6.h>
#include <cuda_fp8.h>

#include <cstdint>
#include <limits>
#include <utility>

#include "cuda_check.hpp"

using namespace ulpscope;
using peers::check, peers::check_codes;

namespace {

__half_raw half_raw(std::uint32_t code) { return {static_cast<std::uint16_t>(code)}; }
__nv_bfloat16_raw bfloat16_raw(std::uint32_t code) { return {static_cast<std::uint16_t>(code)}; }

/// The conversions that cuda_fp6.h and cuda_fp4.h offer under one name each.
struct Fp6 {
  emu::Format format;
  __nv_fp6_interpretation_t kind;
  auto from(float x, cudaRoundMode mode) const { return __nv_cvt_float_to_fp6(x, kind, mode); }
  auto from(double x, cudaRoundMode mode) const { return __nv_cvt_double_to_fp6(x, kind, mode); }
  auto from(__half_raw x, cudaRoundMode mode) const { return __nv_cvt_halfraw_to_fp6(x, kind, mode); }
  auto from(__nv_bfloat16_raw x, cudaRoundMode mode) const { return __nv_cvt_bfloat16raw_to_fp6(x, kind, mode); }
  auto to_half(std::uint32_t code) const { return __nv_cvt_fp6_to_halfraw(static_cast<__nv_fp6_storage_t>(code), kind).x; }
};
struct Fp4 {
  emu::Format format = emu::e2m1;
  auto from(float x, cudaRoundMode mode) const { return __nv_cvt_float_to_fp4(x, __NV_E2M1, mode); }
  auto from(double x, cudaRoundMode mode) const { return __nv_cvt_double_to_fp4(x, __NV_E2M1, mode); }
  auto from(__half_raw x, cudaRoundMode mode) const { return __nv_cvt_halfraw_to_fp4(x, __NV_E2M1, mode); }
  auto from(__nv_bfloat16_raw x, cudaRoundMode mode) const { return __nv_cvt_bfloat16raw_to_fp4(x, __NV_E2M1, mode); }
  auto to_half(std::uint32_t code) const { return __nv_cvt_fp4_to_halfraw(static_cast<__nv_fp4_storage_t>(code), __NV_E2M1).x; }
};

template <class Theirs>
void check_every_source(const Theirs& theirs) {
  for (const auto& [mode, rounding] :
       {std::pair{cudaRoundNearest, emu::Rounding::nearest_even}, std::pair{cudaRoundZero, emu::Rounding::toward_zero}}) {
    const emu::RoundingOptions options{.rounding = rounding, .policy = emu::Policy::saturating};
    check<float>(theirs.format, options, [&, m = mode](float x) { return theirs.from(x, m); });
    check<double>(theirs.format, options, [&, m = mode](double x) { return theirs.from(x, m); });
    check_codes(emu::fp16, theirs.format, options,
                [&, m = mode](std::uint32_t code) { return theirs.from(half_raw(code), m); });
    check_codes(emu::bf16, theirs.format, options,
                [&, m = mode](std::uint32_t code) { return theirs.from(bfloat16_raw(code), m); });
  }
}

struct ScaleMode {
  cudaRoundMode theirs;
  emu::Rounding ours;
};
constexpr ScaleMode scale_modes[] = {{cudaRoundZero, emu::Rounding::toward_zero}, {cudaRoundPosInf, emu::Rounding::upward}};

/// Doubles from 2^128 on: cuda_fp8.h goes through float and truncates there first, to the largest finite float.
bool truncated_twice(double x, cudaRoundMode mode) {
  return mode == cudaRoundZero && x >= 0x1p128 && x <= std::numeric_limits<double>::max();
}

/// e8m0 has no sign. cuda_fp8.h converts the magnitude, emu finds no number for what is below zero.
template <class Float>
void check_scales(auto convert) {
  for (const ScaleMode& mode : scale_modes) {
    const auto not_negative = [](Float x) { return !(x < 0); };
    const auto in_reach = [&](Float x) { return not_negative(x) && !truncated_twice(x, mode.theirs); };
    const auto theirs = [&](__nv_saturation_t saturation) {
      return [&, saturation](Float x) { return convert(x, saturation, mode.theirs); };
    };
    check<Float>(emu::e8m0, {.rounding = mode.ours}, theirs(__NV_NOSAT), in_reach);
    check<Float>(emu::e8m0, {.rounding = mode.ours, .policy = emu::Policy::saturating}, theirs(__NV_SATFINITE), not_negative);

    const auto different = peers::first_difference<Float>([&](Float x) {
      return !(x < 0) ||
             (theirs(__NV_NOSAT)(x) == theirs(__NV_NOSAT)(-x) && theirs(__NV_SATFINITE)(x) == theirs(__NV_SATFINITE)(-x) &&
              emu::encode(emu::e8m0, x, {.rounding = mode.ours}) == 0xff);
    });
    CAPTURE(different.value_or(0));
    CHECK_FALSE(different);
  }
}

}  // namespace

TEST_CASE("cuda_fp6.h rounds float, double, half and bfloat16 to e3m2 and e2m3 in both modes as emu does", "[peers]") {
  check_every_source(Fp6{emu::e3m2, __NV_E3M2});
  check_every_source(Fp6{emu::e2m3, __NV_E2M3});
}

TEST_CASE("cuda_fp4.h rounds float, double, half and bfloat16 to e2m1 in both modes as emu does", "[peers]") {
  check_every_source(Fp4{});
}

TEST_CASE("every fp6 and fp4 code means the same half in NVIDIA's headers", "[peers]") {
  for (const Fp6& fp6 : {Fp6{emu::e3m2, __NV_E3M2}, Fp6{emu::e2m3, __NV_E2M3}})
    check_codes(fp6.format, emu::fp16, {}, [&](std::uint32_t code) { return fp6.to_half(code); });
  check_codes(emu::e2m1, emu::fp16, {}, [](std::uint32_t code) { return Fp4{}.to_half(code); });
}

TEST_CASE("cuda_fp8.h rounds floats to e8m0 as emu does, and takes the magnitude of negative ones", "[peers]") {
  check_scales<float>([](float x, auto saturation, auto mode) { return __nv_cvt_float_to_e8m0(x, saturation, mode); });
}

TEST_CASE("cuda_fp8.h rounds doubles to e8m0 as emu does, and takes the magnitude of negative ones", "[peers]") {
  check_scales<double>([](double x, auto saturation, auto mode) { return __nv_cvt_double_to_e8m0(x, saturation, mode); });
}

TEST_CASE("cuda_fp8.h truncates doubles from 2^128 on to e8m0's largest number, where its own text and emu say NaN",
          "[peers]") {
  const auto different = peers::first_difference<double>([](double x) {
    return !truncated_twice(x, cudaRoundZero) || (__nv_cvt_double_to_e8m0(x, __NV_NOSAT, cudaRoundZero) == 0xfe &&
                                                  emu::encode(emu::e8m0, x, {.rounding = emu::Rounding::toward_zero}) == 0xff);
  });
  CAPTURE(different.value_or(0));
  CHECK_FALSE(different);
}

TEST_CASE("every e8m0 code means the same bfloat16 in cuda_fp8.h", "[peers]") {
  check_codes(emu::e8m0, emu::bf16, {},
              [](std::uint32_t code) { return __nv_cvt_e8m0_to_bf16raw(static_cast<__nv_fp8_storage_t>(code)).x; });
}
