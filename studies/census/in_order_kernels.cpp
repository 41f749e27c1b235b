// SPDX-License-Identifier: Apache-2.0
// Compiles the vector loops for each instruction set, and calls those of the path in force.
#include "studies/census/in_order_kernels.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "studies/census/in_order_kernels.cpp"
#include <hwy/foreach_target.h>
// foreach_target.h comes first
#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <limits>

#include "emu/magnitude.hpp"
#include "emu/simd_targets-inl.hpp"
#include "studies/census/error_sums.hpp"

HWY_BEFORE_NAMESPACE();
namespace ulpscope::studies::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using DD = emu::detail::HWY_NAMESPACE::VectorTag<double>;
using DHalf = hn::Rebind<float, DD>;
using DFloat = emu::detail::HWY_NAMESPACE::VectorTag<float>;
using D = hn::Vec<DD>;
using Mask = hn::Mask<DD>;
using emu::detail::HWY_NAMESPACE::exact_floats;

constexpr std::size_t lanes = hn::MaxLanes(DD()), vectors = InOrderBlock::sum_lanes / lanes;
static_assert(InOrderBlock::sum_lanes % hn::MaxLanes(DFloat()) == 0);

HWY_INLINE D load(const float* from) { return hn::PromoteTo(DD(), hn::LoadU(DHalf(), from)); }
HWY_INLINE D load(const double* from) { return hn::LoadU(DD(), from); }
HWY_INLINE D set(double x) { return hn::Set(DD(), x); }

/// Places from the last element on, as many as a vector may reach, hold zeros again.
HWY_INLINE void clear_end(std::size_t count, InOrderBlock::Numbers& numbers) {
  std::fill_n(numbers.begin() + static_cast<std::ptrdiff_t>(count), InOrderBlock::sum_lanes, 0.0);
}

/// Calls step(i) for each vector of a run, the last of which may reach into the next one: runs come in order.
template <class Step>
HWY_INLINE void for_each_vector(const ScaleRun& run, Step step) {
  for (std::size_t i = run.begin; i < run.end; i += lanes) step(i);
}

template <class Float>
HWY_INLINE void multiply_all(std::span<const Float> values, std::span<const ScaleRun> runs, const InOrderQuestion& question,
                             InOrderBlock& block) {
  const DD d;
  block.count = values.size();
  std::size_t i = 0;
  for (; i + lanes <= values.size(); i += lanes) hn::Store(load(values.data() + i), d, block.x.data() + i);
  for (; i < values.size(); ++i) block.x[i] = static_cast<double>(values[i]);
  clear_end(block.count, block.x);

  const D sign = set(-0.0);
  for (const ScaleRun& run : runs) {
    // A block whose stored scale is 0 has zeros for its elements; the product tells how far from them it is.
    const bool is_lost = run.scale.numerator == 0, in_float = question.in_float && !is_lost;
    const D factor = set(in_float ? static_cast<double>(static_cast<float>(run.scale.multiply)) : run.scale.multiply);
    const D divisor = set(run.scale.divide);
    const bool divides = run.scale.divide != 1;
    const D zero_below = set(is_lost ? std::numeric_limits<double>::infinity() : question.least_input);
    for_each_vector(run, [&](std::size_t at) HWY_ATTR {
      const D x = hn::LoadU(d, block.x.data() + at);
      D product = divides ? hn::Div(x, divisor) : hn::Mul(x, factor);
      if (in_float) product = hn::PromoteTo(d, exact_floats(d, product));
      const Mask to_zero = hn::And(hn::Ne(x, hn::Zero(d)), hn::Lt(hn::Abs(x), zero_below));
      hn::StoreU(product, d, block.product.data() + at);
      hn::StoreU(hn::IfThenElse(to_zero, hn::And(x, sign), product), d, block.scaled.data() + at);
    });
  }
  clear_end(block.count, block.product);
  clear_end(block.count, block.scaled);
}

HWY_INLINE void unscale_all(std::span<const ScaleRun> runs, InOrderBlock& block) {
  const DD d;
  for (const ScaleRun& run : runs) {
    const D numerator = set(run.scale.numerator), denominator = set(run.scale.denominator);
    const bool divides = run.scale.denominator != 1;
    for_each_vector(run, [&](std::size_t at) HWY_ATTR {
      D y = hn::Mul(hn::LoadU(d, block.value.data() + at), numerator);
      if (divides) y = hn::Div(y, denominator);
      hn::StoreU(hn::Sub(y, hn::LoadU(d, block.x.data() + at)), d, block.error.data() + at);
    });
  }
  clear_end(block.count, block.error);
  clear_end(block.count, block.value);
}

