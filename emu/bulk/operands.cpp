// SPDX-License-Identifier: Apache-2.0
// What comes before the rounding of floats: random words, and doubles made floats.
#include "emu/bulk/kernels.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "emu/bulk/operands.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "emu/bulk/vectors-inl.hpp"
#include "emu/philox.hpp"

HWY_BEFORE_NAMESPACE();
namespace ulpscope::emu::detail::HWY_NAMESPACE {
namespace {

#if HWY_TARGET != HWY_SCALAR
/// Philox4x32-10 in 64-bit lanes, a counter a lane, whose upper halves hold rubbish that no multiplication reads.
using D64 = VectorTag<std::uint64_t>;
using V64 = hn::Vec<D64>;

HWY_INLINE V64 times(V64 a, V64 b) { return hn::MulEven(hn::BitCast(DU(), a), hn::BitCast(DU(), b)); }

struct Keys {
  std::uint64_t k0[philox_rounds], k1[philox_rounds];

  explicit Keys(std::uint64_t seed) {
    auto low = static_cast<std::uint32_t>(seed), high = static_cast<std::uint32_t>(seed >> 32);
    for (int r = 0; r < philox_rounds; ++r, low += philox_weyl0, high += philox_weyl1) k0[r] = low, k1[r] = high;
  }
};

/// A block a lane on its way through the rounds.
struct Blocks {
  V64 c0, c1, c2, c3;

  /// After two rounds, of counters whose other two words are zero, so that half of the products are the same for all: those
  /// from `first` on, which share their high word.
  HWY_INLINE Blocks(const Keys& keys, std::uint64_t first) {
    const D64 d;
    // The blocks of one half lie in the even lanes, so that what is interleaved at the end is in order.
    const V64 lane = hn::Iota(d, 0), half = hn::Set(d, hn::Lanes(d) / 2);
    const V64 odd = hn::Sub(hn::Zero(d), hn::And(lane, hn::Set(d, std::uint64_t{1})));
    const V64 counter = hn::Add(hn::Set(d, first), hn::Add(hn::ShiftRight<1>(lane), hn::And(odd, half)));
    const V64 product = times(counter, hn::Set(d, philox_multiplier0));
    const std::uint64_t shared = philox_multiplier0 * (static_cast<std::uint32_t>(first >> 32) ^ keys.k0[0]);
    c1 = times(hn::Xor(hn::ShiftRight<32>(product), hn::Set(d, keys.k1[0])), hn::Set(d, philox_multiplier1));
    c0 = hn::Xor(hn::ShiftRight<32>(c1), hn::Set(d, keys.k0[1]));
    c2 = hn::Xor(product, hn::Set(d, shared >> 32 ^ keys.k1[1]));
    c3 = hn::Set(d, shared);
  }

  HWY_INLINE void round(V64 k0, V64 k1) {
    const D64 d;
    const V64 p0 = times(c0, hn::Set(d, philox_multiplier0)), p1 = times(c2, hn::Set(d, philox_multiplier1));
    c0 = hn::Xor3(hn::ShiftRight<32>(p1), c1, k0);
    c2 = hn::Xor3(hn::ShiftRight<32>(p0), c3, k1);
    c1 = p1;
    c3 = p0;
  }

