// SPDX-License-Identifier: Apache-2.0
// Compiles the loops for each instruction set.
#include "verify/judging_kernels.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "verify/judging_kernels.cpp"
#include <hwy/foreach_target.h>
// foreach_target.h comes first
#include <hwy/highway.h>

#include <bit>
#include <limits>

#include "emu/simd_targets-inl.hpp"
#include "studies/census/error_sums.hpp"

HWY_BEFORE_NAMESPACE();
namespace ulpscope::verify::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using DD = emu::detail::HWY_NAMESPACE::VectorTag<double>;
using D = hn::Vec<DD>;
using Mask = hn::Mask<DD>;
using Numbers = JudgedBlock::Numbers;

constexpr std::size_t lanes = hn::MaxLanes(DD());
static_assert(JudgedBlock::size % lanes == 0);

HWY_INLINE D load(const Numbers& from, std::size_t i) { return hn::Load(DD(), from.data() + i); }
HWY_INLINE void store(D x, Numbers& to, std::size_t i) { hn::Store(x, DD(), to.data() + i); }
HWY_INLINE D set(double x) { return hn::Set(DD(), x); }

/// The least double above x, which is not NaN.
HWY_INLINE D next_up(D x) {
  const DD d;
  const hn::RebindToUnsigned<DD> du;
  const auto word = hn::BitCast(du, x), one = hn::Set(du, 1);
  const D away = hn::BitCast(d, hn::Add(word, one)), toward = hn::BitCast(d, hn::Sub(word, one));
  const D next = hn::IfThenElse(hn::Gt(x, hn::Zero(d)), away, toward);
  const D moved = hn::IfThenElse(hn::Eq(x, hn::Zero(d)), set(std::numeric_limits<double>::denorm_min()), next);
  return hn::IfThenElse(hn::Lt(x, set(std::numeric_limits<double>::infinity())), moved, x);
}
HWY_INLINE D next_down(D x) { return hn::Neg(next_up(hn::Neg(x))); }

void ends(JudgedBlock& block) {
  for (std::size_t i = 0; i < block.count; i += lanes) {
    const D value = load(block.value, i), radius = load(block.radius, i), allowed = load(block.allowed, i);
    const Mask exact = hn::Eq(radius, hn::Zero(DD()));
    const D reach = hn::Add(allowed, radius), sure = hn::Sub(allowed, radius);
    store(hn::IfThenElse(exact, value, next_down(hn::Sub(value, radius))), block.exact.low, i);
    store(hn::IfThenElse(exact, value, next_up(hn::Add(value, radius))), block.exact.high, i);
    store(next_down(hn::Sub(value, reach)), block.outer.low, i);
    store(next_up(hn::Add(value, reach)), block.outer.high, i);
    store(next_up(hn::Sub(value, sure)), block.inner.low, i);
    store(next_down(hn::Add(value, sure)), block.inner.high, i);
  }
}

void to_float(JudgedBlock& block) {
  const DD d;
  for (Numbers* numbers :
       {&block.exact.low, &block.exact.high, &block.outer.low, &block.outer.high, &block.inner.low, &block.inner.high})
    for (std::size_t i = 0; i < block.count; i += lanes)
      store(hn::PromoteTo(d, emu::detail::HWY_NAMESPACE::exact_floats(d, load(*numbers, i))), *numbers, i);
}

/// low <= x <= high
HWY_INLINE Mask between(const JudgedBlock::Ends& ends, std::size_t i, D x) {
  return hn::And(hn::Le(load(ends.low, i), x), hn::Le(x, load(ends.high, i)));
}

HWY_INLINE double greatest(D x) { return hn::GetLane(hn::MaxOfLanes(DD(), x)); }