HWY_INLINE bool all_plain(const InOrderBlock& block, const InOrderQuestion& question) {
  const DD d;
  const D least = set(SquareSum::least_ordinary), most = set(SquareSum::most_ordinary);
  const D in_range = set(question.in_range), beyond = set(question.beyond), greatest = set(std::numeric_limits<double>::max());
  const auto squares_well = [&](D x) HWY_ATTR {
    const D size = hn::Abs(x);
    return hn::Or(hn::Eq(x, hn::Zero(d)), hn::And(hn::Ge(size, least), hn::Le(size, most)));
  };
  Mask plain = hn::Eq(least, least);
  for (std::size_t i = 0; i < block.count; i += lanes) {
    const D scaled = hn::Abs(hn::Load(d, block.scaled.data() + i)), product = hn::Abs(hn::Load(d, block.product.data() + i));
    const Mask squares =
        hn::And(squares_well(hn::Load(d, block.x.data() + i)), squares_well(hn::Load(d, block.error.data() + i)));
    const Mask known = hn::And(hn::Or(hn::Le(scaled, in_range), hn::Gt(scaled, beyond)), hn::Le(product, greatest));
    plain = hn::And(plain, hn::And(squares, known));
  }
  return hn::AllTrue(d, plain);
}

/// Of a sum's lanes.
struct Sum {
  D part[vectors];

  HWY_INLINE explicit Sum(const InOrderSums::Lanes& from) {
    for (std::size_t k = 0; k < vectors; ++k) part[k] = hn::Load(DD(), from.data() + k * lanes);
  }
  HWY_INLINE void store(InOrderSums::Lanes& to) const {
    for (std::size_t k = 0; k < vectors; ++k) hn::Store(part[k], DD(), to.data() + k * lanes);
  }
};

/// What a plain block adds, while its elements pass sixteen at a time.
class PlainSums {
 public:
  HWY_INLINE PlainSums(const InOrderQuestion& question, const InOrderSums& sums, const PlainCounts& counts)
      : input_(sums.input),
        error_squares_(sums.error),
        saturating_(sums.saturating_error),
        signed_error_(sums.signed_error),
        abs_error_(sums.abs_error),
        rel_error_(sums.rel_error),
        max_abs_(set(counts.max_abs)),
        max_rel_(set(counts.max_rel)),
        max_ulp_(set(counts.max_ulp)),
        least_binade_(set(std::bit_cast<double>(static_cast<std::uint64_t>(1023 + question.min_exponent) << 52))),
        exponent_field_(hn::Set(DU64(), std::uint64_t{0x7ff} << 52)),
        twice_bias_(hn::Set(DU64(), static_cast<std::uint64_t>(2046 + question.fraction_bits) << 52)) {}

  /// Elements of vector k of sixteen: the input, its magnitude and whether that is 0, the product, what it was rounded to.
  HWY_INLINE void add(std::size_t k, D x, D magnitude, Mask is_zero, D product, D value, D error) {
    const DD d;
    const D size = hn::Abs(error), square = hn::Mul(error, error);
    input_.part[k] = hn::Add(input_.part[k], hn::Mul(x, x));
    error_squares_.part[k] = hn::Add(error_squares_.part[k], square);
    saturating_.part[k] = hn::Add(saturating_.part[k], square);
    signed_error_.part[k] = hn::Add(signed_error_.part[k], error);
    abs_error_.part[k] = hn::Add(abs_error_.part[k], size);
    const D relative = hn::IfThenZeroElse(is_zero, hn::Div(size, magnitude));
    rel_error_.part[k] = hn::Add(rel_error_.part[k], relative);
    // |x| 2^(fraction bits - e), e the exponent of the product's binade but no less than the format's least.
    const auto binade = hn::And(hn::BitCast(DU64(), hn::Max(hn::Abs(product), least_binade_)), exponent_field_);
    const D per_spacing = hn::BitCast(d, hn::Sub(twice_bias_, binade));
    max_abs_ = hn::Max(max_abs_, size);
    max_rel_ = hn::Max(max_rel_, relative);
    max_ulp_ = hn::Max(max_ulp_, hn::Mul(hn::Abs(hn::Sub(value, product)), per_spacing));
  }