  HWY_INLINE void store(std::uint32_t* out) const {
    const D64 d;
    const V64 low = hn::Set(d, 0xffffffffu);
    const V64 words01 = hn::Or(hn::And(c0, low), hn::ShiftLeft<32>(c1)),
              words23 = hn::Or(hn::And(c2, low), hn::ShiftLeft<32>(c3));
    hn::StoreU(hn::BitCast(DU(), hn::InterleaveLower(d, words01, words23)), DU(), out);
    hn::StoreU(hn::BitCast(DU(), hn::InterleaveUpper(d, words01, words23)), DU(), out + hn::Lanes(DU()));
  }
};

/// The words of so many blocks from `first` on, in their order; all counters share their high word. A round waits for the one
/// before: two sets of blocks go through them side by side.
HWY_INLINE std::size_t blocks_a_step() { return 2 * hn::Lanes(D64()); }
HWY_INLINE void random_step(const Keys& keys, std::uint64_t first, std::uint32_t* out) {
  const D64 d;
  Blocks a(keys, first), b(keys, first + hn::Lanes(d));
  for (int r = 2; r < philox_rounds; ++r) {
    const V64 k0 = hn::Set(d, keys.k0[r]), k1 = hn::Set(d, keys.k1[r]);
    a.round(k0, k1);
    b.round(k0, k1);
  }
  a.store(out);
  b.store(out + elements_a_block * hn::Lanes(d));
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
  return exact_floats(d, hn::Or(magnitude, hn::BitCast(d, sign)));
}

}  // namespace

void Narrow(const double* in, float* out, std::size_t size, bool subnormals_are_zero) {
  const VectorTag<double> d;
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

void MakeFloats(const double* in, float* out, std::size_t size, bool& are_floats) {
  const VectorTag<double> d;
  const hn::Rebind<float, decltype(d)> narrow_d;
  const std::size_t lanes = hn::Lanes(d);
  auto same = hn::Eq(hn::Zero(d), hn::Zero(d));
  std::size_t i = 0;
  for (; i + lanes <= size; i += lanes) {
    const auto x = hn::LoadU(d, in + i);
    const auto x_float = exact_floats(d, x);
    hn::StoreU(x_float, narrow_d, out + i);
    same = hn::And(same, hn::Or(hn::Eq(hn::PromoteTo(d, x_float), x), hn::Ne(x, x)));
  }
  are_floats = hn::AllTrue(d, same);
  for (; i < size; ++i) {
    out[i] = static_cast<float>(in[i]);
    are_floats = are_floats && (static_cast<double>(out[i]) == in[i] || in[i] != in[i]);
  }
}

void FillRandom(std::uint64_t seed, std::uint64_t first, std::uint32_t* out, std::size_t size) {
#if HWY_TARGET != HWY_SCALAR
  const Keys keys(seed);
  HWY_ALIGN std::uint32_t few[2 * elements_a_block * hn::MaxLanes(D64())];
  const std::size_t words_a_step = elements_a_block * blocks_a_step();
  std::uint64_t block = first / elements_a_block;
  auto skipped = static_cast<std::size_t>(first % elements_a_block);
  for (std::size_t done = 0; done < size; block += blocks_a_step(), skipped = 0) {
    const std::size_t count = std::min(words_a_step - skipped, size - done);
    if (count == words_a_step) {
      random_step(keys, block, out + done);
    } else {
      random_step(keys, block, few);
      std::memcpy(out + done, few + skipped, count * sizeof(std::uint32_t));
    }
    done += count;
  }
#else
  for (std::size_t i = 0; i < size; ++i) out[i] = rounding_bits(seed, first + i);
#endif
}

}  // namespace ulpscope::emu::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ulpscope::emu::detail {

HWY_EXPORT(FillRandom);
HWY_EXPORT(MakeFloats);
HWY_EXPORT(Narrow);

void fill_random(std::uint64_t seed, std::uint64_t first, std::uint32_t* out, std::size_t size) {
  HWY_DYNAMIC_DISPATCH(FillRandom)(seed, first, out, size);
}
bool make_floats(const double* in, float* out, std::size_t size) {
  bool are_floats = false;
  HWY_DYNAMIC_DISPATCH(MakeFloats)(in, out, size, are_floats);
  return are_floats;
}
void narrow_to_odd(const double* in, float* out, std::size_t size, bool subnormals_are_zero) {
  HWY_DYNAMIC_DISPATCH(Narrow)(in, out, size, subnormals_are_zero);
}

}  // namespace ulpscope::emu::detail
#endif
