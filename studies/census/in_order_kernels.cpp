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
using D = hn::Vec<DD>;
using Mask = hn::Mask<DD>;
using emu::detail::HWY_NAMESPACE::exact_floats;

constexpr std::size_t lanes = hn::MaxLanes(DD()), vectors = InOrderBlock::sum_lanes / lanes;
static_assert(InOrderBlock::sum_lanes % lanes == 0);

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

HWY_INLINE void add_all(const InOrderBlock& block, const InOrderQuestion& question, InOrderSums& sums, PlainCounts& counts) {
  const DD d;
  const hn::RebindToUnsigned<DD> du;
  const D zero = hn::Zero(d), infinity = set(std::numeric_limits<double>::infinity());
  const D min_normal = set(question.min_normal), in_range = set(question.in_range);
  // |x| 2^-e, e the exponent of the product's binade but no less than the format's least: the powers have no fraction bits.
  const D least_binade = set(std::bit_cast<double>(static_cast<std::uint64_t>(1023 + question.min_exponent) << 52));
  const D per_spacing = set(std::bit_cast<double>(static_cast<std::uint64_t>(1023 + question.fraction_bits) << 52));
  const auto exponent_field = hn::Set(du, std::uint64_t{0x7ff} << 52), twice_bias = hn::Set(du, std::uint64_t{2046} << 52);

  Sum input(sums.input), error_squares(sums.error), signed_error(sums.signed_error), abs_error(sums.abs_error),
      rel_error(sums.rel_error), saturating(sums.saturating_error);
  D max_abs = set(counts.max_abs), max_rel = set(counts.max_rel), max_ulp = set(counts.max_ulp), largest = set(counts.largest),
    smallest = set(counts.smallest);
  std::size_t zeros = 0, to_zero = 0, below_normal = 0, exact = 0, overflows = 0;
  for (std::size_t i = 0; i < block.count; i += InOrderBlock::sum_lanes)
    for (std::size_t k = 0; k < vectors; ++k) {
      const std::size_t at = i + k * lanes;
      const D x = hn::Load(d, block.x.data() + at), product = hn::Load(d, block.product.data() + at);
      const D scaled = hn::Load(d, block.scaled.data() + at), value = hn::Load(d, block.value.data() + at);
      const D error = hn::Load(d, block.error.data() + at), magnitude = hn::Abs(x), size = hn::Abs(error);
      const D square = hn::Mul(error, error);
      input.part[k] = hn::Add(input.part[k], hn::Mul(x, x));
      error_squares.part[k] = hn::Add(error_squares.part[k], square);
      saturating.part[k] = hn::Add(saturating.part[k], square);
      signed_error.part[k] = hn::Add(signed_error.part[k], error);
      abs_error.part[k] = hn::Add(abs_error.part[k], size);
      const Mask is_zero = hn::Eq(x, zero);
      const D relative = hn::IfThenZeroElse(is_zero, hn::Div(size, magnitude));
      rel_error.part[k] = hn::Add(rel_error.part[k], relative);
      const D binade = hn::BitCast(d, hn::And(hn::BitCast(du, hn::Max(hn::Abs(product), least_binade)), exponent_field));
      const D inverse = hn::BitCast(d, hn::Sub(twice_bias, hn::BitCast(du, binade)));
      const D ulps = hn::Mul(hn::Mul(hn::Abs(hn::Sub(value, product)), inverse), per_spacing);
      max_abs = hn::Max(max_abs, size);
      max_rel = hn::Max(max_rel, relative);
      max_ulp = hn::Max(max_ulp, ulps);
      largest = hn::Max(largest, magnitude);
      smallest = hn::Min(smallest, hn::IfThenElse(is_zero, infinity, magnitude));
      const Mask is_below = hn::Lt(hn::Abs(value), min_normal);
      overflows += hn::CountTrue(d, hn::Gt(hn::Abs(scaled), in_range));
      zeros += hn::CountTrue(d, is_zero);
      to_zero += hn::CountTrue(d, hn::Eq(value, zero));
      below_normal += hn::CountTrue(d, is_below);
      exact += hn::CountTrue(d, hn::AndNot(is_below, hn::Eq(value, scaled)));
    }
  input.store(sums.input), error_squares.store(sums.error), saturating.store(sums.saturating_error);
  signed_error.store(sums.signed_error), abs_error.store(sums.abs_error), rel_error.store(sums.rel_error);
  const std::size_t behind = (InOrderBlock::sum_lanes - block.count % InOrderBlock::sum_lanes) % InOrderBlock::sum_lanes;
  counts.zeros += zeros - behind;
  counts.to_zero += to_zero - behind;
  counts.below_normal += below_normal - behind;
  counts.exact += exact;
  counts.overflows += overflows;
  const auto greatest = [&](D v) HWY_ATTR { return hn::GetLane(hn::MaxOfLanes(d, v)); };
  counts.max_abs = greatest(max_abs), counts.max_rel = greatest(max_rel), counts.max_ulp = greatest(max_ulp);
  counts.largest = greatest(largest), counts.smallest = hn::GetLane(hn::MinOfLanes(d, smallest));
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
float amax_of(std::span<const float> values) {
  float result = 0;
  HWY_DYNAMIC_DISPATCH(Amax)(values, result);
  return result;
}

}  // namespace ulpscope::studies
#endif
