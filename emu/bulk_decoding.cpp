// SPDX-License-Identifier: Apache-2.0
// The other vector loops of emu/bulk_kernels.hpp: codes to floats, random words, doubles to floats.
#include "emu/bulk_kernels.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "emu/bulk_decoding.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>

#include "emu/bits.hpp"
#include "emu/philox.hpp"

HWY_BEFORE_NAMESPACE();
namespace ulpscope::emu::detail::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using DF = hn::ScalableTag<float>;
using DU = hn::RebindToUnsigned<DF>;
using DI = hn::RebindToSigned<DF>;
using VF = hn::Vec<DF>;
using VU = hn::Vec<DU>;

HWY_INLINE VU set(std::uint32_t word) { return hn::Set(DU(), word); }
/// Comparison of words below 2^31.
HWY_INLINE auto below(VU a, VU b) { return hn::RebindMask(DU(), hn::Lt(hn::BitCast(DI(), a), hn::BitCast(DI(), b))); }
constexpr std::uint32_t sign_bit = std::uint32_t{1} << 31;
constexpr std::uint32_t float_infinity = std::uint32_t{0xff} << 23;
constexpr std::uint32_t float_nan = float_infinity | std::uint32_t{1} << 22;

/// e8m0: an exponent field; zero stands for half of float's least normal number.
HWY_INLINE VU decode_exponent(VU codes) {
  const VU field = set(0xff), code = hn::And(codes, field);
  const VU word = hn::IfThenElse(hn::Eq(code, hn::Zero(DU())), set(std::uint32_t{1} << 22), hn::ShiftLeft<23>(code));
  return hn::IfThenElse(hn::Eq(code, field), set(float_nan), word);
}

HWY_INLINE VU canonical_nan(VU word) {
  return hn::IfThenElse(hn::RebindMask(DU(), hn::IsNaN(hn::BitCast(DF(), word))), set(float_nan), word);
}

