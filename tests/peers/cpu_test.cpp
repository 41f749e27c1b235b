// SPDX-License-Identifier: Apache-2.0
// emu against the CPU's own conversions: F16C, AVX512-BF16, AVX512-FP16. The instructions are compiled in whatever the target
// of the build is, and run where the CPU has them.
#include <immintrin.h>

#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <optional>

#include "cpu_instructions.hpp"
#include "emu/catalogue.hpp"
#include "emu/encode.hpp"
#include "inputs.hpp"

using namespace ulpscope;
using peers::bits_of, peers::cpu_has_avx512fp16, peers::first_difference, peers::first_difference_of_all_floats;

namespace {

bool cpu_has_avx512bf16() { return __builtin_cpu_supports("avx512bf16") != 0 && __builtin_cpu_supports("avx512vl") != 0; }

/// NaNs carry their payload through the hardware; ours are canonical.
bool same(emu::Format format, std::uint64_t hardware, emu::Code ours) {
  return format.is_nan(hardware) ? ours == format.nan_code() : ours == hardware;
}

template <int mode>
constexpr emu::Rounding rounding_of = mode == _MM_FROUND_TO_NEAREST_INT ? emu::Rounding::nearest_even
                                      : mode == _MM_FROUND_TO_ZERO      ? emu::Rounding::toward_zero
                                      : mode == _MM_FROUND_TO_POS_INF   ? emu::Rounding::upward
                                                                        : emu::Rounding::downward;

template <int mode>
__attribute__((target("f16c"))) std::uint64_t f16c(float x) {
  return bits_of<std::uint16_t>(_mm_cvtps_ph(_mm_set_ss(x), mode));
}

__attribute__((target("f16c"))) std::uint64_t f16c_to_float(std::uint16_t half) {
  return bits_of<std::uint32_t>(_mm_cvtph_ps(_mm_set1_epi16(static_cast<short>(half))));
}

__attribute__((target("avx512bf16,avx512vl"))) std::uint64_t bf16_of(float x) {
  return bits_of<std::uint16_t>(_mm_cvtneps_pbh(_mm_set1_ps(x)));
}

template <int mode>
__attribute__((target("avx512fp16"))) std::uint64_t half_of(double x) {
  return bits_of<std::uint16_t>(_mm_cvt_roundsd_sh(_mm_setzero_ph(), _mm_set_sd(x), mode | _MM_FROUND_NO_EXC));
}
template <int mode>
__attribute__((target("avx512fp16"))) std::uint64_t half_of(float x) {
  return bits_of<std::uint16_t>(_mm_cvt_roundss_sh(_mm_setzero_ph(), _mm_set_ss(x), mode | _MM_FROUND_NO_EXC));
}

__attribute__((target("avx512fp16,avx512vl"))) std::uint64_t fp16_to_double(std::uint16_t half) {
  const __m128h h = _mm_castsi128_ph(_mm_set1_epi16(static_cast<short>(half)));
  return bits_of<std::uint64_t>(_mm_cvtsh_sd(_mm_setzero_pd(), h));
}
__attribute__((target("avx512fp16,avx512vl"))) std::uint64_t fp16_to_float(std::uint16_t half) {
  const __m128h h = _mm_castsi128_ph(_mm_set1_epi16(static_cast<short>(half)));
  return bits_of<std::uint32_t>(_mm_cvtsh_ss(_mm_setzero_ps(), h));
}

void expect_none(std::optional<std::uint64_t> different) {
  CAPTURE(different.value_or(0));
  CHECK_FALSE(different);
}

template <int mode>
constexpr auto f16c_agrees =
    [](float x) { return same(emu::fp16, f16c<mode>(x), emu::encode(emu::fp16, x, {.rounding = rounding_of<mode>})); };

constexpr auto bf16_agrees = [](float x) {
  return same(emu::bf16, bf16_of(x), emu::encode(emu::bf16, x, {.subnormals_are_zero = true}));
};

template <int mode, class Float>
void check_fp16() {
  expect_none(first_difference<Float>(
      [](Float x) { return same(emu::fp16, half_of<mode>(x), emu::encode(emu::fp16, x, {.rounding = rounding_of<mode>})); }));
}

/// Every half as `to`, by `hardware`.
void check_every_half(emu::Format to, std::uint64_t (*hardware)(std::uint16_t)) {
  for (std::uint32_t code = 0; code < 0x10000; ++code) {
    CAPTURE(code);
    REQUIRE(same(to, hardware(static_cast<std::uint16_t>(code)), emu::convert(emu::fp16, code, to).code));
  }
}

}  // namespace

