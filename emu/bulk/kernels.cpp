// SPDX-License-Identifier: Apache-2.0
// One loop for each way to round, compiled for every instruction set; short spans go through buffers.
#include "emu/bulk/kernels.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "emu/bulk/kernels.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "emu/bulk/rounding-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace ulpscope::emu::detail::HWY_NAMESPACE {
namespace {

/// Vectors taken at once, so that as many codes of 8 bits fill one.
constexpr std::size_t unroll = 4;

template <class Out>
constexpr bool is_code = !std::is_same_v<Out, float>;

HWY_INLINE void store(const VU (&v)[unroll], float* out, bool streaming) {
  const DF df;
  for (std::size_t j = 0; j < unroll; ++j) {
    const VF y = hn::BitCast(df, v[j]);
    float* const at = out + j * hn::Lanes(df);
    streaming ? hn::Stream(y, df, at) : hn::StoreU(y, df, at);
  }
}
HWY_INLINE void store(const VU (&v)[unroll], std::uint32_t* out, bool streaming) {
  const DU du;
  for (std::size_t j = 0; j < unroll; ++j) {
    std::uint32_t* const at = out + j * hn::Lanes(du);
    streaming ? hn::Stream(v[j], du, at) : hn::StoreU(v[j], du, at);
  }
}
#if ULPSCOPE_X86_BITS == 512
// Packing interleaves 128-bit blocks: one permutation of 32-bit words puts them in order.
HWY_INLINE void store_512(__m512i v, void* out, bool streaming) {
  streaming ? _mm512_stream_si512(static_cast<__m512i*>(out), v) : _mm512_storeu_si512(out, v);
}
HWY_INLINE void store(const VU (&v)[unroll], std::uint16_t* out, bool streaming) {
  const __m512i order = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
  for (std::size_t j = 0; j < unroll; j += 2)
    store_512(_mm512_permutexvar_epi64(order, _mm512_packus_epi32(v[j].raw, v[j + 1].raw)), out + j * 16, streaming);
}
HWY_INLINE void store(const VU (&v)[unroll], std::uint8_t* out, bool streaming) {
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  const __m512i low = _mm512_packus_epi32(v[0].raw, v[1].raw), high = _mm512_packus_epi32(v[2].raw, v[3].raw);
  store_512(_mm512_permutexvar_epi32(order, _mm512_packus_epi16(low, high)), out, streaming);
}
/// A test of as many floats as there are bytes in a vector.
template <class Test>
HWY_INLINE __mmask64 each_float(const VF (&x)[unroll], Test test) {
  const auto mask = [&](std::size_t j) HWY_ATTR { return test(x[j].raw); };
  return _mm512_kunpackd(_mm512_kunpackw(mask(3), mask(2)), _mm512_kunpackw(mask(1), mask(0)));
}
/// Codes of 8 bits from units(): what is the same for all elements is done to as many bytes as fill a vector. No format has a
/// number at 255, where magnitudes beyond all end.
template <Special special>
HWY_INLINE void store_units(const BulkPlan& plan, const VF (&x)[unroll], const VU (&units)[unroll], std::uint8_t* out,
                            bool streaming) {
  const auto byte = [](std::uint32_t code) { return _mm512_set1_epi8(static_cast<char>(code)); };
  const auto word = [&](std::size_t j) { return bits(x[j]).raw; };
  const __m512i bias = _mm512_set1_epi16(static_cast<short>(plan.code_bias));
  // Packing interleaves 128-bit blocks: one permutation of 32-bit words puts the codes in order, as masks of floats are.
  const auto in_order = [](__m512i bytes) HWY_ATTR {
    return _mm512_permutexvar_epi32(_mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15), bytes);
  };
  const __m512i low = _mm512_sub_epi16(_mm512_packs_epi32(units[0].raw, units[1].raw), bias);
  const __m512i high = _mm512_sub_epi16(_mm512_packs_epi32(units[2].raw, units[3].raw), bias);
  __m512i magnitude = _mm512_packus_epi16(low, high);
  __m512i signs = _mm512_packs_epi16(_mm512_packs_epi32(word(0), word(1)), _mm512_packs_epi32(word(2), word(3)));
  if constexpr (special > Special::same) magnitude = in_order(magnitude), signs = in_order(signs);
  const __mmask64 beyond = _mm512_cmpgt_epu8_mask(magnitude, byte(plan.largest));
  __mmask64 negative = _mm512_movepi8_mask(signs);
  __m512i codes = magnitude;
  if constexpr (special <= Special::same) {
    if constexpr (special == Special::same) codes = _mm512_mask_mov_epi8(codes, beyond, byte(plan.overflow_positive));
    if constexpr (special == Special::fnuz) negative = _mm512_mask_test_epi8_mask(negative, magnitude, magnitude);
    codes = _mm512_mask_add_epi8(codes, negative, codes, byte(plan.sign_bit));
    if constexpr (special != Special::same) codes = _mm512_mask_mov_epi8(codes, beyond, byte(plan.nan));
    codes = in_order(codes);
  } else {
    __mmask64 is_signed = negative, below = negative & beyond;
    if constexpr (special == Special::any) {
      const __mmask64 stays = _mm512_cmpge_epu8_mask(magnitude, byte(plan.zero_below));
      if (plan.zero_sign == 0) is_signed &= stays;
      codes = _mm512_maskz_mov_epi8(stays, codes);
      below = _mm512_mask_cmpgt_epu8_mask(negative, magnitude, byte(plan.largest_negative));
    }
    codes = _mm512_mask_add_epi8(codes, is_signed, codes, byte(plan.sign_bit));
    codes = _mm512_mask_mov_epi8(codes, beyond, byte(plan.overflow_positive));
    codes = _mm512_mask_mov_epi8(codes, below, byte(plan.overflow_negative));
    if (plan.infinity_positive != plan.overflow_positive || plan.infinity_negative != plan.overflow_negative) {
      constexpr int infinity = 0x18;  // either, for vfpclassps
      const __mmask64 infinite = each_float(x, [](__m512 v) HWY_ATTR { return _mm512_fpclass_ps_mask(v, infinity); });
      codes = _mm512_mask_mov_epi8(codes, infinite, byte(plan.infinity_positive));
      codes = _mm512_mask_mov_epi8(codes, infinite & negative, byte(plan.infinity_negative));
    }
  }
  if constexpr (special >= Special::same) {
    const __mmask64 nans = each_float(x, [](__m512 v) HWY_ATTR { return _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q); });
    codes = _mm512_mask_mov_epi8(codes, nans, byte(plan.nan));
  }
  store_512(codes, out, streaming);
}
#elif ULPSCOPE_X86_BITS == 256
HWY_INLINE void store_256(__m256i v, void* out, bool streaming) {
  auto* const at = static_cast<__m256i*>(out);
  streaming ? _mm256_stream_si256(at, v) : _mm256_storeu_si256(at, v);
}
HWY_INLINE void store(const VU (&v)[unroll], std::uint16_t* out, bool streaming) {
  for (std::size_t j = 0; j < unroll; j += 2)
    store_256(_mm256_permute4x64_epi64(_mm256_packus_epi32(v[j].raw, v[j + 1].raw), 0xd8), out + j * 8, streaming);
}
HWY_INLINE void store(const VU (&v)[unroll], std::uint8_t* out, bool streaming) {
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  const __m256i low = _mm256_packus_epi32(v[0].raw, v[1].raw), high = _mm256_packus_epi32(v[2].raw, v[3].raw);
  store_256(_mm256_permutevar8x32_epi32(_mm256_packus_epi16(low, high), order), out, streaming);
}
template <Special special>
HWY_INLINE void store_units(const BulkPlan& plan, const VF (&x)[unroll], const VU (&units)[unroll], std::uint8_t* out,
                            bool streaming) {
  const auto byte = [](std::uint32_t code) { return _mm256_set1_epi8(static_cast<char>(code)); };
  const auto packed = [](auto lanes) HWY_ATTR {
    return _mm256_packs_epi16(_mm256_packs_epi32(lanes(0), lanes(1)), _mm256_packs_epi32(lanes(2), lanes(3)));
  };
  const auto compared = [&](auto comparison) HWY_ATTR {
    return packed([&](std::size_t j) HWY_ATTR { return _mm256_castps_si256(comparison(x[j].raw)); });
  };
  const auto at_most = [](__m256i a, __m256i b) HWY_ATTR { return _mm256_cmpeq_epi8(_mm256_min_epu8(a, b), a); };
  const __m256i bias = _mm256_set1_epi16(static_cast<short>(plan.code_bias)), zero = _mm256_setzero_si256();
  const __m256i low = _mm256_sub_epi16(_mm256_packs_epi32(units[0].raw, units[1].raw), bias);
  const __m256i high = _mm256_sub_epi16(_mm256_packs_epi32(units[2].raw, units[3].raw), bias);
  const __m256i magnitude = _mm256_packus_epi16(low, high);
  const __m256i within = at_most(magnitude, byte(plan.largest));
  const __m256i words = packed([&](std::size_t j) HWY_ATTR { return bits(x[j]).raw; });
  const __m256i negative = _mm256_cmpgt_epi8(zero, words);
  __m256i signs = _mm256_and_si256(negative, byte(plan.sign_bit));
  __m256i codes = magnitude;
  if constexpr (special <= Special::same) {
    if constexpr (special == Special::same) codes = _mm256_blendv_epi8(byte(plan.overflow_positive), codes, within);
    if constexpr (special == Special::fnuz) signs = _mm256_andnot_si256(_mm256_cmpeq_epi8(magnitude, zero), signs);
    codes = _mm256_or_si256(codes, signs);
    if constexpr (special != Special::same) codes = _mm256_blendv_epi8(byte(plan.nan), codes, within);
  } else {
    __m256i within_negative = within;
    if constexpr (special == Special::any) {
      const __m256i stays = at_most(byte(plan.zero_below), magnitude);
      if (plan.zero_sign == 0) signs = _mm256_and_si256(signs, stays);
      codes = _mm256_and_si256(codes, stays);
      within_negative = at_most(magnitude, byte(plan.largest_negative));
    }
    codes = _mm256_blendv_epi8(byte(plan.overflow_positive), _mm256_or_si256(codes, signs), within);
    codes = _mm256_blendv_epi8(codes, byte(plan.overflow_negative), _mm256_andnot_si256(within_negative, negative));
    if (plan.infinity_positive != plan.overflow_positive || plan.infinity_negative != plan.overflow_negative) {
      const auto is_infinite = [](__m256 v) HWY_ATTR { return hn::VecFromMask(DF(), hn::IsInf(VF{v})).raw; };
      const __m256i code = _mm256_blendv_epi8(byte(plan.infinity_positive), byte(plan.infinity_negative), negative);
      codes = _mm256_blendv_epi8(codes, code, compared(is_infinite));
    }
  }
  if constexpr (special >= Special::same) {
    const __m256i nans = compared([](__m256 v) HWY_ATTR { return _mm256_cmp_ps(v, v, _CMP_UNORD_Q); });
    codes = _mm256_blendv_epi8(codes, byte(plan.nan), nans);
  }
  store_256(_mm256_permutevar8x32_epi32(codes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7)), out, streaming);
}
#else
template <class Out>
HWY_INLINE void store(const VU (&v)[unroll], Out* out, bool) {
  const DI di;
  const hn::Rebind<Out, DI> narrow;
  for (std::size_t j = 0; j < unroll; ++j)
    hn::StoreU(hn::DemoteTo(narrow, hn::BitCast(di, v[j])), narrow, out + j * hn::Lanes(di));
}
#endif