JudgedExtremes states(const JudgedQuestion& question, JudgedBlock& block) {
  const DD d;
  const hn::RebindToUnsigned<DD> du;
  const D zero = hn::Zero(d), infinity = set(std::numeric_limits<double>::infinity()), one = set(1), half = set(0.5);
  const D zero_from = question.admits_zero ? infinity : set(question.least_normal), two = set(2);
  const D least_ordinary = set(studies::SquareSum::least_ordinary), most_ordinary = set(studies::SquareSum::most_ordinary);
  const auto exponent_field = hn::Set(du, std::uint64_t{0x7ff} << 52), twice_bias = hn::Set(du, std::uint64_t{2046} << 52);
  const D least_binade = set(std::bit_cast<double>(static_cast<std::uint64_t>(1023 + question.min_exponent) << 52));
  const D per_spacing = set(std::bit_cast<double>(static_cast<std::uint64_t>(1023 + question.fraction_bits) << 52));
  const D spacing_of_one = set(std::bit_cast<double>(static_cast<std::uint64_t>(1023 - question.fraction_bits) << 52));
  const D signs = question.signs_of_zero ? one : zero, greatest_value = set(question.greatest);
  const auto squares_well = [&](D x) HWY_ATTR {
    const D size = hn::Abs(x);
    return hn::Or(hn::Eq(x, zero), hn::And(hn::Ge(size, least_ordinary), hn::Le(size, most_ordinary)));
  };

  Mask all_finite = hn::Eq(zero, zero), well = all_finite;
  D max_error = zero, max_ulp = zero, max_of_bound = zero, unseen_share = infinity;
  HWY_ALIGN double state[lanes];
  for (std::size_t i = 0; i < block.count; i += lanes) {
    const D value = load(block.value, i), radius = load(block.radius, i), allowed = load(block.allowed, i),
            y = load(block.output, i);
    const D size = hn::Abs(value), reach = hn::Add(allowed, radius);
    const Mask inside = hn::Lt(hn::Iota(d, static_cast<double>(i)), set(static_cast<double>(block.count)));
    const Mask finite = hn::And(hn::Lt(size, infinity), hn::Lt(hn::Abs(y), infinity));
    all_finite = hn::And(all_finite, hn::Or(hn::And(finite, hn::Le(size, greatest_value)), hn::Not(inside)));

    // As decide() of expected.cpp does. What is not one of these is open.
    const Mask is_one = hn::Eq(load(block.exact.low, i), load(block.exact.high, i));
    const Mask is_exact = hn::Eq(radius, zero);
    Mask equal = hn::And(hn::And(is_one, hn::Eq(load(block.exact.low, i), y)), finite);
    equal = hn::AndNot(hn::And(hn::Eq(y, zero), hn::Ne(signs, zero)), equal);
    const Mask undecided = hn::AndNot(is_one, between(block.exact, i, y));
    const Mask sure = hn::Or(is_exact, hn::And(hn::Ge(allowed, radius), between(block.inner, i, y)));
    Mask within = hn::And(hn::And(between(block.outer, i, y), sure), finite);
    within = hn::AndNot(hn::Or(undecided, hn::Eq(reach, zero)), within);
    within = hn::AndNot(hn::And(hn::Eq(y, zero), hn::Ne(signs, zero)), within);
    const Mask unlike_zero = hn::And(hn::Gt(size, hn::Mul(two, reach)), hn::Gt(size, zero_from));
    const D open = set(JudgedBlock::open), standing = hn::IfThenElse(within, one, open);
    hn::Store(
        hn::Add(hn::IfThenElse(equal, zero, standing), hn::IfThenElse(unlike_zero, zero, set(JudgedBlock::zero_may_pass))), d,
        state);
    for (std::size_t k = 0; k < lanes; ++k) block.state[i + k] = static_cast<std::uint8_t>(state[k]);

    // Powers of two, by their exponents: the value's binade, no less than the format's least, and 1 / the spacing there.
    const D binade = hn::Max(hn::BitCast(d, hn::And(hn::BitCast(du, value), exponent_field)), least_binade);
    const D per_binade = hn::BitCast(d, hn::Sub(twice_bias, hn::BitCast(du, binade)));
    const D error = hn::Sub(y, value), distance = hn::Abs(error);
    const D error_ulp = hn::Mul(error, hn::Mul(per_binade, per_spacing));
    const D bound = hn::Add(allowed, hn::Mul(half, hn::Mul(binade, spacing_of_one)));
    const D of_bound = hn::IfThenElse(hn::Eq(error, zero), zero, hn::Div(distance, bound));
    store(error, block.error, i);
    store(error_ulp, block.error_ulp, i);
    store(of_bound, block.of_bound, i);
    const auto seen = [&](D x) HWY_ATTR { return hn::IfThenElseZero(inside, x); };
    max_error = hn::Max(max_error, seen(distance));
    max_ulp = hn::Max(max_ulp, seen(hn::Abs(error_ulp)));
    max_of_bound = hn::Max(max_of_bound, seen(of_bound));
    const Mask compared = hn::And(inside, hn::Gt(size, zero));
    unseen_share = hn::Min(unseen_share, hn::IfThenElse(compared, hn::Div(reach, size), infinity));
    well = hn::And(well, hn::Or(hn::And(squares_well(value), squares_well(error)), hn::Not(inside)));
  }
  return {.plain = hn::AllTrue(d, hn::And(all_finite, well)),
          .max_abs_error = greatest(max_error),
          .max_ulp = greatest(max_ulp),
          .max_of_bound = greatest(max_of_bound),
          .unseen_share = -greatest(hn::Neg(unseen_share))};
}

}  // namespace
}  // namespace ulpscope::verify::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ulpscope::verify {

HWY_EXPORT(ends);
HWY_EXPORT(to_float);
HWY_EXPORT(states);

void find_ends(JudgedBlock& block) { HWY_DYNAMIC_DISPATCH(ends)(block); }
void round_ends_to_float(JudgedBlock& block) { HWY_DYNAMIC_DISPATCH(to_float)(block); }
JudgedExtremes find_states(const JudgedQuestion& question, JudgedBlock& block) {
  return HWY_DYNAMIC_DISPATCH(states)(question, block);
}

}  // namespace ulpscope::verify
#endif
