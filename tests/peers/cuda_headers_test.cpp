// SPDX-License-Identifier: Apache-2.0
// emu against the host-side conversions of NVIDIA's math headers.
#include <catch2/catch_test_macros.hpp>

#if defined(ULPSCOPE_HAS_CUDA_HEADERS)

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp4.h>
#include <cuda_fp6.h>
#include <cuda_fp8.h>

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>

#include "emu/catalogue.hpp"
#include "emu/encode.hpp"
#include "emu/philox.hpp"

using namespace ulpscope;

namespace {

/// Every sign, exponent and leading 7 fraction bits, with low halves on and beside borders, and 10^6 random patterns.
template <class Judge>
std::optional<float> first_difference(Judge judge) {
  constexpr std::array<std::uint32_t, 14> low_halves{0,      1,      2,      0x0fff, 0x1000, 0x1001, 0x1fff,
                                                     0x2000, 0x2001, 0x7fff, 0x8000, 0x8001, 0xfffe, 0xffff};
  for (std::uint32_t high = 0; high < 0x10000; ++high)
    for (const std::uint32_t low : low_halves)
      if (const auto x = std::bit_cast<float>(high << 16 | low); !judge(x)) return x;
  for (std::uint64_t i = 0; i < 1'000'000; ++i)
    if (const auto x = std::bit_cast<float>(emu::rounding_bits(1, i)); !judge(x)) return x;
  return std::nullopt;
}

template <class Code, class T>
Code bits_of(T value) {
  Code code;
  static_assert(sizeof code == sizeof value);
  std::memcpy(&code, &value, sizeof code);
  return code;
}

/// Equal, or NaN on both sides (the headers give the canonical NaN too, but their half keeps no sign).
bool same(emu::Format format, std::uint64_t theirs, emu::Code ours) {
  return theirs == ours || (format.is_nan(theirs) && format.is_nan(ours));
}

template <class Theirs>
void check(emu::Format format, const emu::RoundingOptions& options, Theirs theirs) {
  const auto difference = first_difference([&](float x) { return same(format, theirs(x), emu::encode(format, x, options)); });
  CAPTURE(difference.value_or(0), difference ? std::uint64_t{theirs(*difference)} : 0,
          difference ? emu::encode(format, *difference, options) : 0);
  CHECK(difference == std::nullopt);
}

constexpr emu::RoundingOptions saturating{.policy = emu::Policy::saturating};

}  // namespace

TEST_CASE("cuda_fp16.h rounds float to half in four modes as fp16 does", "[peers]") {
  check(emu::fp16, {}, [](float x) { return bits_of<std::uint16_t>(__float2half_rn(x)); });
  check(emu::fp16, {.rounding = emu::Rounding::toward_zero}, [](float x) { return bits_of<std::uint16_t>(__float2half_rz(x)); });
  check(emu::fp16, {.rounding = emu::Rounding::upward}, [](float x) { return bits_of<std::uint16_t>(__float2half_ru(x)); });
  check(emu::fp16, {.rounding = emu::Rounding::downward}, [](float x) { return bits_of<std::uint16_t>(__float2half_rd(x)); });
}

TEST_CASE("cuda_bf16.h rounds float to bfloat16 in four modes as bf16 does", "[peers]") {
  check(emu::bf16, {}, [](float x) { return bits_of<std::uint16_t>(__float2bfloat16_rn(x)); });
  check(emu::bf16, {.rounding = emu::Rounding::toward_zero}, [](float x) { return bits_of<std::uint16_t>(__float2bfloat16_rz(x)); });
  check(emu::bf16, {.rounding = emu::Rounding::upward}, [](float x) { return bits_of<std::uint16_t>(__float2bfloat16_ru(x)); });
  check(emu::bf16, {.rounding = emu::Rounding::downward}, [](float x) { return bits_of<std::uint16_t>(__float2bfloat16_rd(x)); });
}