/// Whether stores can go past the caches.
constexpr bool has_streams = HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128;

/// Elements that one step of a loop takes.
HWY_INLINE std::size_t step_size() { return unroll * hn::Lanes(DF()); }

template <class Rounder, class Out>
HWY_INLINE void round_step(const Rounder& rounder, const float* in, Out* out, const std::uint32_t* random, bool streaming) {
  const DF df;
  const DU du;
  VF x[unroll];
  VU words[unroll], v[unroll];
  for (std::size_t j = 0; j < unroll; ++j) {
    const std::size_t at = j * hn::Lanes(df);
    x[j] = hn::LoadU(df, in + at);
    words[j] = Rounder::is_stochastic ? hn::LoadU(du, random + at) : hn::Zero(du);
  }
#if ULPSCOPE_X86_BITS != 0
  if constexpr (Rounder::has_units && sizeof(Out) == 1) {
    for (std::size_t j = 0; j < unroll; ++j) v[j] = rounder.units(x[j], words[j]);
    store_units<Rounder::of_specials>(rounder.plan(), x, v, out, streaming);
    return;
  }
#endif
  for (std::size_t j = 0; j < unroll; ++j) v[j] = rounder(x[j], words[j]);
  store(v, out, streaming);
}

/// Fewer elements than a step: through buffers of one.
template <class Out>
HWY_NOINLINE void round_few(void (*round)(const BulkPlan&, const float*, Out*, const Loop&), const BulkPlan& plan,
                            const float* in, Out* out, const std::uint32_t* random, std::size_t size) {
  HWY_ALIGN float values[unroll * hn::MaxLanes(DF())] = {};
  HWY_ALIGN std::uint32_t words[unroll * hn::MaxLanes(DF())] = {};
  HWY_ALIGN Out results[unroll * hn::MaxLanes(DF())];
  std::memcpy(values, in, size * sizeof(float));
  if (random != nullptr) std::memcpy(words, random, size * sizeof(std::uint32_t));
  round(plan, values, results, {.size = step_size(), .random = words});
  std::memcpy(out, results, size * sizeof(Out));
}

