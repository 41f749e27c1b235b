// SPDX-License-Identifier: Apache-2.0
// emu against the CPU's own conversions: F16C, AVX512-BF16, AVX512-FP16.
#include <cpuid.h>
#include <immintrin.h>

#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cmath>
#include <cstdint>
#include <optional>

#include "emu/catalogue.hpp"
#include "emu/encode.hpp"

using namespace ulpscope;

namespace {

bool cpu_has_avx512fp16() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __builtin_cpu_supports("avx512f") != 0 && __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d >> 23 & 1) != 0;
}

/// The first of all 2^32 floats (in steps of `step`) on which `judge` finds a difference.
template <class Judge>
std::optional<std::uint32_t> first_difference(Judge judge, std::uint64_t step = 1) {
  for (std::uint64_t word = 0; word <= 0xffffffffU; word += step)
    if (!judge(std::bit_cast<float>(static_cast<std::uint32_t>(word)))) return static_cast<std::uint32_t>(word);
  return std::nullopt;
}

/// NaNs carry their payload through the hardware; ours are canonical.
bool same_half(unsigned hardware, emu::Code ours) {
  return emu::fp16.is_nan(hardware) ? emu::fp16.is_nan(ours) : hardware == ours;
}

template <int mode>
__attribute__((target("f16c"))) unsigned f16c(float x) {
  return static_cast<unsigned>(_mm_extract_epi16(_mm_cvtps_ph(_mm_set_ss(x), mode), 0));
}

template <int mode>
bool f16c_agrees(emu::Rounding rounding, std::uint64_t step) {
  const auto difference =
      first_difference([&](float x) { return same_half(f16c<mode>(x), emu::encode(emu::fp16, x, {.rounding = rounding})); }, step);
  CAPTURE(difference.value_or(0));
  CHECK(difference == std::nullopt);
  return difference == std::nullopt;
}

__attribute__((target("avx512bf16,avx512vl"))) unsigned bf16_of(float x) {
  const __m128bh packed = _mm_cvtneps_pbh(_mm_set1_ps(x));
  std::uint16_t words[8];
  static_assert(sizeof words == sizeof packed);
  __builtin_memcpy(words, &packed, sizeof words);
  return words[0];
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
template <int mode>
__attribute__((target("avx512fp16"))) unsigned half_of_double(double x) {
  const __m128h h = _mm_cvt_roundsd_sh(_mm_setzero_ph(), _mm_set_sd(x), mode | _MM_FROUND_NO_EXC);
  std::uint16_t words[8];
  __builtin_memcpy(words, &h, sizeof words);
  return words[0];
}
#pragma GCC diagnostic pop

}  // namespace

TEST_CASE("F16C converts every float32 as fp16 nearest_even does", "[peers]") {
  if (__builtin_cpu_supports("f16c") == 0) SKIP("this CPU has no F16C");
  f16c_agrees<_MM_FROUND_TO_NEAREST_INT>(emu::Rounding::nearest_even, 1);
}

TEST_CASE("F16C converts float32 in its directed modes as fp16 does", "[peers]") {
  if (__builtin_cpu_supports("f16c") == 0) SKIP("this CPU has no F16C");
  constexpr std::uint64_t step = 7;  // odd: every pattern of low bits occurs
  f16c_agrees<_MM_FROUND_TO_ZERO>(emu::Rounding::toward_zero, step);
  f16c_agrees<_MM_FROUND_TO_POS_INF>(emu::Rounding::upward, step);
  f16c_agrees<_MM_FROUND_TO_NEG_INF>(emu::Rounding::downward, step);
}

TEST_CASE("AVX512-BF16 converts every float32 as bfloat16 nearest_even does with subnormal inputs as zero", "[peers]") {
  if (__builtin_cpu_supports("avx512bf16") == 0 || __builtin_cpu_supports("avx512vl") == 0) SKIP("this CPU has no AVX512-BF16");
  const auto difference = first_difference([](float x) {
    const unsigned hardware = bf16_of(x);
    const emu::Code ours = emu::encode(emu::bf16, x, {.subnormals_are_zero = true});
    return emu::bf16.is_nan(hardware) ? emu::bf16.is_nan(ours) : hardware == ours;
  });

  CAPTURE(difference.value_or(0));
  CHECK(difference == std::nullopt);
}

TEST_CASE("AVX512-BF16 differs from IEEE rounding exactly on float32 subnormals that bfloat16 keeps", "[peers]") {
  if (__builtin_cpu_supports("avx512bf16") == 0 || __builtin_cpu_supports("avx512vl") == 0) SKIP("this CPU has no AVX512-BF16");
  const float subnormal = 0x1p-127F;

  CHECK(bf16_of(subnormal) == 0);
  CHECK(emu::encode(emu::bf16, subnormal) == 0x40);
}

TEST_CASE("AVX512-FP16 converts double to half in one rounding, in four modes, as fp16 does", "[peers]") {
  if (!cpu_has_avx512fp16()) SKIP("this CPU has no AVX512-FP16");
  // Around every half and every midpoint: one double ulp to each side.
  std::uint64_t compared = 0;
  std::optional<double> different;
  const auto compare = [&](double x) {
    ++compared;
    const bool same =
        same_half(half_of_double<_MM_FROUND_TO_NEAREST_INT>(x), emu::encode(emu::fp16, x)) &&
        same_half(half_of_double<_MM_FROUND_TO_ZERO>(x), emu::encode(emu::fp16, x, {.rounding = emu::Rounding::toward_zero})) &&
        same_half(half_of_double<_MM_FROUND_TO_POS_INF>(x), emu::encode(emu::fp16, x, {.rounding = emu::Rounding::upward})) &&
        same_half(half_of_double<_MM_FROUND_TO_NEG_INF>(x), emu::encode(emu::fp16, x, {.rounding = emu::Rounding::downward}));
    if (!same && !different) different = x;
  };
  for (emu::Code code = 0; code < emu::fp16.infinity_code(); ++code) {
    const double value = emu::decode(emu::fp16, code);
    const double ulp = std::ldexp(1.0, emu::spacing_exponent(emu::fp16, value));
    for (const double x : {value, value + ulp / 2})
      for (const double y : {std::nextafter(x, -1e300), x, std::nextafter(x, 1e300)}) {
        compare(y);
        compare(-y);
      }
  }

  CAPTURE(different.value_or(0));
  CHECK(different == std::nullopt);
  CHECK(compared == 12 * emu::fp16.infinity_code());
}
