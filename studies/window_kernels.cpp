// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cmath>

#include "studies/window.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "studies/window_kernels.cpp"
#include <hwy/foreach_target.h>
// foreach_target.h comes first
#include <hwy/highway.h>

#include "studies/binade_kernels-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace ulpscope::studies::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128

/// Everything is outside.
void SplitBlock(const float* values, int, WindowBlock& block, WindowInput&) {
  std::copy_n(values, WindowBlock::size, block.outside.begin());
  block.outside_count = WindowBlock::size;
  block.range = {};
}
void AddBlockErrors(int, int, WindowBlock&, WindowErrors&, WindowRelative&) {}

#else

using DD = hn::RepartitionToWide<DF>;
using D = hn::Vec<DD>;
using DHalf = hn::Rebind<float, DD>;

constexpr int head_bits = Binade::fraction_bits - WindowBlock::tail_bits;
constexpr std::uint32_t no_sign = 0x7fffffff, exponent_mask = 0xff800000;

std::uint32_t least_code(int window) { return static_cast<std::uint32_t>(window + 127) << Binade::fraction_bits; }

HWY_INLINE D load_doubles(const float* from) { return hn::PromoteTo(DD(), hn::Load(DHalf(), from)); }

/// A sum of multiples of 2^unit, few enough to be exact. Precondition: the result is below 2^53 units.
HWY_INLINE Int128 in_units(D sum, int unit) {
  const double total = hn::GetLane(hn::SumOfLanes(DD(), sum));
  return static_cast<std::int64_t>(total * std::bit_cast<double>(static_cast<std::uint64_t>(1023 - unit) << 52));
}

HWY_INLINE void split_floats(const float* HWY_RESTRICT values, int window, WindowBlock& block) {
  const DU d;
  const DF df;
  const U least = hn::Set(d, least_code(window));
  const U span = hn::Set(d, std::uint32_t{WindowBlock::binades} << Binade::fraction_bits);
  U most = hn::Zero(d), least_above = span;
  std::size_t outside = 0;
  for (std::size_t i = 0; i < WindowBlock::size; i += hn::Lanes(d)) {
    const U code = hn::BitCast(d, hn::LoadU(df, values + i));
    const U magnitude = hn::And(code, hn::Set(d, no_sign));
    const U above = hn::Sub(magnitude, least);  // wraps around below the window
    const Mask inside = hn::Lt(above, span);
    if (HWY_UNLIKELY(!hn::AllTrue(d, inside)))
      outside += hn::CompressBlendedStore(hn::BitCast(df, code), hn::RebindMask(df, hn::Not(inside)), df,
                                          block.outside.data() + outside);
    const F x = hn::BitCast(df, hn::IfThenElseZero(inside, code));
    const U size = hn::IfThenElse(inside, magnitude, least);
    most = hn::Max(most, size);
    least_above = hn::Min(least_above, above);
    const F head = hn::BitCast(df, hn::And(hn::BitCast(d, x), hn::Set(d, ~((std::uint32_t{1} << WindowBlock::tail_bits) - 1))));
    hn::Store(x, df, block.x.data() + i);
    hn::Store(head, df, block.head.data() + i);
    hn::Store(hn::Sub(x, head), df, block.tail.data() + i);
    hn::Store(hn::BitCast(df, size), df, block.magnitude.data() + i);
    hn::Store(hn::Div(hn::Set(df, 1.0F), hn::BitCast(df, size)), df, block.reciprocal.data() + i);
  }
  block.outside_count = outside;
  block.range = {};
  if (outside < WindowBlock::size)
    block.range = {hn::GetLane(hn::MaxOfLanes(d, most)), hn::GetLane(hn::MinOfLanes(d, least_above)) + least_code(window)};
}

void SplitBlock(const float* values, int window, WindowBlock& block, WindowInput& sums) {
  split_floats(values, window, block);
  const DD d;
  D heads = hn::Zero(d), mixed = hn::Zero(d), tails = hn::Zero(d);
  for (std::size_t i = 0; i < WindowBlock::size; i += hn::Lanes(d)) {
    const D head = load_doubles(block.head.data() + i), tail = load_doubles(block.tail.data() + i);
    heads = hn::MulAdd(head, head, heads);
    mixed = hn::MulAdd(head, tail, mixed);
    tails = hn::MulAdd(tail, tail, tails);
  }
  const int head_unit = window - head_bits, tail_unit = window - Binade::fraction_bits;
  sums.count += WindowBlock::size - block.outside_count;
  sums.heads_squared += in_units(heads, 2 * head_unit);
  sums.heads_by_tails += in_units(mixed, head_unit + tail_unit);
  sums.tails_squared += in_units(tails, 2 * tail_unit);
}

