// SPDX-License-Identifier: Apache-2.0
// The loops of window.hpp for one SIMD target. To be included by what foreach_target.h includes again and again.
#if defined(ULPSCOPE_STUDIES_WINDOW_VECTORS) == defined(HWY_TARGET_TOGGLE)
#ifdef ULPSCOPE_STUDIES_WINDOW_VECTORS
#undef ULPSCOPE_STUDIES_WINDOW_VECTORS
#else
#define ULPSCOPE_STUDIES_WINDOW_VECTORS
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <bit>
#include <cstddef>
#include <cstdint>

#include "studies/census/lanes-inl.hpp"
#include "studies/census/window.hpp"

#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128

HWY_BEFORE_NAMESPACE();
namespace ulpscope::studies::HWY_NAMESPACE {

using DD = hn::RepartitionToWide<DF>;
using D = hn::Vec<DD>;
using DHalf = hn::Rebind<float, DD>;

constexpr int head_bits = Binade::fraction_bits - WindowBlock::tail_bits;
constexpr std::uint32_t no_sign = 0x7fffffff, exponent_mask = 0xff800000;

constexpr bool compresses_fast = HWY_TARGET == HWY_AVX3;  ///< so that a branch, often mispredicted, costs more

std::uint32_t least_code(int window) { return static_cast<std::uint32_t>(window + 127) << Binade::fraction_bits; }

/// Fetches a quarter of the next block, spread over a loop of which i is the place in this block: there are four such loops.
HWY_INLINE void fetch_ahead(const float* next, std::size_t quarter, std::size_t i) {
  hwy::Prefetch(next + quarter * (WindowBlock::size / 4) + i / 4);
}

HWY_INLINE D load_doubles(const float* from) { return hn::PromoteTo(DD(), hn::Load(DHalf(), from)); }

/// A sum of multiples of 2^unit, few enough to be exact. Precondition: the result is below 2^53 units.
HWY_INLINE Int128 in_units(D sum, int unit) {
  const double total = hn::GetLane(hn::SumOfLanes(DD(), sum));
  return static_cast<std::int64_t>(total * std::bit_cast<double>(static_cast<std::uint64_t>(1023 - unit) << 52));
}

/// Calls step(i) for the places of a block's vectors. The steps of one block go through several short loops: a processor looks
/// ahead no farther than a few long ones.
template <class Steps>
HWY_INLINE void for_block(const float* next, std::size_t quarter, Steps& steps) {
  for (std::size_t i = 0; i < WindowBlock::size; i += hn::Lanes(DF())) {
    fetch_ahead(next, quarter, i);
    steps.step(i);
  }
}

/// Takes a block apart.
class Splitting {
 public:
  HWY_INLINE Splitting(const float* values, int window, WindowBlock& block)
      : values_(values),
        block_(block),
        least_(hn::Set(DU(), least_code(window))),
        span_(hn::Set(DU(), std::uint32_t{WindowBlock::binades} << Binade::fraction_bits)),
        least_above_(span_),
        most_(hn::Zero(DF())) {}

  HWY_INLINE void step(std::size_t i) {
    const DU d;
    const DF df;
    const U code = hn::BitCast(d, hn::LoadU(df, values_ + i));
    const U magnitude = hn::And(code, hn::Set(d, no_sign));
    const U above = hn::Sub(magnitude, least_);  // wraps around below the window
    const Mask inside = hn::Lt(above, span_), leaves = hn::Not(inside);
    if (compresses_fast || HWY_UNLIKELY(!hn::AllFalse(d, leaves))) {
      hn::StoreU(hn::BitCast(df, hn::Compress(code, leaves)), df, block_.outside.data() + outside_);
      outside_ += hn::CountTrue(d, leaves);
    }
    const U x = hn::IfThenElseZero(inside, code), size = hn::IfThenElse(inside, magnitude, least_);
    least_above_ = hn::Min(least_above_, above);
    most_ = hn::Max(most_, hn::BitCast(df, size));
    const F head = hn::BitCast(df, hn::And(x, hn::Set(d, ~((std::uint32_t{1} << WindowBlock::tail_bits) - 1))));
    hn::Store(hn::BitCast(df, x), df, block_.x.data() + i);
    hn::Store(head, df, block_.head.data() + i);
    hn::Store(hn::Sub(hn::BitCast(df, x), head), df, block_.tail.data() + i);
    hn::Store(hn::BitCast(df, size), df, block_.magnitude.data() + i);
    hn::Store(hn::Div(hn::Set(df, 1.0F), hn::BitCast(df, size)), df, block_.reciprocal.data() + i);
  }