TEST_CASE("cuda_fp8.h rounds float to e4m3 and e5m2 under both policies as emu does", "[peers]") {
  check(emu::e4m3, saturating, [](float x) { return __nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E4M3); });
  check(emu::e4m3, {}, [](float x) { return __nv_cvt_float_to_fp8(x, __NV_NOSAT, __NV_E4M3); });
  check(emu::e5m2, saturating, [](float x) { return __nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E5M2); });
  check(emu::e5m2, {}, [](float x) { return __nv_cvt_float_to_fp8(x, __NV_NOSAT, __NV_E5M2); });
}

TEST_CASE("cuda_fp8.h rounds double to fp8 once, as emu does", "[peers]") {
  for (std::uint64_t code = 0; code < emu::e5m2.infinity_code(); ++code)
    for (const double offset : {-0x1p-60, 0.0, 0x1p-60}) {
      const double value = emu::decode(emu::e5m2, code);
      const double tie = value + emu::detail::power_of_two(emu::spacing_exponent(emu::e5m2, value) - 1);
      const double x = tie * (1 + offset * 0x1p8);
      CHECK(__nv_cvt_double_to_fp8(x, __NV_SATFINITE, __NV_E5M2) == emu::encode(emu::e5m2, x, saturating));
      CHECK(__nv_cvt_double_to_fp8(x, __NV_SATFINITE, __NV_E4M3) == emu::encode(emu::e4m3, x, saturating));
    }
}

TEST_CASE("cuda_fp6.h and cuda_fp4.h round float as e3m2, e2m3 and e2m1 do", "[peers]") {
  check(emu::e3m2, saturating, [](float x) { return __nv_cvt_float_to_fp6(x, __NV_E3M2, cudaRoundNearest); });
  check(emu::e2m3, saturating, [](float x) { return __nv_cvt_float_to_fp6(x, __NV_E2M3, cudaRoundNearest); });
  check(emu::e2m1, saturating, [](float x) { return __nv_cvt_float_to_fp4(x, __NV_E2M1, cudaRoundNearest); });
}

TEST_CASE("cuda_fp8.h rounds positive floats to e8m0 as emu does, and takes the magnitude of negative ones", "[peers]") {
  const auto agrees = [](float x, cudaRoundMode theirs, emu::Rounding ours) {
    const bool saturated = __nv_cvt_float_to_e8m0(x, __NV_SATFINITE, theirs) ==
                           emu::encode(emu::e8m0, x, {.rounding = ours, .policy = emu::Policy::saturating});
    return saturated && __nv_cvt_float_to_e8m0(x, __NV_NOSAT, theirs) == emu::encode(emu::e8m0, x, {.rounding = ours});
  };
  const auto difference = first_difference([&](float x) {
    if (!(x < 0))
      return agrees(x, cudaRoundZero, emu::Rounding::toward_zero) && agrees(x, cudaRoundPosInf, emu::Rounding::upward);
    return __nv_cvt_float_to_e8m0(x, __NV_NOSAT, cudaRoundZero) == __nv_cvt_float_to_e8m0(-x, __NV_NOSAT, cudaRoundZero) &&
           emu::encode(emu::e8m0, x) == emu::e8m0.nan_code();
  });

  CAPTURE(difference.value_or(0));
  CHECK(difference == std::nullopt);
}

TEST_CASE("every fp8 code means the same half in cuda_fp8.h", "[peers]") {
  for (unsigned code = 0; code < 256; ++code) {
    CAPTURE(code);
    const auto fp8 = static_cast<__nv_fp8_storage_t>(code);
    CHECK(same(emu::fp16, __nv_cvt_fp8_to_halfraw(fp8, __NV_E4M3).x, emu::convert(emu::e4m3, code, emu::fp16).code));
    CHECK(same(emu::fp16, __nv_cvt_fp8_to_halfraw(fp8, __NV_E5M2).x, emu::convert(emu::e5m2, code, emu::fp16).code));
  }
}

#else

TEST_CASE("NVIDIA's host-side conversions agree with emu", "[peers]") { SKIP("the CUDA toolkit's headers were not found"); }

#endif
