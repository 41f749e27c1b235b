// SPDX-License-Identifier: Apache-2.0
// emu against the host-side conversions of cuda_fp8.h: e4m3 and e5m2 from float, double, half and bfloat16, and back.
#include <cuda_fp8.h>

#include <cstdint>

#include "cuda_check.hpp"

using namespace ulpscope;
using peers::check, peers::check_codes, peers::saturating;

namespace {

struct Case {
  emu::Format format;
  __nv_fp8_interpretation_t theirs;
  emu::RoundingOptions options;
  __nv_saturation_t saturation;
};

constexpr Case cases[] = {
    {emu::e4m3, __NV_E4M3, saturating, __NV_SATFINITE},
    {emu::e4m3, __NV_E4M3, {}, __NV_NOSAT},
    {emu::e5m2, __NV_E5M2, saturating, __NV_SATFINITE},
    {emu::e5m2, __NV_E5M2, {}, __NV_NOSAT},
};

/// What becomes a NaN by size: cuda_fp8.h gives it the sign of the input, emu the canonical, positive one.
bool becomes_nan(const Case& c, double x) {
  return c.saturation == __NV_NOSAT && c.format == emu::e4m3 && (x < -464 || x > 464);
}

/// Inputs that both take to the same code.
auto agreed(const Case& c) {
  return [&c](double x) { return !becomes_nan(c, x) || x > 0; };
}

}  // namespace

TEST_CASE("cuda_fp8.h rounds float to e4m3 and e5m2 under both policies as emu does", "[peers]") {
  for (const Case& c : cases)
    check<float>(c.format, c.options, [&](float x) { return __nv_cvt_float_to_fp8(x, c.saturation, c.theirs); }, agreed(c));
}

TEST_CASE("cuda_fp8.h rounds double to e4m3 and e5m2 once, under both policies, as emu does", "[peers]") {
  for (const Case& c : cases)
    check<double>(
        c.format, c.options, [&](double x) { return __nv_cvt_double_to_fp8(x, c.saturation, c.theirs); },
        [&](double x) { return x == x && agreed(c)(x); });
}

TEST_CASE("cuda_fp8.h keeps the sign of a NaN that e4m3 gives for overflow, which emu makes canonical", "[peers]") {
  const Case nosat{emu::e4m3, __NV_E4M3, {}, __NV_NOSAT};
  const auto judge = [&](auto x, std::uint64_t theirs) {
    return agreed(nosat)(x) || (theirs == 0xff && emu::encode(emu::e4m3, x) == 0x7f);
  };
  CHECK_FALSE(
      peers::first_difference<float>([&](float x) { return judge(x, __nv_cvt_float_to_fp8(x, __NV_NOSAT, __NV_E4M3)); }));
  CHECK_FALSE(
      peers::first_difference<double>([&](double x) { return judge(x, __nv_cvt_double_to_fp8(x, __NV_NOSAT, __NV_E4M3)); }));
}

TEST_CASE("cuda_fp8.h keeps the sign and payload of a double NaN, which emu makes canonical", "[peers]") {
  for (const std::uint64_t word : {0x7ff0000000000001U, 0x7ff4000000000000U, 0x7ff8000000000000U, 0x7fffffffffffffffU,
                                   0xfff0000000000001U, 0xfff4000000000000U, 0xfff8000000000000U, 0xffffffffffffffffU}) {
    const auto x = std::bit_cast<double>(std::uint64_t{word});
    const std::uint64_t sign = word >> 63 << 7, leading_fraction_bits = word >> 50 & 3;
    for (const Case& c : cases) {
      const std::uint64_t quiet = c.format == emu::e4m3 ? 0x7f : 0x7e | leading_fraction_bits;
      CAPTURE(word, c.format.fraction_bits);
      CHECK(__nv_cvt_double_to_fp8(x, c.saturation, c.theirs) == (sign | quiet));
      CHECK(emu::encode(c.format, x, c.options) == 0x7f);
    }
  }
}

TEST_CASE("cuda_fp8.h rounds every half and every bfloat16 to e4m3 and e5m2 as emu does", "[peers]") {
  for (const Case& c : cases) {
    check_codes(
        emu::fp16, c.format, c.options,
        [&](std::uint32_t code) {
          return __nv_cvt_halfraw_to_fp8(__half_raw{static_cast<std::uint16_t>(code)}, c.saturation, c.theirs);
        },
        agreed(c));
    check_codes(
        emu::bf16, c.format, c.options,
        [&](std::uint32_t code) {
          return __nv_cvt_bfloat16raw_to_fp8(__nv_bfloat16_raw{static_cast<std::uint16_t>(code)}, c.saturation, c.theirs);
        },
        agreed(c));
  }
}

TEST_CASE("every fp8 code means the same half in cuda_fp8.h", "[peers]") {
  for (const Case& c : cases)
    check_codes(c.format, emu::fp16, {},
                [&](std::uint32_t code) { return __nv_cvt_fp8_to_halfraw(static_cast<__nv_fp8_storage_t>(code), c.theirs).x; });
}