  HWY_INLINE void finish() const {
    const DU d;
    block_.outside_count = outside_;
    block_.range = {};
    if (outside_ < WindowBlock::size)
      block_.range = {std::bit_cast<std::uint32_t>(hn::GetLane(hn::MaxOfLanes(DF(), most_))),
                      hn::GetLane(hn::MinOfLanes(d, least_above_)) + hn::GetLane(least_)};
  }

 private:
  const float* values_;
  WindowBlock& block_;
  std::size_t outside_ = 0;
  U least_, span_, least_above_;
  F most_;
};

/// Sums what Splitting has stored.
class InputSums {
 public:
  explicit HWY_INLINE InputSums(const WindowBlock& block) : block_(block) {
    tails_ = heads_squared_ = products_ = tails_squared_ = heads_squared2_ = products2_ = tails_squared2_ = hn::Zero(DD());
  }

  HWY_INLINE void step(std::size_t i) {
    const std::size_t j = i + hn::Lanes(DD());
    const D head = load_doubles(block_.head.data() + i), head2 = load_doubles(block_.head.data() + j);
    const D tail = load_doubles(block_.tail.data() + i), tail2 = load_doubles(block_.tail.data() + j);
    tails_ = hn::Add(tails_, hn::Add(tail, tail2));
    heads_squared_ = hn::MulAdd(head, head, heads_squared_);
    heads_squared2_ = hn::MulAdd(head2, head2, heads_squared2_);
    products_ = hn::MulAdd(head, tail, products_);
    products2_ = hn::MulAdd(head2, tail2, products2_);
    tails_squared_ = hn::MulAdd(tail, tail, tails_squared_);
    tails_squared2_ = hn::MulAdd(tail2, tail2, tails_squared2_);
  }

  HWY_INLINE void finish(int window, WindowInput& sums) const {
    const int head_unit = window - head_bits, tail_unit = window - Binade::fraction_bits;
    sums.count += WindowBlock::size - block_.outside_count;
    sums.tails += in_units(tails_, tail_unit);
    sums.heads_squared += in_units(hn::Add(heads_squared_, heads_squared2_), 2 * head_unit);
    sums.heads_by_tails += in_units(hn::Add(products_, products2_), head_unit + tail_unit);
    sums.tails_squared += in_units(hn::Add(tails_squared_, tails_squared2_), 2 * tail_unit);
  }

