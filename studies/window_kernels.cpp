// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>

#include "studies/window.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "studies/window_kernels.cpp"
#include <hwy/foreach_target.h>
// foreach_target.h comes first
#include <hwy/cache_control.h>
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

/// Fetches a quarter of the next block, spread over a loop of which i is the place in this block: there are four such loops.
HWY_INLINE void fetch_ahead(const WindowBlock& block, std::size_t quarter, std::size_t i) {
  hwy::Prefetch(block.next + quarter * (WindowBlock::size / 4) + i / 4);
}

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
    fetch_ahead(block, 0, i);
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
  D heads = hn::Zero(d), mixed = hn::Zero(d), tails_squared = hn::Zero(d), tails = hn::Zero(d);
  D heads2 = hn::Zero(d), mixed2 = hn::Zero(d), tails_squared2 = hn::Zero(d);
  for (std::size_t i = 0; i < WindowBlock::size; i += 2 * hn::Lanes(d)) {
    fetch_ahead(block, 1, i);
    const std::size_t j = i + hn::Lanes(d);
    const D head = load_doubles(block.head.data() + i), tail = load_doubles(block.tail.data() + i);
    const D head2 = load_doubles(block.head.data() + j), tail2 = load_doubles(block.tail.data() + j);
    tails = hn::Add(tails, hn::Add(tail, tail2));
    heads = hn::MulAdd(head, head, heads);
    heads2 = hn::MulAdd(head2, head2, heads2);
    mixed = hn::MulAdd(head, tail, mixed);
    mixed2 = hn::MulAdd(head2, tail2, mixed2);
    tails_squared = hn::MulAdd(tail, tail, tails_squared);
    tails_squared2 = hn::MulAdd(tail2, tail2, tails_squared2);
  }
  const int head_unit = window - head_bits, tail_unit = window - Binade::fraction_bits;
  sums.count += WindowBlock::size - block.outside_count;
  sums.tails += in_units(tails, tail_unit);
  sums.heads_squared += in_units(hn::Add(heads, heads2), 2 * head_unit);
  sums.heads_by_tails += in_units(hn::Add(mixed, mixed2), head_unit + tail_unit);
  sums.tails_squared += in_units(hn::Add(tails_squared, tails_squared2), 2 * tail_unit);
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
    const F near = hn::Mul(hn::Load(df, block.error_size.data() + i), hn::Load(df, block.reciprocal.data() + i));
    const U fraction = hn::And(hn::BitCast(d, hn::Load(df, block.x.data() + i)), fractions);
    found = hn::Or(found, hn::And(hn::Ne(fraction, known), hn::RebindMask(d, hn::Gt(near, threshold))));
  }
  if (hn::AllFalse(d, found)) return;
  for (std::size_t i = 0; i < WindowBlock::size; ++i) {
    const double quotient = static_cast<double>(block.error_size[i]) / static_cast<double>(block.magnitude[i]);
    if (quotient <= relative.largest_quotient) continue;
    relative.largest_quotient = quotient;
    relative.at_largest_quotient = std::bit_cast<std::uint32_t>(block.x[i]) & fraction_mask;
  }
}

/// Rounds, and counts and compares errors. The quotients have a loop of their own: a processor looks ahead no farther than a
/// few of such long chains.
HWY_INLINE void round_floats(int dropped, WindowBlock& block, WindowRelative& relative) {
  const DU d;
  const DI di;
  const DF df;
  const U up = hn::Set(d, static_cast<std::uint32_t>(dropped) << Binade::fraction_bits);
  U inexact = hn::Zero(d);
  F largest = hn::Set(df, relative.largest_size);
  I largest_in_binade = hn::Set(di, relative.largest_in_binade);
  for (std::size_t i = 0; i < WindowBlock::size; i += hn::Lanes(d)) {
    fetch_ahead(block, 2, i);
    const F x = hn::Load(df, block.x.data() + i), magnitude = hn::Load(df, block.magnitude.data() + i);
    // 2^(e + dropped), e the exponent of x: the last bit of its sum with x is that of the rounded number.
    const F grid = hn::BitCast(df, hn::Add(hn::And(hn::BitCast(d, x), hn::Set(d, exponent_mask)), up));
    const F rounded = hn::Sub(hn::Add(x, grid), grid);
    const F size = hn::Abs(hn::Sub(rounded, x));
    hn::Store(hn::Sub(rounded, hn::Load(df, block.head.data() + i)), df, block.error_head.data() + i);
    hn::Store(size, df, block.error_size.data() + i);
    const U size_code = hn::BitCast(d, size), binade = hn::And(hn::BitCast(d, magnitude), hn::Set(d, exponent_mask));
    inexact = hn::Add(inexact, hn::Min(size_code, hn::Set(d, 1)));
    largest = hn::Max(largest, size);
    largest_in_binade = hn::Max(largest_in_binade, hn::BitCast(di, hn::Sub(size_code, binade)));
  }
  gather(inexact, relative.inexact);
  relative.largest_size = hn::GetLane(hn::MaxOfLanes(df, largest));
  relative.largest_in_binade = hn::GetLane(hn::MaxOfLanes(di, largest_in_binade));
}

void AddBlockErrors(int window, int dropped, WindowBlock& block, WindowErrors& sums, WindowRelative& relative) {
  round_floats(dropped, block, relative);
  const DD d;
  const DF df;
  const int exponent = Variant{dropped, Direction::nearest_even}.quotient_exponent();
  Quotients quotients(exponent);
  D errors = hn::Zero(d), heads = hn::Zero(d), mixed = hn::Zero(d);
  D sizes = hn::Zero(d), sizes2 = hn::Zero(d), heads2 = hn::Zero(d), mixed2 = hn::Zero(d);
  for (std::size_t i = 0; i < WindowBlock::size; i += hn::Lanes(df)) {
    fetch_ahead(block, 3, i);
    quotients.add(hn::Load(df, block.error_size.data() + i), hn::Load(df, block.magnitude.data() + i),
                  hn::Load(df, block.reciprocal.data() + i));
    const std::size_t j = i + hn::Lanes(d);
    const D head = load_doubles(block.error_head.data() + i), tail = load_doubles(block.tail.data() + i);
    const D head2 = load_doubles(block.error_head.data() + j), tail2 = load_doubles(block.tail.data() + j);
    errors = hn::Add(errors, hn::Add(head, head2));
    sizes = hn::Add(sizes, load_doubles(block.error_size.data() + i));
    sizes2 = hn::Add(sizes2, load_doubles(block.error_size.data() + j));
    heads = hn::MulAdd(head, head, heads);
    heads2 = hn::MulAdd(head2, head2, heads2);
    mixed = hn::MulAdd(head, tail, mixed);
    mixed2 = hn::MulAdd(head2, tail2, mixed2);
  }
  quotients.finish(WindowBlock::size / hn::Lanes(df), relative.quotients);
  relative.quotient_count += WindowBlock::size;
  if (relative.largest_size != 0 && quotients.largest() > relative.largest_quotient - QuotientLanes::grid(exponent))
    update_largest_quotient(block, relative);

  const int head_unit = window - head_bits, tail_unit = window - Binade::fraction_bits;
  sums.error_heads += in_units(errors, head_unit);
  sums.sizes += in_units(hn::Add(sizes, sizes2), tail_unit);
  sums.error_heads_squared += in_units(hn::Add(heads, heads2), 2 * head_unit);
  sums.error_heads_by_tails += in_units(hn::Add(mixed, mixed2), head_unit + tail_unit);
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