template <Codes kind>
HWY_INLINE VU decode(const DecodePlan& plan, VU codes) {
  if constexpr (kind == Codes::exponent) return decode_exponent(codes);
  const VU top = hn::Shl(codes, set(plan.top_shift));
  if constexpr (kind == Codes::upper) return canonical_nan(top);
  // Sign, exponent and fraction where float has them; the shift has copied the sign into what is masked off.
  const VU word = hn::And(hn::BitCast(DU(), hn::Shr(hn::BitCast(DI(), top), hn::BitCast(DI(), set(plan.exponent_shift)))),
                          set(plan.word_mask));
  const VU magnitude = hn::AndNot(set(sign_bit), word);
  // A subnormal is 1.FFF of the least normal's exponent, less the one that it does not have.
  const VF least = hn::BitCast(DF(), set(plan.least_exponent));
  const VF above = hn::BitCast(DF(), hn::Or(magnitude, set(plan.least_exponent)));
  const VU subnormal = hn::OrAnd(hn::BitCast(DU(), hn::Sub(above, least)), word, set(sign_bit));
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

/// Whether the instruction set converts float16; Highway's own conversion knows no infinities.
constexpr bool has_half = HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128;

template <Codes kind, class Word>
HWY_INLINE void decode_step(const DecodePlan& plan, const Word* in, float* out, bool streaming) {
  const DF df;
  VU word;
  if constexpr (kind == Codes::half && has_half && sizeof(Word) == sizeof(hwy::float16_t)) {
    const hn::Rebind<hwy::float16_t, DF> dh;
    word = canonical_nan(hn::BitCast(DU(), hn::PromoteTo(df, hn::LoadU(dh, reinterpret_cast<const hwy::float16_t*>(in)))));
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

template <Codes kind, class Word>
HWY_NOINLINE void decode_few(const DecodePlan& plan, const Word* in, float* out, std::size_t size) {
  HWY_ALIGN Word codes[hn::MaxLanes(DF())] = {};
  HWY_ALIGN float values[hn::MaxLanes(DF())];
  std::memcpy(codes, in, size * sizeof(Word));
  decode_step<kind>(plan, codes, values, false);
  std::memcpy(out, values, size * sizeof(float));
}

template <Codes kind, class Word>
void decode_loop(const DecodePlan& unlocal, const Word* in, float* out, const Loop& loop) {
  const DecodePlan plan = unlocal;  // which no store can change
  const std::size_t lanes = hn::Lanes(DF()), step = std::max<std::size_t>(64 / sizeof(Word), lanes);
  std::size_t i = 0;
  const auto steps = [&](auto is_far, auto streaming) HWY_ATTR {
    for (; i + step <= loop.size; i += step) {
      if constexpr (is_far) prefetch_next_page(in + i, step * sizeof(Word));
      for (std::size_t j = 0; j < step; j += lanes) decode_step<kind>(plan, in + i + j, out + i + j, streaming);
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

#if HWY_TARGET != HWY_SCALAR
/// Philox4x32-10 in 64-bit lanes, whose upper halves hold rubbish that no multiplication reads. Two counters a lane pair: the
/// even ones and the odd ones; word 0 of both is interleaved at the end.
using D64 = hn::ScalableTag<std::uint64_t>;
using V64 = hn::Vec<D64>;

HWY_INLINE V64 times(V64 a, V64 b) { return hn::MulEven(hn::BitCast(DU(), a), hn::BitCast(DU(), b)); }

struct Keys {
  std::uint64_t k0[philox_rounds], k1[philox_rounds];

  explicit Keys(std::uint64_t seed) {
    auto low = static_cast<std::uint32_t>(seed), high = static_cast<std::uint32_t>(seed >> 32);
    for (int r = 0; r < philox_rounds; ++r, low += philox_weyl0, high += philox_weyl1) k0[r] = low, k1[r] = high;
  }
};

/// Word 0 of the blocks of `counter` (low words) and a high word that all share, in the lower half of each lane. The counter's
/// other two words are zero, so that in the first two rounds half of the products are the same for all.
HWY_INLINE V64 philox_word0(const Keys& keys, V64 counter, std::uint32_t high) {
  const D64 d;
  const V64 m0 = hn::Set(d, philox_multiplier0), m1 = hn::Set(d, philox_multiplier1);
  const V64 first = times(counter, m0);
  const std::uint64_t shared = philox_multiplier0 * (high ^ keys.k0[0]);
  const V64 second = times(hn::Xor(hn::ShiftRight<32>(first), hn::Set(d, keys.k1[0])), m1);
  V64 c0 = hn::Xor(hn::ShiftRight<32>(second), hn::Set(d, keys.k0[1])), c1 = second;
  V64 c2 = hn::Xor(first, hn::Set(d, shared >> 32 ^ keys.k1[1])), c3 = hn::Set(d, shared);
  for (int r = 2; r < philox_rounds; ++r) {
    const V64 p0 = times(c0, m0), p1 = times(c2, m1);
    c0 = hn::Xor3(hn::ShiftRight<32>(p1), c1, hn::Set(d, keys.k0[r]));
    c2 = hn::Xor3(hn::ShiftRight<32>(p0), c3, hn::Set(d, keys.k1[r]));
    c1 = p1;
    c3 = p0;
  }
  return c0;
}

HWY_INLINE VU random_step(const Keys& keys, std::uint64_t counter) {
  const D64 d;
  const V64 even = hn::Add(hn::Set(d, counter), hn::ShiftLeft<1>(hn::Iota(d, 0)));
  const auto high = static_cast<std::uint32_t>(counter >> 32);
  const V64 a = philox_word0(keys, even, high), b = philox_word0(keys, hn::Add(even, hn::Set(d, 1)), high);
  return hn::BitCast(DU(), hn::Or(hn::And(a, hn::Set(d, 0xffffffffu)), hn::ShiftLeft<32>(b)));
}
#endif

/// Subnormal and smaller in float: cut to its grid, the last bit set if that lost anything. All as doubles.
template <class D, class V>
HWY_INLINE V tiny_to_odd(D d, V magnitude) {
  const hn::RebindToUnsigned<D> du;
  const V grid = hn::Set(d, 0x1p-97);  // its last bit is float's least number, 2^-149
  const V sum = hn::Add(magnitude, grid), rounded = hn::Sub(sum, grid);
  const auto one = hn::Set(du, std::uint64_t{1});
  auto count = hn::BitCast(du, sum);
  count = hn::Sub(count, hn::IfThenElseZero(hn::RebindMask(du, hn::Gt(rounded, magnitude)), one));
  count = hn::Or(count, hn::IfThenElseZero(hn::RebindMask(du, hn::Ne(rounded, magnitude)), one));
  return hn::Abs(hn::Sub(hn::BitCast(d, count), grid));  // 0 is -0 where the direction is downward
}

/// Exact: x is a float already. Highway's portable conversion would make infinity finite.
template <class D>
HWY_INLINE hn::Vec<hn::Rebind<float, D>> to_float(D d, hn::Vec<D> x) {
  const hn::Rebind<float, D> df;
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
  HWY_ALIGN double wide[hn::MaxLanes(d)];
  HWY_ALIGN float result[hn::MaxLanes(d)];
  hn::Store(x, d, wide);
  for (std::size_t i = 0; i < hn::Lanes(d); ++i) result[i] = static_cast<float>(wide[i]);
  return hn::LoadU(df, result);
#else
  return hn::DemoteTo(df, x);
#endif
}

template <class D>
HWY_INLINE hn::Vec<hn::Rebind<float, D>> narrow(D d, hn::Vec<D> x, bool subnormals_are_zero) {
  const hn::RebindToUnsigned<D> du;
  const hn::RebindToSigned<D> di;
  // A double has 29 bits more than a float: cut them off, and set the last one left if any was set.
  constexpr std::uint64_t low_bits = (std::uint64_t{1} << 29) - 1;
  const auto low = hn::Set(du, low_bits), all = hn::BitCast(du, x);
  const auto sign = hn::And(all, hn::Set(du, std::uint64_t{1} << 63));
  const auto word = hn::Xor(all, sign);
  const auto sticky = hn::AndNot(low, hn::Add(hn::And(word, low), low));
  auto magnitude = hn::BitCast(d, hn::Or(hn::AndNot(low, word), sticky));

  const auto bits = hn::BitCast(di, word);
  const auto number = [&](double limit) { return hn::BitCast(di, hn::Set(d, limit)); };
  const auto largest = number(static_cast<double>(std::numeric_limits<float>::max()));
  const auto too_large = hn::And(hn::Gt(bits, largest), hn::Lt(bits, number(std::numeric_limits<double>::infinity())));
  magnitude = hn::IfThenElse(hn::RebindMask(d, too_large), hn::BitCast(d, largest), magnitude);
  const auto tiny = hn::RebindMask(d, hn::Lt(bits, number(static_cast<double>(std::numeric_limits<float>::min()))));
  if (!hn::AllFalse(d, tiny)) {
    magnitude = hn::IfThenElse(tiny, tiny_to_odd(d, hn::BitCast(d, word)), magnitude);
    const auto subnormal = hn::RebindMask(d, hn::Lt(bits, number(std::numeric_limits<double>::min())));
    if (subnormals_are_zero) magnitude = hn::IfThenZeroElse(subnormal, magnitude);
  }
  return to_float(d, hn::Or(magnitude, hn::BitCast(d, sign)));
}

}  // namespace

void Narrow(const double* in, float* out, std::size_t size, bool subnormals_are_zero) {
  const hn::ScalableTag<double> d;
  const hn::Rebind<float, decltype(d)> narrow_d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= size; i += lanes) hn::StoreU(narrow(d, hn::LoadU(d, in + i), subnormals_are_zero), narrow_d, out + i);
  if (i == size) return;
  HWY_ALIGN double wide[hn::MaxLanes(d)] = {};
  HWY_ALIGN float few[hn::MaxLanes(d)];
  std::memcpy(wide, in + i, (size - i) * sizeof(double));
  hn::StoreU(narrow(d, hn::LoadU(d, wide), subnormals_are_zero), narrow_d, few);
  std::memcpy(out + i, few, (size - i) * sizeof(float));
}

void FillRandom(std::uint64_t seed, std::uint64_t first, std::uint32_t* out, std::size_t size) {
  std::size_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const std::size_t lanes = hn::Lanes(DU());
  const Keys keys(seed);
  for (; i + lanes <= size; i += lanes) hn::StoreU(random_step(keys, first + i), DU(), out + i);
#endif
  for (; i < size; ++i) out[i] = rounding_bits(seed, first + i);
}

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
HWY_EXPORT(FillRandom);
HWY_EXPORT(Narrow);

void decode_to_floats(const DecodePlan& plan, const std::uint8_t* in, float* out, const Loop& loop) {
  HWY_DYNAMIC_DISPATCH(Decode8)(plan, in, out, loop);
}
void decode_to_floats(const DecodePlan& plan, const std::uint16_t* in, float* out, const Loop& loop) {
  HWY_DYNAMIC_DISPATCH(Decode16)(plan, in, out, loop);
}
void decode_to_floats(const DecodePlan& plan, const std::uint32_t* in, float* out, const Loop& loop) {
  HWY_DYNAMIC_DISPATCH(Decode32)(plan, in, out, loop);
}
void fill_random(std::uint64_t seed, std::uint64_t first, std::uint32_t* out, std::size_t size) {
  HWY_DYNAMIC_DISPATCH(FillRandom)(seed, first, out, size);
}
void narrow_to_odd(const double* in, float* out, std::size_t size, bool subnormals_are_zero) {
  HWY_DYNAMIC_DISPATCH(Narrow)(in, out, size, subnormals_are_zero);
}

}  // namespace ulpscope::emu::detail
#endif
