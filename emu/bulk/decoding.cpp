// SPDX-License-Identifier: Apache-2.0
// Codes to floats.
#include "emu/bulk/kernels.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "emu/bulk/decoding.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "emu/bulk/vectors-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace ulpscope::emu::detail::HWY_NAMESPACE {
namespace {

constexpr std::uint32_t float_nan = float_infinity | std::uint32_t{1} << 22;

/// e8m0: an exponent field; zero stands for half of float's least normal number.
HWY_INLINE VU decode_exponent(VU codes) {
  const VU field = set(0xff), code = hn::And(codes, field);
  const VU word = hn::IfThenElse(hn::Eq(code, hn::Zero(DU())), set(std::uint32_t{1} << 22), hn::ShiftLeft<23>(code));
  return hn::IfThenElse(hn::Eq(code, field), set(float_nan), word);
}

HWY_INLINE VU canonical_nan(VU word) {
  return hn::IfThenElse(hn::RebindMask(DU(), hn::IsNaN(floats(word))), set(float_nan), word);
}

template <Codes kind>
HWY_INLINE VU decode(const DecodePlan& plan, VU codes) {
  if constexpr (kind == Codes::exponent) return decode_exponent(codes);
  const VU top = hn::Shl(codes, set(plan.top_shift));
  if constexpr (kind == Codes::upper) return canonical_nan(top);
  // Sign, exponent and fraction where float has them; the shift has copied the sign into what is masked off.
  const VU word = hn::And(hn::BitCast(DU(), hn::Shr(ints(top), ints(set(plan.exponent_shift)))), set(plan.word_mask));
  const VU magnitude = hn::AndNot(set(sign_bit), word);
  // A subnormal is 1.FFF of the least normal's exponent, less the one that it does not have.
  const VF least = floats(set(plan.least_exponent));
  const VF above = floats(hn::Or(magnitude, set(plan.least_exponent)));
  const VU subnormal = hn::OrAnd(bits(hn::Sub(above, least)), word, set(sign_bit));
  const auto negative_zero = hn::Eq(word, set(sign_bit));
  VU value = hn::IfThenElse(below(magnitude, set(plan.least_normal)), subnormal, hn::Add(word, set(plan.rebias)));
  if constexpr (kind == Codes::infinite || kind == Codes::any) {
    const VU infinity = hn::OrAnd(set(float_infinity), word, set(sign_bit));
    value = hn::IfThenElse(hn::Eq(magnitude, set(plan.infinity)), infinity, value);
  }
  if constexpr (kind == Codes::any)
    value = hn::IfThenElse(below(magnitude, set(plan.zero_below)), hn::And(word, set(plan.zero_sign)), value);
  value = hn::IfThenElse(below(set(plan.nan_above), magnitude), set(float_nan), value);
  if constexpr (kind == Codes::any)
    if (plan.negative_zero_is_nan) value = hn::IfThenElse(negative_zero, set(float_nan), value);
  return value;
}

template <Codes kind, class Word>
HWY_INLINE void decode_step(const DecodePlan& plan, const Word* in, float* out, bool streaming) {
  const DF df;
  VU word;
  if constexpr (kind == Codes::half && has_half && sizeof(Word) == sizeof(std::uint16_t)) {
    word = canonical_nan(bits(from_halves(hn::LoadU(DH(), in))));
  } else {
    VU codes;
    if constexpr (sizeof(Word) == sizeof(std::uint32_t))
      codes = hn::LoadU(DU(), in);
    else
      codes = hn::PromoteTo(DU(), hn::LoadU(hn::Rebind<Word, DU>(), in));
    word = decode < kind == Codes::half ? Codes::infinite : kind > (plan, codes);
  }
  const VF values = hn::BitCast(df, word);
  streaming ? hn::Stream(values, df, out) : hn::StoreU(values, df, out);
}

#if ULPSCOPE_X86_BITS == 512
/// What all codes of at most 8 bits stand for: upper halves of floats, whose lower ones are zeros with so few fraction bits.
template <Codes kind>
class CodeTable {
 public:
  explicit CodeTable(const DecodePlan& plan) {
    VU codes = hn::Iota(DU(), 0);
    const auto next_upper_halves = [&]() HWY_ATTR {
      const VU word = decode < kind == Codes::half ? Codes::infinite : kind > (plan, codes);
      codes = hn::Add(codes, set(in_vector / 2));
      return _mm512_cvtepi32_epi16(hn::ShiftRight<16>(word).raw);
    };
    for (__m512i& halves : halves_) {
      const __m256i first = next_upper_halves();
      halves = _mm512_inserti64x4(_mm512_castsi256_si512(first), next_upper_halves(), 1);
    }
  }

  /// As many codes as there are 16-bit words in a vector, to two of floats.
  HWY_INLINE void decode_step(const std::uint8_t* in, float* out, bool streaming) const {
    // Unpacking interleaves 128-bit blocks: in this order of four codes each the floats are in theirs.
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    const __m256i codes = _mm256_permutevar8x32_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(in)), order);
    const __m512i at = _mm512_cvtepu8_epi16(codes), zero = _mm512_setzero_si512();
    const auto quarter = [&](std::size_t i)
                             HWY_ATTR { return _mm512_permutex2var_epi16(halves_[2 * i], at, halves_[2 * i + 1]); };
    const __mmask32 bit6 = _mm512_test_epi16_mask(at, _mm512_set1_epi16(0x40)),
                    bit7 = _mm512_test_epi16_mask(at, _mm512_set1_epi16(0x80));
    const __m512i below = _mm512_mask_blend_epi16(bit6, quarter(0), quarter(1)),
                  above = _mm512_mask_blend_epi16(bit6, quarter(2), quarter(3));
    const __m512i half = _mm512_mask_blend_epi16(bit7, below, above);
    const VU words[] = {VU{_mm512_unpacklo_epi16(zero, half)}, VU{_mm512_unpackhi_epi16(zero, half)}};
    for (std::size_t j = 0; j < 2; ++j) {
      float* const to = out + j * hn::Lanes(DF());
      streaming ? hn::Stream(floats(words[j]), DF(), to) : hn::StoreU(floats(words[j]), DF(), to);
    }
  }

  static constexpr std::size_t in_vector = 32;
  static constexpr std::size_t worth_it = 1024;  ///< so many codes pay for the table

 private:
  static constexpr std::size_t size = 256;
  __m512i halves_[size / in_vector];
};
#endif