  HWY_INLINE void store(InOrderSums& sums, PlainCounts& counts) const {
    input_.store(sums.input), error_squares_.store(sums.error), saturating_.store(sums.saturating_error);
    signed_error_.store(sums.signed_error), abs_error_.store(sums.abs_error), rel_error_.store(sums.rel_error);
    const auto greatest = [&](D v) HWY_ATTR { return hn::GetLane(hn::MaxOfLanes(DD(), v)); };
    counts.max_abs = greatest(max_abs_), counts.max_rel = greatest(max_rel_), counts.max_ulp = greatest(max_ulp_);
  }

 private:
  using DU64 = hn::RebindToUnsigned<DD>;

  Sum input_, error_squares_, saturating_, signed_error_, abs_error_, rel_error_;
  D max_abs_, max_rel_, max_ulp_, least_binade_;
  hn::Vec<DU64> exponent_field_, twice_bias_;
};

/// What it counts, and the extremes of its inputs, in vectors of a tag.
template <class Tag>
class PlainTally {
 public:
  using V = hn::Vec<Tag>;
  using T = hn::TFromD<Tag>;

  HWY_INLINE PlainTally(const InOrderQuestion& question, const PlainCounts& counts)
      : min_normal_(hn::Set(Tag(), static_cast<T>(question.min_normal))),
        largest_(hn::Set(Tag(), static_cast<T>(counts.largest))),
        smallest_(hn::Set(Tag(), static_cast<T>(counts.smallest))) {}

  HWY_INLINE void add(V magnitude, hn::Mask<Tag> is_zero, V scaled, V value) {
    const Tag d;
    largest_ = hn::Max(largest_, magnitude);
    smallest_ = hn::Min(smallest_, hn::IfThenElse(is_zero, hn::Inf(d), magnitude));
    const auto is_below = hn::Lt(hn::Abs(value), min_normal_);
    zeros_ += hn::CountTrue(d, is_zero);
    to_zero_ += hn::CountTrue(d, hn::Eq(value, hn::Zero(d)));
    below_normal_ += hn::CountTrue(d, is_below);
    exact_ += hn::CountTrue(d, hn::AndNot(is_below, hn::Eq(value, scaled)));
  }

  /// `count`: the elements of the block, behind which zeros were added up to a multiple of sixteen.
  HWY_INLINE void store(std::size_t count, PlainCounts& counts) const {
    const std::size_t behind = (InOrderBlock::sum_lanes - count % InOrderBlock::sum_lanes) % InOrderBlock::sum_lanes;
    counts.zeros += zeros_ - behind;
    counts.to_zero += to_zero_ - behind;
    counts.below_normal += below_normal_ - behind;
    counts.exact += exact_;
    counts.largest = static_cast<double>(hn::GetLane(hn::MaxOfLanes(Tag(), largest_)));
    counts.smallest = static_cast<double>(hn::GetLane(hn::MinOfLanes(Tag(), smallest_)));
  }

 private:
  V min_normal_, largest_, smallest_;
  std::size_t zeros_ = 0, to_zero_ = 0, below_normal_ = 0, exact_ = 0;
};

HWY_INLINE void add_all(const InOrderBlock& block, const InOrderQuestion& question, InOrderSums& sums, PlainCounts& counts) {
  const DD d;
  PlainSums plain(question, sums, counts);
  PlainTally<DD> tally(question, counts);
  const D in_range = set(question.in_range);
  std::size_t overflows = 0;
  for (std::size_t i = 0; i < block.count; i += InOrderBlock::sum_lanes)
    for (std::size_t k = 0; k < vectors; ++k) {
      const std::size_t at = i + k * lanes;
      const D x = hn::Load(d, block.x.data() + at), magnitude = hn::Abs(x);
      const D scaled = hn::Load(d, block.scaled.data() + at), value = hn::Load(d, block.value.data() + at);
      const Mask is_zero = hn::Eq(x, hn::Zero(d));
      plain.add(k, x, magnitude, is_zero, hn::Load(d, block.product.data() + at), value, hn::Load(d, block.error.data() + at));
      tally.add(magnitude, is_zero, scaled, value);
      overflows += hn::CountTrue(d, hn::Gt(hn::Abs(scaled), in_range));
    }
  plain.store(sums, counts);
  tally.store(block.count, counts);
  counts.overflows += overflows;
}