template <class Rounder, class Out>
HWY_NOINLINE void round_loop(const BulkPlan& plan, const float* in, Out* out, const Loop& loop) {
  const Rounder rounder(plan);
  const std::size_t step = step_size();
  // Stores that cross cache lines cost more than the detour of the first few elements.
  const bool aligns = loop.traffic == Traffic::streaming || loop.size >= 16 * step;
  const auto random = [&](std::size_t i) { return Rounder::is_stochastic ? loop.random + i : nullptr; };
  std::size_t i = 0;
  const bool is_far = loop.traffic != Traffic::near;
  const auto steps = [&](auto streaming) HWY_ATTR {
    for (; i + step <= loop.size; i += step) {
      if (is_far) prefetch_next_page(in + i, step * sizeof(float));
      round_step(rounder, in + i, out + i, random(i), streaming);
    }
  };
  const auto few = [&](std::size_t size) { round_few(round_loop<Rounder, Out>, plan, in + i, out + i, random(i), size); };
  const std::size_t head = aligns ? std::min(loop.size, misaligned(out)) : 0;
  for (; i < head; i = std::min(head, i + step)) few(std::min(step, head - i));
  if (has_streams && loop.traffic == Traffic::streaming) {
    steps(std::bool_constant<has_streams>());
    hwy::FlushStream();
  } else {
    steps(std::false_type());
  }
  if (i < loop.size) few(loop.size - i);
}