/// Finds the largest quotient exactly where the approximations say that it may be new.
HWY_NOINLINE void update_largest_quotient(const WindowBlock& block, WindowRelative& relative) {
  const DF df;
  const DU d;
  // As in update_largest_quotient() of binades.
  const F threshold = hn::Set(df, static_cast<float>(relative.largest_quotient * (1 - 0x1p-21)));
  const U fractions = hn::Set(d, fraction_mask), known = hn::Set(d, relative.at_largest_quotient);
  Mask found = hn::FirstN(d, 0);
  for (std::size_t i = 0; i < WindowBlock::size; i += hn::Lanes(d)) {
    const F error = hn::Sub(hn::Load(df, block.error_head.data() + i), hn::Load(df, block.tail.data() + i));
    const F near = hn::Mul(hn::Abs(error), hn::Load(df, block.reciprocal.data() + i));
    const U fraction = hn::And(hn::BitCast(d, hn::Load(df, block.x.data() + i)), fractions);
    found = hn::Or(found, hn::And(hn::Ne(fraction, known), hn::RebindMask(d, hn::Gt(near, threshold))));
  }
  if (hn::AllFalse(d, found)) return;
  for (std::size_t i = 0; i < WindowBlock::size; ++i) {
    const double error = static_cast<double>(block.error_head[i]) - static_cast<double>(block.tail[i]);
    const double quotient = std::fabs(error) / static_cast<double>(block.magnitude[i]);
    if (quotient <= relative.largest_quotient) continue;
    relative.largest_quotient = quotient;
    relative.at_largest_quotient = std::bit_cast<std::uint32_t>(block.x[i]) & fraction_mask;
  }
}

/// Rounds, and sums what fits into 32 bits.
HWY_INLINE void round_floats(int dropped, WindowBlock& block, WindowRelative& relative) {
  const DU d;
  const DI di;
  const DF df;
  const U up = hn::Set(d, static_cast<std::uint32_t>(dropped) << Binade::fraction_bits);
  const int exponent = Variant{dropped, Direction::nearest_even}.quotient_exponent();
  Quotients quotients(exponent);
  U inexact = hn::Zero(d);
  F largest = hn::Set(df, relative.largest_size);
  I largest_in_binade = hn::Set(di, relative.largest_in_binade);
  std::size_t steps = 0;
  for (std::size_t i = 0; i < WindowBlock::size; i += hn::Lanes(d), ++steps) {
    const F x = hn::Load(df, block.x.data() + i), magnitude = hn::Load(df, block.magnitude.data() + i);
    // 2^(e + dropped), e the exponent of x: the last bit of its sum with x is that of the rounded number.
    const F grid = hn::BitCast(df, hn::Add(hn::And(hn::BitCast(d, x), hn::Set(d, exponent_mask)), up));
    const F rounded = hn::Sub(hn::Add(x, grid), grid);
    const F size = hn::Abs(hn::Sub(rounded, x));
    hn::Store(hn::Sub(rounded, hn::Load(df, block.head.data() + i)), df, block.error_head.data() + i);
    const U size_code = hn::BitCast(d, size), binade = hn::And(hn::BitCast(d, magnitude), hn::Set(d, exponent_mask));
    inexact = hn::Add(inexact, hn::Min(size_code, hn::Set(d, 1)));
    largest = hn::Max(largest, size);
    largest_in_binade = hn::Max(largest_in_binade, hn::BitCast(di, hn::Sub(size_code, binade)));
    quotients.add(size, magnitude, hn::Load(df, block.reciprocal.data() + i));
  }
  gather(inexact, relative.inexact);
  quotients.finish(steps, relative.quotients);
  relative.quotient_count += WindowBlock::size;
  relative.largest_size = hn::GetLane(hn::MaxOfLanes(df, largest));
  relative.largest_in_binade = hn::GetLane(hn::MaxOfLanes(di, largest_in_binade));
  if (relative.largest_size != 0 && quotients.largest() > relative.largest_quotient - QuotientLanes::grid(exponent))
    update_largest_quotient(block, relative);
}

void AddBlockErrors(int window, int dropped, WindowBlock& block, WindowErrors& sums, WindowRelative& relative) {
  round_floats(dropped, block, relative);
  const DD d;
  D errors = hn::Zero(d), sizes = hn::Zero(d), heads = hn::Zero(d), mixed = hn::Zero(d);
  for (std::size_t i = 0; i < WindowBlock::size; i += hn::Lanes(d)) {
    const D head = load_doubles(block.error_head.data() + i), tail = load_doubles(block.tail.data() + i);
    const D error = hn::Sub(head, tail);
    errors = hn::Add(errors, error);
    sizes = hn::Add(sizes, hn::Abs(error));
    heads = hn::MulAdd(head, head, heads);
    mixed = hn::MulAdd(head, tail, mixed);
  }
  const int head_unit = window - head_bits, tail_unit = window - Binade::fraction_bits;
  sums.errors += in_units(errors, tail_unit);
  sums.sizes += in_units(sizes, tail_unit);
  sums.error_heads_squared += in_units(heads, 2 * head_unit);
  sums.error_heads_by_tails += in_units(mixed, head_unit + tail_unit);
}

#endif  // vectors

}  // namespace ulpscope::studies::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ulpscope::studies {
namespace {

HWY_EXPORT(SplitBlock);
HWY_EXPORT(AddBlockErrors);

}  // namespace

void split_block(std::span<const float, WindowBlock::size> values, int window, WindowBlock& block, WindowInput& sums) {
  HWY_DYNAMIC_DISPATCH(SplitBlock)(values.data(), window, block, sums);
}
void add_block_errors(int window, int dropped, WindowBlock& block, WindowErrors& sums, WindowRelative& relative) {
  HWY_DYNAMIC_DISPATCH(AddBlockErrors)(window, dropped, block, sums, relative);
}

}  // namespace ulpscope::studies
#endif