template <bool has_scale>
HWY_INLINE void add_floats(const FloatBlock& block, const InOrderQuestion& question, InOrderSums& sums, PlainCounts& counts) {
  const DD d;
  const DFloat df;
  constexpr std::size_t sum_lanes = InOrderBlock::sum_lanes;
  const D numerator = set(block.scale.numerator), denominator = set(block.scale.denominator);
  PlainSums plain(question, sums, counts);
  PlainTally<DFloat> tally(question, counts);
  const auto add = [&](const float* of_x, const float* of_product, const float* of_value) HWY_ATTR {
    for (std::size_t at = 0; at < sum_lanes; at += hn::MaxLanes(df)) {
      const auto x = hn::LoadU(df, of_x + at);
      tally.add(hn::Abs(x), hn::Eq(x, hn::Zero(df)), hn::LoadU(df, of_product + at), hn::LoadU(df, of_value + at));
    }
    for (std::size_t k = 0; k < vectors; ++k) {
      const D x = load(of_x + k * lanes), value = load(of_value + k * lanes),
              product = has_scale ? load(of_product + k * lanes) : x;
      const D y = has_scale ? hn::Div(hn::Mul(value, numerator), denominator) : value;
      plain.add(k, x, hn::Abs(x), hn::Eq(x, hn::Zero(d)), product, value, hn::Sub(y, x));
    }
  };
  const std::size_t count = block.x.size(), whole = count - count % sum_lanes;
  for (std::size_t i = 0; i < whole; i += sum_lanes) add(block.x.data() + i, block.product.data() + i, block.value.data() + i);
  if (whole != count) {
    float rest[3][sum_lanes] = {};
    std::copy(block.x.begin() + static_cast<std::ptrdiff_t>(whole), block.x.end(), rest[0]);
    std::copy(block.product.begin() + static_cast<std::ptrdiff_t>(whole), block.product.end(), rest[1]);
    std::copy(block.value.begin() + static_cast<std::ptrdiff_t>(whole), block.value.end(), rest[2]);
    add(rest[0], rest[1], rest[2]);
  }
  plain.store(sums, counts);
  tally.store(count, counts);
}

HWY_INLINE bool all_within(double most, std::span<const float> products) {
  const hn::RebindToUnsigned<DFloat> d;
  const auto no_sign = hn::Set(d, 0x7fffffffU);
  const auto* const codes = reinterpret_cast<const std::uint32_t*>(products.data());
  auto greatest = hn::Zero(d);
  std::size_t i = 0;
  for (; i + hn::Lanes(d) <= products.size(); i += hn::Lanes(d))
    greatest = hn::Max(greatest, hn::And(hn::LoadU(d, codes + i), no_sign));
  for (; i < products.size(); ++i) greatest = hn::Max(greatest, hn::And(hn::Set(d, codes[i]), no_sign));
  return static_cast<double>(std::bit_cast<float>(hn::GetLane(hn::MaxOfLanes(d, greatest)))) <= most;  // not so of a NaN
}

HWY_INLINE void multiply_floats(std::span<const float> values, float factor, std::span<float> products) {
  const DFloat d;
  std::size_t i = 0;
  for (; i + hn::Lanes(d) <= values.size(); i += hn::Lanes(d))
    hn::StoreU(hn::Mul(hn::LoadU(d, values.data() + i), hn::Set(d, factor)), d, products.data() + i);
  for (; i < values.size(); ++i) products[i] = values[i] * factor;
}

HWY_INLINE float amax(std::span<const float> values) {
  const hn::RebindToUnsigned<emu::detail::HWY_NAMESPACE::VectorTag<float>> d;
  const auto infinity = hn::Set(d, 0x7f800000u), no_sign = hn::Set(d, 0x7fffffffu);
  const auto* const codes = reinterpret_cast<const std::uint32_t*>(values.data());
  auto greatest = hn::Zero(d);
  std::size_t i = 0;
  for (; i + hn::Lanes(d) <= values.size(); i += hn::Lanes(d)) {
    const auto magnitude = hn::And(hn::LoadU(d, codes + i), no_sign);
    greatest = hn::Max(greatest, hn::IfThenZeroElse(hn::Gt(magnitude, infinity), magnitude));
  }
  const float rest = emu::greatest_magnitude(values.subspan(i));
  return std::max(rest, std::bit_cast<float>(hn::GetLane(hn::MaxOfLanes(d, greatest))));
}

}  // namespace