template <Codes kind, class Word>
HWY_NOINLINE void decode_few(const DecodePlan& plan, const Word* in, float* out, std::size_t size) {
  HWY_ALIGN Word codes[hn::MaxLanes(DF())] = {};
  HWY_ALIGN float values[hn::MaxLanes(DF())];
  std::memcpy(codes, in, size * sizeof(Word));
  decode_step<kind>(plan, codes, values, false);
  std::memcpy(out, values, size * sizeof(float));
}

/// step_of(in, out, streaming) decodes `at_once` codes.
template <Codes kind, class Word, class Step>
HWY_INLINE void decode_with(const DecodePlan& plan, const Word* in, float* out, const Loop& loop, std::size_t at_once,
                            Step step_of) {
  const std::size_t lanes = hn::Lanes(DF()), step = std::max<std::size_t>(64 / sizeof(Word), at_once);
  std::size_t i = 0;
  const auto steps = [&](auto is_far, auto streaming) HWY_ATTR {
    for (; i + step <= loop.size; i += step) {
      if constexpr (is_far) prefetch_next_page(in + i, step * sizeof(Word));
      for (std::size_t j = 0; j < step; j += at_once) step_of(in + i + j, out + i + j, streaming);
    }
  };
  if (loop.traffic == Traffic::streaming) {
    const std::size_t head = std::min(loop.size, misaligned(out));
    for (; i < head; i = std::min(head, i + lanes)) decode_few<kind>(plan, in + i, out + i, std::min(lanes, head - i));
    steps(std::true_type(), std::true_type());
    hwy::FlushStream();
  } else if (loop.traffic == Traffic::far) {
    steps(std::true_type(), std::false_type());
  } else {
    steps(std::false_type(), std::false_type());
  }
  for (; i + lanes <= loop.size; i += lanes) decode_step<kind>(plan, in + i, out + i, false);
  if (i < loop.size) decode_few<kind>(plan, in + i, out + i, loop.size - i);
}

template <Codes kind, class Word>
void decode_loop(const DecodePlan& unlocal, const Word* in, float* out, const Loop& loop) {
  const DecodePlan plan = unlocal;  // which no store can change
#if ULPSCOPE_X86_BITS == 512
  if constexpr (sizeof(Word) == 1 && kind != Codes::exponent) {  // an exponent takes fewer instructions
    if (loop.size >= CodeTable<kind>::worth_it) {
      const CodeTable<kind> table(plan);
      const auto step = [&](const Word* from, float* to, bool streaming) HWY_ATTR { table.decode_step(from, to, streaming); };
      return decode_with<kind>(plan, in, out, loop, table.in_vector, step);
    }
  }
#endif
  decode_with<kind>(plan, in, out, loop, hn::Lanes(DF()), [&](const Word* from, float* to, bool streaming) HWY_ATTR {
    decode_step<kind>(plan, from, to, streaming);
  });
}

template <class Word>
void decode_any(const DecodePlan& plan, const Word* in, float* out, const Loop& loop) {
  switch (plan.codes) {
    case Codes::upper: return decode_loop<Codes::upper>(plan, in, out, loop);
    case Codes::half: return decode_loop<Codes::half>(plan, in, out, loop);
    case Codes::plain: return decode_loop<Codes::plain>(plan, in, out, loop);
    case Codes::infinite: return decode_loop<Codes::infinite>(plan, in, out, loop);
    case Codes::any: return decode_loop<Codes::any>(plan, in, out, loop);
    case Codes::exponent: return decode_loop<Codes::exponent>(plan, in, out, loop);
  }
}

}  // namespace

void Decode8(const DecodePlan& plan, const std::uint8_t* in, float* out, const Loop& loop) { decode_any(plan, in, out, loop); }
void Decode16(const DecodePlan& plan, const std::uint16_t* in, float* out, const Loop& loop) {
  decode_any(plan, in, out, loop);
}
void Decode32(const DecodePlan& plan, const std::uint32_t* in, float* out, const Loop& loop) {
  decode_any(plan, in, out, loop);
}

}  // namespace ulpscope::emu::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ulpscope::emu::detail {

HWY_EXPORT(Decode8);
HWY_EXPORT(Decode16);
HWY_EXPORT(Decode32);

void decode_to_floats(const DecodePlan& plan, const std::uint8_t* in, float* out, const Loop& loop) {
  HWY_DYNAMIC_DISPATCH(Decode8)(plan, in, out, loop);
}
void decode_to_floats(const DecodePlan& plan, const std::uint16_t* in, float* out, const Loop& loop) {
  HWY_DYNAMIC_DISPATCH(Decode16)(plan, in, out, loop);
}
void decode_to_floats(const DecodePlan& plan, const std::uint32_t* in, float* out, const Loop& loop) {
  HWY_DYNAMIC_DISPATCH(Decode32)(plan, in, out, loop);
}

}  // namespace ulpscope::emu::detail
#endif
