// SPDX-License-Identifier: Apache-2.0
// Compiles the loops for each instruction set.
#include "verify/judging_kernels.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "verify/judging_kernels.cpp"
#include <hwy/foreach_target.h>
// foreach_target.h comes first
#include <hwy/highway.h>

#include <array>
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
using Numbers = ExpectedBlock::Numbers;

constexpr std::size_t lanes = hn::MaxLanes(DD());
static_assert(ExpectedBlock::size % lanes == 0);

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

void ends(const ExpectedBlock& expected, JudgedBlock& block) {
  for (std::size_t i = 0; i < expected.count; i += lanes) {
    const D value = load(expected.value, i), radius = load(expected.radius, i), allowed = load(expected.allowed, i);
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

void to_float(std::size_t count, JudgedBlock& block) {
  const DD d;
  for (Numbers* numbers :
       {&block.exact.low, &block.exact.high, &block.outer.low, &block.outer.high, &block.inner.low, &block.inner.high})
    for (std::size_t i = 0; i < count; i += lanes)
      store(hn::PromoteTo(d, emu::detail::HWY_NAMESPACE::exact_floats(d, load(*numbers, i))), *numbers, i);
}

/// low <= x <= high
HWY_INLINE Mask between(const JudgedBlock::Ends& ends, std::size_t i, D x) {
  return hn::And(hn::Le(load(ends.low, i), x), hn::Le(x, load(ends.high, i)));
}

HWY_INLINE double greatest(D x) { return hn::GetLane(hn::MaxOfLanes(DD(), x)); }

/// A sum in eight lanes, whatever vectors have.
class Sum {
 public:
  /// Elements i to i + lanes - 1.
  HWY_INLINE void add(std::size_t i, D x) {
    double* const some = sums_ + i % 8;
    hn::Store(hn::Add(hn::Load(DD(), some), x), DD(), some);
  }
  HWY_INLINE double total() const {
    const double* const s = sums_;
    return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
  }

 private:
  static_assert(8 % lanes == 0);
  HWY_ALIGN double sums_[8] = {};
};

JudgedSums states(const JudgedQuestion& question, const ExpectedBlock& expected, JudgedBlock& block) {
  const DD d;
  const hn::RebindToUnsigned<DD> du;
  const D zero = hn::Zero(d), infinity = set(std::numeric_limits<double>::infinity()), one = set(1), half = set(0.5);
  const D least_normal = set(question.least_normal), two = set(2);
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

  // What follows the last element is 0, and right: it counts for nothing but where elements are counted.
  Mask all_finite = hn::Eq(zero, zero), well = all_finite, decided = all_finite;
  D max_error = zero, max_ulp = zero, max_of_bound = zero, max_unequal = zero, unseen_share = infinity;
  Sum signed_ulp, abs_ulp, exact_squares, error_squares;
  std::uint64_t zeros = 0, halves_up = 0, halves_down = 0, ones_up = 0, ones_down = 0;
  JudgedSums sums{};
  HWY_ALIGN double state[lanes];
  for (std::size_t i = 0; i < expected.count; i += lanes) {
    const D value = load(expected.value, i), radius = load(expected.radius, i), allowed = load(expected.allowed, i),
            y = load(block.output, i);
    const D size = hn::Abs(value), reach = hn::Add(allowed, radius);
    const Mask inside = hn::Lt(hn::Iota(d, static_cast<double>(i)), set(static_cast<double>(expected.count)));
    const Mask finite = hn::And(hn::Lt(size, infinity), hn::Lt(hn::Abs(y), infinity));
    all_finite = hn::And(all_finite, hn::And(finite, hn::Le(size, greatest_value)));

    // As decide() of expected.cpp does. What is not one of these is open.
    const Mask is_one = hn::Eq(load(block.exact.low, i), load(block.exact.high, i));
    const Mask is_exact = hn::Eq(radius, zero);
    const auto equals = [&](D result, Mask among) HWY_ATTR {
      const Mask equal = hn::And(hn::And(is_one, hn::Eq(load(block.exact.low, i), result)), among);
      return hn::AndNot(hn::And(hn::Eq(result, zero), hn::Ne(signs, zero)), equal);
    };
    const auto is_within = [&](D result, Mask among) HWY_ATTR {
      const Mask undecided = hn::AndNot(is_one, between(block.exact, i, result));
      const Mask sure = hn::Or(is_exact, hn::And(hn::Ge(allowed, radius), between(block.inner, i, result)));
      const Mask within = hn::And(hn::And(between(block.outer, i, result), sure), among);
      return hn::AndNot(hn::Or(hn::Or(undecided, hn::Eq(reach, zero)), hn::And(hn::Eq(result, zero), hn::Ne(signs, zero))),
                        within);
    };
    const Mask equal = equals(y, finite), within = is_within(y, finite);
    const Mask unlike_zero = hn::And(hn::Gt(size, hn::Mul(two, reach)), hn::Gt(size, least_normal));
    Mask asked = question.admits_zero ? hn::Eq(zero, zero) : hn::Not(unlike_zero);
    if (!hn::AllFalse(d, hn::And(asked, inside))) {
      const Mask zero_is_right = hn::AndNot(unlike_zero, hn::Or(equals(zero, finite), is_within(zero, finite)));
      asked = hn::AndNot(zero_is_right, asked);
      sums.zeros_pass += hn::CountTrue(d, hn::And(zero_is_right, inside));
    }
    const D open = set(JudgedBlock::open), standing = hn::IfThenElse(within, one, open);
    hn::Store(hn::Add(hn::IfThenElse(equal, zero, standing), hn::IfThenElse(asked, set(JudgedBlock::zero_may_pass), zero)), d,
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
    max_error = hn::Max(max_error, distance);
    const D size_ulp = hn::Abs(error_ulp);
    max_ulp = hn::Max(max_ulp, size_ulp);
    max_of_bound = hn::Max(max_of_bound, of_bound);
    max_unequal = hn::Max(max_unequal, hn::IfThenZeroElse(equal, of_bound));
    unseen_share = hn::Min(unseen_share, hn::IfThenElse(hn::Gt(size, zero), hn::Div(reach, size), infinity));
    well = hn::And(well, hn::And(squares_well(value), squares_well(error)));
    signed_ulp.add(i, error_ulp), abs_ulp.add(i, size_ulp);
    exact_squares.add(i, hn::Mul(value, value)), error_squares.add(i, hn::Mul(error, error));

    const auto count = [&](Mask mask) HWY_ATTR { return hn::CountTrue(d, hn::And(mask, inside)); };
    decided = hn::And(decided, hn::Or(hn::AndNot(asked, hn::Or(equal, within)), hn::Not(inside)));
    const Mask zero_off = hn::Or(equal, hn::Eq(error, zero));
    const Mask up = hn::AndNot(zero_off, hn::Gt(error, zero)), down = hn::AndNot(zero_off, hn::Lt(error, zero));
    const Mask half_off = hn::Le(size_ulp, half), far_off = hn::AndNot(zero_off, hn::Gt(size_ulp, one));
    const std::size_t half_up = count(hn::And(up, half_off)), half_down = count(hn::And(down, half_off));
    sums.equal += count(equal), sums.within += count(hn::AndNot(equal, within)), zeros += count(zero_off);
    halves_up += half_up, halves_down += half_down;
    ones_up += count(hn::AndNot(far_off, up)) - half_up, ones_down += count(hn::AndNot(far_off, down)) - half_down;
    std::array<std::uint8_t, 8> bits{};
    hn::StoreMaskBits(d, far_off, bits.data());
    for (unsigned far = bits[0]; far != 0; far &= far - 1)
      sums.histogram.add(block.error_ulp[i + static_cast<std::size_t>(std::countr_zero(far))]);
  }
  sums.histogram.add(0, zeros), sums.histogram.add(0.5, halves_up), sums.histogram.add(-0.5, halves_down);
  sums.histogram.add(1, ones_up), sums.histogram.add(-1, ones_down);
  sums.plain = hn::AllTrue(d, hn::And(all_finite, well)), sums.decided = hn::AllTrue(d, decided);
  sums.max_abs_error = greatest(max_error), sums.max_ulp = greatest(max_ulp), sums.max_of_bound = greatest(max_of_bound);
  sums.max_unequal = greatest(max_unequal), sums.unseen_share = -greatest(hn::Neg(unseen_share));
  sums.signed_ulp = signed_ulp.total(), sums.abs_ulp = abs_ulp.total();
  sums.exact_squares = exact_squares.total(), sums.error_squares = error_squares.total();
  return sums;
}

}  // namespace
}  // namespace ulpscope::verify::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ulpscope::verify {

HWY_EXPORT(ends);
HWY_EXPORT(to_float);
HWY_EXPORT(states);

void find_ends(const ExpectedBlock& expected, JudgedBlock& block) { HWY_DYNAMIC_DISPATCH(ends)(expected, block); }
void round_ends_to_float(std::size_t count, JudgedBlock& block) { HWY_DYNAMIC_DISPATCH(to_float)(count, block); }
JudgedSums find_states(const JudgedQuestion& question, const ExpectedBlock& expected, JudgedBlock& block) {
  return HWY_DYNAMIC_DISPATCH(states)(question, expected, block);
}

}  // namespace ulpscope::verify
#endif