TEST_CASE("F16C rounds float to half in its four modes as fp16 does", "[peers]") {
  if (__builtin_cpu_supports("f16c") == 0) SKIP("this CPU has no F16C");
  expect_none(first_difference<float>(f16c_agrees<_MM_FROUND_TO_NEAREST_INT>));
  expect_none(first_difference<float>(f16c_agrees<_MM_FROUND_TO_ZERO>));
  expect_none(first_difference<float>(f16c_agrees<_MM_FROUND_TO_POS_INF>));
  expect_none(first_difference<float>(f16c_agrees<_MM_FROUND_TO_NEG_INF>));
}

TEST_CASE("F16C rounds every float to half as fp16 nearest_even does", "[peers]") {
  if (__builtin_cpu_supports("f16c") == 0) SKIP("this CPU has no F16C");
  if (!peers::fast_build) SKIP("all 2^32 floats take minutes in a build that is not optimised or has a sanitizer");
  expect_none(first_difference_of_all_floats(f16c_agrees<_MM_FROUND_TO_NEAREST_INT>));
}

TEST_CASE("F16C rounds every float to half in its directed modes as fp16 does", "[peers][exhaustive]") {
  if (__builtin_cpu_supports("f16c") == 0) SKIP("this CPU has no F16C");
  expect_none(first_difference_of_all_floats(f16c_agrees<_MM_FROUND_TO_ZERO>));
  expect_none(first_difference_of_all_floats(f16c_agrees<_MM_FROUND_TO_POS_INF>));
  expect_none(first_difference_of_all_floats(f16c_agrees<_MM_FROUND_TO_NEG_INF>));
}

TEST_CASE("F16C reads every half as fp16 does", "[peers]") {
  if (__builtin_cpu_supports("f16c") == 0) SKIP("this CPU has no F16C");
  check_every_half(emu::fp32, f16c_to_float);
}

// VCVTNEPS2BF16 takes subnormal inputs for zero whatever MXCSR says (Intel SDM): subnormals_are_zero, and else nearest_even.
TEST_CASE("AVX512-BF16 rounds every float to bfloat16 as nearest_even does with subnormal inputs as zero", "[peers]") {
  if (!cpu_has_avx512bf16()) SKIP("this CPU has no AVX512-BF16");
  if (!peers::fast_build) SKIP("all 2^32 floats take minutes in a build that is not optimised or has a sanitizer");
  expect_none(first_difference_of_all_floats(bf16_agrees));
}

TEST_CASE("AVX512-BF16 rounds float to bfloat16 as nearest_even does with subnormal inputs as zero", "[peers]") {
  if (!cpu_has_avx512bf16()) SKIP("this CPU has no AVX512-BF16");
  expect_none(first_difference<float>(bf16_agrees));
}

TEST_CASE("AVX512-BF16 differs from IEEE rounding exactly on float subnormals that round to no zero", "[peers]") {
  if (!cpu_has_avx512bf16()) SKIP("this CPU has no AVX512-BF16");
  for (std::uint32_t word = 0; word <= emu::fp32.min_normal_code(); ++word) {
    const auto x = std::bit_cast<float>(word);
    const bool keeps = emu::fp32.is_subnormal(word) && emu::encode(emu::bf16, x) != 0;
    if ((bf16_of(x) != emu::encode(emu::bf16, x)) == keeps && (!keeps || bf16_of(x) == 0)) continue;
    CAPTURE(word);
    FAIL("differs elsewhere, or is not zero");
  }
  SUCCEED();
}

TEST_CASE("AVX512-FP16 rounds double to half once, in its four modes, as fp16 does", "[peers]") {
  if (!cpu_has_avx512fp16()) SKIP("this CPU has no AVX512-FP16");
  check_fp16<_MM_FROUND_TO_NEAREST_INT, double>();
  check_fp16<_MM_FROUND_TO_ZERO, double>();
  check_fp16<_MM_FROUND_TO_POS_INF, double>();
  check_fp16<_MM_FROUND_TO_NEG_INF, double>();
}

TEST_CASE("AVX512-FP16 rounds float to half in its four modes as fp16 does", "[peers]") {
  if (!cpu_has_avx512fp16()) SKIP("this CPU has no AVX512-FP16");
  check_fp16<_MM_FROUND_TO_NEAREST_INT, float>();
  check_fp16<_MM_FROUND_TO_ZERO, float>();
  check_fp16<_MM_FROUND_TO_POS_INF, float>();
  check_fp16<_MM_FROUND_TO_NEG_INF, float>();
}

TEST_CASE("AVX512-FP16 reads every half as fp16 does", "[peers]") {
  if (!cpu_has_avx512fp16()) SKIP("this CPU has no AVX512-FP16");
  check_every_half(emu::fp32, fp16_to_float);
  check_every_half(emu::fp64, fp16_to_double);
}
