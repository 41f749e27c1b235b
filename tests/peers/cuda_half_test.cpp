// SPDX-License-Identifier: Apache-2.0
// emu against the host-side conversions of cuda_fp16.h and cuda_bf16.h.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

#include "cuda_check.hpp"

using namespace ulpscope;
using peers::bits_of, peers::check;
using enum emu::Rounding;

TEST_CASE("cuda_fp16.h rounds float to half in four modes as fp16 does", "[peers]") {
  check<float>(emu::fp16, {}, [](float x) { return bits_of<std::uint16_t>(__float2half_rn(x)); });
  check<float>(emu::fp16, {.rounding = toward_zero}, [](float x) { return bits_of<std::uint16_t>(__float2half_rz(x)); });
  check<float>(emu::fp16, {.rounding = upward}, [](float x) { return bits_of<std::uint16_t>(__float2half_ru(x)); });
  check<float>(emu::fp16, {.rounding = downward}, [](float x) { return bits_of<std::uint16_t>(__float2half_rd(x)); });
}

TEST_CASE("cuda_fp16.h rounds double to half once, as fp16 does", "[peers]") {
  check<double>(emu::fp16, {}, [](double x) { return bits_of<std::uint16_t>(__double2half(x)); });
}

TEST_CASE("cuda_bf16.h rounds float to bfloat16 in four modes as bf16 does", "[peers]") {
  check<float>(emu::bf16, {}, [](float x) { return bits_of<std::uint16_t>(__float2bfloat16_rn(x)); });
  check<float>(emu::bf16, {.rounding = toward_zero}, [](float x) { return bits_of<std::uint16_t>(__float2bfloat16_rz(x)); });
  check<float>(emu::bf16, {.rounding = upward}, [](float x) { return bits_of<std::uint16_t>(__float2bfloat16_ru(x)); });
  check<float>(emu::bf16, {.rounding = downward}, [](float x) { return bits_of<std::uint16_t>(__float2bfloat16_rd(x)); });
}

TEST_CASE("cuda_bf16.h rounds double to bfloat16 once, as bf16 does", "[peers]") {
  check<double>(emu::bf16, {}, [](double x) { return bits_of<std::uint16_t>(__double2bfloat16(x)); });
}

TEST_CASE("every half and every bfloat16 means the same float in NVIDIA's headers", "[peers]") {
  for (std::uint32_t code = 0; code < 0x10000; ++code) {
    const auto word = static_cast<std::uint16_t>(code);
    const auto from_half = bits_of<std::uint32_t>(__half2float(__half_raw{word}));
    const auto from_bfloat = bits_of<std::uint32_t>(__bfloat162float(__nv_bfloat16_raw{word}));
    CAPTURE(code);
    if (emu::fp16.is_nan(code))
      REQUIRE(emu::fp32.is_nan(from_half));
    else
      REQUIRE(from_half == emu::convert(emu::fp16, code, emu::fp32).code);
    if (emu::bf16.is_nan(code))
      REQUIRE(emu::fp32.is_nan(from_bfloat));
    else
      REQUIRE(from_bfloat == emu::convert(emu::bf16, code, emu::fp32).code);
  }
}