 private:
  const WindowBlock& block_;
  D tails_, heads_squared_, products_, tails_squared_, heads_squared2_, products2_, tails_squared2_;
};

HWY_INLINE void split_block(const float* values, int window, WindowBlock& block, WindowInput& sums) {
  Splitting splitting(values, window, block);
  InputSums input(block);
  for_block(block.next, 0, splitting);
  for_block(block.next, 1, input);
  splitting.finish();
  input.finish(window, sums);
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

/// Rounds, and counts errors; compares them where a larger one may be found.
template <bool compares>
class RoundingStep {
 public:
  HWY_INLINE RoundingStep(int dropped, WindowBlock& block, const WindowRelative& relative)
      : block_(block),
        up_(hn::Set(DU(), static_cast<std::uint32_t>(dropped) << Binade::fraction_bits)),
        inexact_(hn::Zero(DU())),
        largest_(hn::Set(DF(), relative.largest_size)),
        largest_in_binade_(hn::Set(DI(), relative.largest_in_binade)) {}

  HWY_INLINE void step(std::size_t i) {
    const DU d;
    const DF df;
    const U exponent = hn::Set(d, exponent_mask);
    const F x = hn::Load(df, block_.x.data() + i), magnitude = hn::Load(df, block_.magnitude.data() + i);
    // 2^(e + dropped), e the exponent of x: the last bit of its sum with x is that of the rounded number.
    const F grid = hn::BitCast(df, hn::Add(hn::And(hn::BitCast(d, x), exponent), up_));
    const F rounded = hn::Sub(hn::Add(x, grid), grid);
    const F size = hn::Abs(hn::Sub(rounded, x));
    hn::Store(hn::Sub(rounded, hn::Load(df, block_.head.data() + i)), df, block_.error_head.data() + i);
    hn::Store(size, df, block_.error_size.data() + i);
    if constexpr (compares) {
      const U in_binade = hn::Sub(hn::BitCast(d, size), hn::And(hn::BitCast(d, magnitude), exponent));
      largest_ = hn::Max(largest_, size);
      largest_in_binade_ = hn::Max(largest_in_binade_, hn::BitCast(DI(), in_binade));
    }
    // The least positive float, whose code is 1, or 0; the minimum of floats has more execution units than that of integers.
    inexact_ = hn::Add(inexact_, hn::BitCast(d, hn::Min(size, hn::BitCast(df, hn::Set(d, 1)))));
  }

  HWY_INLINE void finish(WindowRelative& relative) const {
    gather(inexact_, relative.inexact);
    if constexpr (!compares) return;
    relative.largest_size = hn::GetLane(hn::MaxOfLanes(DF(), largest_));
    relative.largest_in_binade = hn::GetLane(hn::MaxOfLanes(DI(), largest_in_binade_));
  }

 private:
  WindowBlock& block_;
  U up_, inexact_;
  F largest_;
  I largest_in_binade_;
};

/// Sums what RoundingStep has stored.
class ErrorSumming {
 public:
  HWY_INLINE ErrorSumming(int dropped, const WindowBlock& block)
      : block_(block), exponent_(Variant{dropped, Direction::nearest_even}.quotient_exponent()), quotients_(exponent_) {
    heads_ = sizes_ = heads_squared_ = products_ = sizes2_ = heads_squared2_ = products2_ = hn::Zero(DD());
  }

  HWY_INLINE void step(std::size_t i) {
    const DF df;
    quotients_.add(hn::Load(df, block_.error_size.data() + i), hn::Load(df, block_.magnitude.data() + i),
                   hn::Load(df, block_.reciprocal.data() + i));
    const std::size_t j = i + hn::Lanes(DD());
    const D head = load_doubles(block_.error_head.data() + i), head2 = load_doubles(block_.error_head.data() + j);
    const D tail = load_doubles(block_.tail.data() + i), tail2 = load_doubles(block_.tail.data() + j);
    heads_ = hn::Add(heads_, hn::Add(head, head2));
    sizes_ = hn::Add(sizes_, load_doubles(block_.error_size.data() + i));
    sizes2_ = hn::Add(sizes2_, load_doubles(block_.error_size.data() + j));
    heads_squared_ = hn::MulAdd(head, head, heads_squared_);
    heads_squared2_ = hn::MulAdd(head2, head2, heads_squared2_);
    products_ = hn::MulAdd(head, tail, products_);
    products2_ = hn::MulAdd(head2, tail2, products2_);
  }

  HWY_INLINE void finish(int window, WindowErrors& sums, WindowRelative& relative) const {
    quotients_.finish(WindowBlock::size / hn::Lanes(DF()), relative.quotients);
    relative.quotient_count += WindowBlock::size;
    if (relative.largest_size != 0 && quotients_.largest() > relative.largest_quotient - QuotientLanes::grid(exponent_))
      update_largest_quotient(block_, relative);

    const int head_unit = window - head_bits, tail_unit = window - Binade::fraction_bits;
    sums.error_heads += in_units(heads_, head_unit);
    sums.sizes += in_units(hn::Add(sizes_, sizes2_), tail_unit);
    sums.error_heads_squared += in_units(hn::Add(heads_squared_, heads_squared2_), 2 * head_unit);
    sums.error_heads_by_tails += in_units(hn::Add(products_, products2_), head_unit + tail_unit);
  }

 private:
  const WindowBlock& block_;
  int exponent_;
  Quotients quotients_;
  D heads_, sizes_, heads_squared_, products_, sizes2_, heads_squared2_, products2_;
};

template <bool compares>
void round(int dropped, WindowBlock& block, WindowRelative& relative) {
  RoundingStep<compares> rounding(dropped, block, relative);
  for_block(block.next, 2, rounding);
  rounding.finish(relative);
}

/// Whether an error may be larger than those known. None exceeds half an ulp, and in a large tensor some have just that.
bool may_grow(int window, int dropped, const WindowRelative& relative) {
  const int half_ulp = dropped - 1 - Binade::fraction_bits, last = window + WindowBlock::binades - 1;
  const float largest = std::bit_cast<float>(least_code(last + half_ulp));
  return relative.largest_size < largest || relative.largest_in_binade < half_ulp * (1 << Binade::fraction_bits);
}

HWY_INLINE void add_block_errors(int window, int dropped, WindowBlock& block, WindowErrors& sums, WindowRelative& relative) {
  if (may_grow(window, dropped, relative))
    round<true>(dropped, block, relative);
  else
    round<false>(dropped, block, relative);
  ErrorSumming errors(dropped, block);
  for_block(block.next, 3, errors);
  errors.finish(window, sums, relative);
}

}  // namespace ulpscope::studies::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // vectors

#endif