void Amax(std::span<const float> values, float& result) { result = amax(values); }
void MultiplyFloats(std::span<const float> values, std::span<const ScaleRun> runs, const InOrderQuestion& question,
                    InOrderBlock& block) {
  multiply_all(values, runs, question, block);
}
void MultiplyDoubles(std::span<const double> values, std::span<const ScaleRun> runs, const InOrderQuestion& question,
                     InOrderBlock& block) {
  multiply_all(values, runs, question, block);
}
void Unscale(std::span<const ScaleRun> runs, InOrderBlock& block) { unscale_all(runs, block); }
void IsPlain(const InOrderBlock& block, const InOrderQuestion& question, bool& result) { result = all_plain(block, question); }
void AddPlain(const InOrderBlock& block, const InOrderQuestion& question, InOrderSums& sums, PlainCounts& counts) {
  add_all(block, question, sums, counts);
}
void MultiplyByFactor(std::span<const float> values, float factor, std::span<float> products) {
  multiply_floats(values, factor, products);
}
void AreWithin(double most, std::span<const float> products, bool& result) { result = all_within(most, products); }
void AddFloats(const FloatBlock& block, const InOrderQuestion& question, InOrderSums& sums, PlainCounts& counts) {
  if (block.scale.numerator == 1 && block.scale.denominator == 1 && block.product.data() == block.x.data())
    add_floats<false>(block, question, sums, counts);
  else
    add_floats<true>(block, question, sums, counts);
}

}  // namespace ulpscope::studies::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ulpscope::studies {
namespace {

HWY_EXPORT(Amax);
HWY_EXPORT(MultiplyFloats);
HWY_EXPORT(MultiplyDoubles);
HWY_EXPORT(Unscale);
HWY_EXPORT(IsPlain);
HWY_EXPORT(AddPlain);
HWY_EXPORT(MultiplyByFactor);
HWY_EXPORT(AreWithin);
HWY_EXPORT(AddFloats);

}  // namespace

void multiply(std::span<const float> values, std::span<const ScaleRun> runs, const InOrderQuestion& question,
              InOrderBlock& block) {
  HWY_DYNAMIC_DISPATCH(MultiplyFloats)(values, runs, question, block);
}
void multiply(std::span<const double> values, std::span<const ScaleRun> runs, const InOrderQuestion& question,
              InOrderBlock& block) {
  HWY_DYNAMIC_DISPATCH(MultiplyDoubles)(values, runs, question, block);
}
void unscale(std::span<const ScaleRun> runs, InOrderBlock& block) { HWY_DYNAMIC_DISPATCH(Unscale)(runs, block); }
bool is_plain(const InOrderBlock& block, const InOrderQuestion& question) {
  bool result = false;
  HWY_DYNAMIC_DISPATCH(IsPlain)(block, question, result);
  return result;
}
void add_plain(const InOrderBlock& block, const InOrderQuestion& question, InOrderSums& sums, PlainCounts& counts) {
  HWY_DYNAMIC_DISPATCH(AddPlain)(block, question, sums, counts);
}
void multiply(std::span<const float> values, float factor, std::span<float> products) {
  HWY_DYNAMIC_DISPATCH(MultiplyByFactor)(values, factor, products);
}
bool are_within(double most, std::span<const float> products) {
  bool result = false;
  HWY_DYNAMIC_DISPATCH(AreWithin)(most, products, result);
  return result;
}
void add_plain(const FloatBlock& block, const InOrderQuestion& question, InOrderSums& sums, PlainCounts& counts) {
  HWY_DYNAMIC_DISPATCH(AddFloats)(block, question, sums, counts);
}
float amax_of(std::span<const float> values) {
  float result = 0;
  HWY_DYNAMIC_DISPATCH(Amax)(values, result);
  return result;
}

}  // namespace ulpscope::studies
#endif