template <Way way, Special special, class Out>
void round_with(const BulkPlan& plan, const float* in, Out* out, const Loop& loop) {
  round_loop<Rounder<way, special, is_code<Out>>>(plan, in, out, loop);
}

/// A way with those special treatments that it is compiled for; `any` serves for the rest.
template <Way way, Special... specials, class Out>
void choose_special(const BulkPlan& plan, const float* in, Out* out, const Loop& loop) {
  const bool done = ((plan.special == specials && (round_with<way, specials>(plan, in, out, loop), true)) || ...);
  if (!done) round_with<way, Special::any>(plan, in, out, loop);
}

template <class Out>
void round_any(const BulkPlan& plan, const float* in, Out* out, const Loop& loop) {
  using enum Special;
  switch (plan.way) {
    case Way::sum_nearest: return choose_special<Way::sum_nearest, nan, fnuz, same>(plan, in, out, loop);
    case Way::sum: return choose_special<Way::sum, nan, fnuz, same, truncated, directed>(plan, in, out, loop);
    case Way::sum_away: return choose_special<Way::sum_away, nan, fnuz, same>(plan, in, out, loop);
    case Way::sum_odd: return choose_special<Way::sum_odd, nan, fnuz, same, truncated>(plan, in, out, loop);
    case Way::sum_stochastic: return choose_special<Way::sum_stochastic, nan, same>(plan, in, out, loop);
    case Way::bits_even: return choose_special<Way::bits_even, natural>(plan, in, out, loop);
    case Way::bits_offset: return choose_special<Way::bits_offset, natural>(plan, in, out, loop);
    case Way::bits_odd: return choose_special<Way::bits_odd, natural>(plan, in, out, loop);
    case Way::bits_stochastic: return choose_special<Way::bits_stochastic, natural>(plan, in, out, loop);
    case Way::half: return round_with < has_half ? Way::half : Way::sum, has_half ? same : directed > (plan, in, out, loop);
    case Way::exponent: return choose_special<Way::exponent, nan>(plan, in, out, loop);
  }
}

}  // namespace

void Round(const BulkPlan& plan, const float* in, float* out, const Loop& loop) { round_any(plan, in, out, loop); }
void Encode8(const BulkPlan& plan, const float* in, std::uint8_t* out, const Loop& loop) { round_any(plan, in, out, loop); }
void Encode16(const BulkPlan& plan, const float* in, std::uint16_t* out, const Loop& loop) { round_any(plan, in, out, loop); }
void Encode32(const BulkPlan& plan, const float* in, std::uint32_t* out, const Loop& loop) { round_any(plan, in, out, loop); }

}  // namespace ulpscope::emu::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ulpscope::emu::detail {

HWY_EXPORT(Round);
HWY_EXPORT(Encode8);
HWY_EXPORT(Encode16);
HWY_EXPORT(Encode32);

void round_floats(const BulkPlan& plan, const float* in, float* out, const Loop& loop) {
  HWY_DYNAMIC_DISPATCH(Round)(plan, in, out, loop);
}
void encode_floats(const BulkPlan& plan, const float* in, std::uint8_t* out, const Loop& loop) {
  HWY_DYNAMIC_DISPATCH(Encode8)(plan, in, out, loop);
}
void encode_floats(const BulkPlan& plan, const float* in, std::uint16_t* out, const Loop& loop) {
  HWY_DYNAMIC_DISPATCH(Encode16)(plan, in, out, loop);
}
void encode_floats(const BulkPlan& plan, const float* in, std::uint32_t* out, const Loop& loop) {
  HWY_DYNAMIC_DISPATCH(Encode32)(plan, in, out, loop);
}

}  // namespace ulpscope::emu::detail
#endif
