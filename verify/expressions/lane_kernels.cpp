// SPDX-License-Identifier: Apache-2.0
// Compiles the loops for each instruction set.
#include "verify/expressions/lane_kernels.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "verify/expressions/lane_kernels.cpp"
#include <hwy/foreach_target.h>
// foreach_target.h comes first
#include <hwy/highway.h>

#include <algorithm>
#include <limits>
#include <span>

#include "emu/simd_targets-inl.hpp"
#include "verify/expressions/lane_functions-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace ulpscope::verify::HWY_NAMESPACE {
namespace {

constexpr std::size_t lanes = hn::MaxLanes(DD());
static_assert(Lanes::size % lanes == 0);

/// A vector of balls, and a mask of those that are to be looked at one by one.
struct Balls {
  D value, radius, error;
};
struct Made {
  Balls balls;
  Mask plain;
};

/// The constants of the arithmetic, in every lane.
struct Constants {
  explicit HWY_INLINE Constants(const Measures& m)
      : unit(set(m.unit)), quotient(set(m.quotient)), normal(set(m.normal)), lost(set(m.lost)), largest(set(m.largest)) {}
  D unit, quotient, normal, lost, largest;
};

HWY_INLINE Made made(const Constants& m, D value, D radius, D error) {
  const D margin = set(1 + 0x1p-49);  // as in lanes.cpp
  const Balls balls{value, hn::Mul(radius, margin), hn::Mul(error, margin)};
  const D infinity = set(std::numeric_limits<double>::infinity());
  const Mask finite = hn::And(hn::Lt(hn::Abs(value), infinity), hn::Eq(radius, radius));
  return {balls, hn::And(finite, hn::Le(hn::Add(hn::Abs(value), balls.error), m.largest))};
}

HWY_INLINE D underflow_of(const Constants& m, D y, D inherited) {
  return if_true(hn::Lt(hn::Sub(hn::Abs(y), inherited), m.normal), m.lost);
}
HWY_INLINE D rounding(const Constants& m, D y, D inherited) {
  return hn::Add(hn::Mul(m.unit, hn::Add(hn::Abs(y), inherited)), underflow_of(m, y, inherited));
}
HWY_INLINE D division(const Constants& m, D y, D inherited) {
  return hn::Add(hn::Mul(m.quotient, hn::Add(hn::Abs(y), inherited)), underflow_of(m, y, inherited));
}
HWY_INLINE Mask is_exactly_zero(const Balls& x) { return hn::And(is_zero(x.value), is_zero(x.error)); }

HWY_INLINE Mask is_power_of_two(D x) {
  const hn::RebindToUnsigned<DD> du;
  const auto word = hn::BitCast(du, hn::Abs(x)), fraction = hn::Set(du, (std::uint64_t{1} << 52) - 1);
  const Mask no_fraction = hn::RebindMask(DD(), hn::Eq(hn::And(word, fraction), hn::Zero(du)));
  return hn::And(no_fraction, hn::Ge(hn::Abs(x), set(std::numeric_limits<double>::min())));
}

struct Add {
  bool subtracts;
  HWY_INLINE Made operator()(const Constants& m, const Balls& x, const Balls& given) const {
    const Balls y{subtracts ? hn::Neg(given.value) : given.value, given.radius, given.error};
    const D sum = hn::Add(x.value, y.value), of_y = hn::Sub(sum, x.value);
    const D low = hn::Add(hn::Sub(x.value, hn::Sub(sum, of_y)), hn::Sub(y.value, of_y));
    const D inherited = hn::Add(x.error, y.error);
    const Mask is_copy = hn::Or(is_exactly_zero(x), is_exactly_zero(y));
    const Mask is_nothing = hn::And(is_zero(sum), is_zero(inherited));
    const D rounded = select(is_copy, underflow_of(m, sum, inherited), rounding(m, sum, inherited));
    const D own = select(is_nothing, zero(), rounded);
    return made(m, sum, hn::Add(hn::Add(x.radius, y.radius), hn::Abs(low)), hn::Add(inherited, own));
  }
};

struct Multiply {
  HWY_INLINE Made operator()(const Constants& m, const Balls& x, const Balls& y) const {
    const D product = hn::Mul(x.value, y.value), a = hn::Abs(x.value), b = hn::Abs(y.value);
    const D low = hn::Abs(hn::MulSub(x.value, y.value, product));
    const D inherited = hn::Add(hn::Add(hn::Mul(a, y.error), hn::Mul(b, x.error)), hn::Mul(x.error, y.error));
    const Mask is_nothing = hn::Or(is_exactly_zero(x), is_exactly_zero(y));
    const Mask is_shift =
        hn::Or(hn::And(is_zero(y.error), is_power_of_two(y.value)), hn::And(is_zero(x.error), is_power_of_two(x.value)));
    const D rounded = select(is_shift, underflow_of(m, product, inherited), rounding(m, product, inherited));
    const D own = select(is_nothing, zero(), rounded);
    const D least = if_true(hn::AndNot(is_nothing, is_zero(product)), set(std::numeric_limits<double>::denorm_min()));
    const D radius = hn::Add(hn::Add(hn::Mul(a, y.radius), hn::Mul(b, x.radius)), hn::Mul(x.radius, y.radius));
    return made(m, product, hn::Add(hn::Add(radius, low), least), hn::Add(inherited, own));
  }
};

struct Divide {
  bool by_number;
  HWY_INLINE Made operator()(const Constants& m, const Balls& x, const Balls& y) const {
    const D least = set(std::numeric_limits<double>::denorm_min()), infinity = set(std::numeric_limits<double>::infinity());
    const D quotient = hn::Div(x.value, y.value), b = hn::Abs(y.value), size = hn::Abs(quotient);
    const D nearest_exact = hn::Sub(b, y.radius), nearest = hn::Sub(hn::Sub(b, y.error), y.radius);
    const D reach = hn::Div(hn::Add(x.radius, hn::Mul(size, y.radius)), nearest_exact);
    D radius = hn::Add(hn::Add(reach, hn::Mul(size, set(0x1p-53))), least);
    const Mask are_numbers = hn::And(is_zero(x.radius), is_zero(y.radius));
    radius = select(hn::And(are_numbers, is_zero(hn::MulSub(quotient, y.value, x.value))), zero(), radius);
    const D inherited = hn::Div(hn::Add(x.error, hn::Mul(size, y.error)), nearest);
    D own = division(m, quotient, inherited);
    if (by_number) own = select(hn::And(is_zero(y.error), is_power_of_two(y.value)), underflow_of(m, quotient, inherited), own);
    const D error = select(is_exactly_zero(x), zero(), hn::Add(inherited, own));
    Made result = made(m, quotient, radius, error);
    result.plain = hn::And(result.plain, hn::And(hn::Gt(nearest, zero()), hn::Lt(b, infinity)));
    return result;
  }
};

/// -x or |x|, which round nothing.
struct Negate {
  HWY_INLINE Made operator()(const Constants&, const Balls& x) const {
    return {{hn::Neg(x.value), x.radius, x.error}, all_plain()};
  }
};
struct Absolute {
  HWY_INLINE Made operator()(const Constants&, const Balls& x) const {
    return {{hn::Abs(x.value), x.radius, x.error}, all_plain()};
  }
};

/// extreme() of lanes.cpp.
struct Extreme {
  bool least;
  HWY_INLINE Made operator()(const Constants& m, const Balls& x, const Balls& y) const {
    const Mask is_first = least ? hn::Le(x.value, y.value) : hn::Ge(x.value, y.value);
    const D best = select(is_first, x.value, y.value), other = select(is_first, y.value, x.value);
    const D gap = hn::Abs(hn::Sub(best, other)), radii = hn::Add(x.radius, y.radius);
    // In the order of lanes.cpp: best and other add up from left to right.
    const D best_error = select(is_first, x.error, y.error), other_error = select(is_first, y.error, x.error);
    const D best_radius = select(is_first, x.radius, y.radius), reach = hn::Add(hn::Add(radii, best_error), other_error);
    const D radius = select(hn::Le(gap, radii), hn::Max(x.radius, y.radius), best_radius);
    const D error = select(hn::Le(gap, reach), hn::Max(x.error, y.error), best_error);
    Made result = made(m, best, radius, error);
    // Zeros of both signs: equal, and of different signs.
    const hn::RebindToSigned<DD> di;
    const auto signs = hn::Lt(hn::BitCast(di, hn::Xor(x.value, y.value)), hn::Zero(di));
    const Mask is_open_zero = hn::And(is_zero(gap), hn::RebindMask(DD(), signs));
    result.plain = hn::And(result.plain, hn::AndNot(is_open_zero, is_finite(other)));
    return result;
  }
};

HWY_INLINE Made truth(Mask value, Mask open, Mask doubted) {
  return {{if_true(value, set(1)), if_true(open, set(1)), if_true(doubted, set(1))}, all_plain()};
}
/// What float64 here may see differently, by the radius, or a kernel, by the error.
HWY_INLINE Mask is_doubtful(D value, D off) { return hn::And(hn::Gt(off, zero()), hn::Ge(off, hn::Abs(value))); }

/// compared(), both() and the opposite of lanes.cpp.
struct Compare {
  bool equal;
  HWY_INLINE Made operator()(const Constants&, const Balls& x, const Balls& y) const {
    const D gap = hn::Abs(hn::Sub(x.value, y.value));
    const D radius = hn::Add(x.radius, y.radius), error = hn::Add(x.error, y.error);
    return truth(equal ? hn::Eq(x.value, y.value) : hn::Lt(x.value, y.value),
                 hn::And(hn::Gt(radius, zero()), hn::Le(gap, radius)),
                 hn::And(hn::Gt(error, zero()), hn::Le(gap, hn::Add(error, radius))));
  }
};
struct Both {
  HWY_INLINE Made operator()(const Constants&, const Balls& x, const Balls& y) const {
    const Mask no_x = is_zero(x.value), no_y = is_zero(y.value);
    const auto either = [&](Mask of_x, Mask of_y) HWY_ATTR {
      return hn::Or(hn::And(of_x, hn::Or(hn::Not(no_y), of_y)), hn::And(of_y, hn::Or(hn::Not(no_x), of_x)));
    };
    return truth(hn::Not(hn::Or(no_x, no_y)), either(is_doubtful(x.value, x.radius), is_doubtful(y.value, y.radius)),
                 either(is_doubtful(x.value, x.error), is_doubtful(y.value, y.error)));
  }
};
struct Opposite {
  HWY_INLINE Made operator()(const Constants&, const Balls& x) const {
    return truth(is_zero(x.value), is_doubtful(x.value, x.radius), is_doubtful(x.value, x.error));
  }
};

/// chosen() of lanes.cpp.
struct Choose {
  HWY_INLINE Made operator()(const Constants& m, const Balls& condition, const Balls& x, const Balls& y) const {
    const Mask is_second = is_zero(condition.value);
    const auto one_of = [&](D yes, D no) HWY_ATTR { return select(is_second, no, yes); };
    const D picked = one_of(x.value, y.value), other = one_of(y.value, x.value), distance = hn::Abs(hn::Sub(picked, other));
    const D radius = one_of(x.radius, y.radius), error = one_of(x.error, y.error);
    const D other_radius = one_of(y.radius, x.radius), other_error = one_of(y.error, x.error);
    const Mask open = is_doubtful(condition.value, condition.radius), doubted = is_doubtful(condition.value, condition.error);
    const D either = select(open, hn::Max(error, other_error), error);
    Made result = made(m, picked, select(open, hn::Max(radius, hn::Add(distance, other_radius)), radius),
                       select(doubted, hn::Max(either, hn::Add(hn::Add(distance, other_error), other_radius)), either));
    result.plain = hn::And(result.plain, hn::Or(is_finite(other), hn::Not(hn::Or(open, doubted))));
    return result;
  }
};

/// function_value() of lanes.cpp, of arguments that do not overflow and functions that declare an error in ulp.
template <class Function>
struct Applied {
  Function function;
  FunctionConstants a;
  bool exact;  ///< all arguments are

  HWY_INLINE Made operator()(const Constants& m, const Balls& x) const {
    const D y = function.value(x.value), size = hn::Abs(y);
    // What is 0 far from 0 is only too small for a double.
    const D infinity = set(std::numeric_limits<double>::infinity()), from_zero = hn::Abs(x.value);
    const Mask no_error = hn::And(is_zero(y), hn::Or(hn::Le(from_zero, set(1)), hn::Eq(from_zero, infinity)));
    const D least = set(4 * std::numeric_limits<double>::denorm_min());
    D radius = select(no_error, zero(), hn::Add(hn::Mul(size, set(0x1p-50)), least));
    D error = function.error(a, x.value, y);
    if (exact) {
      error = select(hn::And(no_error, is_zero(a.absolute)), zero(), error);
    } else {
      const D own_radius = hn::Mul(function.slope(x.value, x.radius), x.radius);
      radius = select(hn::Gt(x.radius, zero()), hn::Add(radius, own_radius), radius);
      const D reach = hn::Add(x.error, x.radius);
      const D moved = if_true(hn::Gt(x.error, zero()), hn::Mul(function.slope(x.value, reach), x.error));
      const D furthest = hn::CopySign(hn::Add(size, moved), y);
      const auto at = [&](D argument) HWY_ATTR { return function.error(a, argument, furthest); };
      const D around = hn::Max(hn::Max(at(hn::Sub(x.value, reach)), at(x.value)), at(hn::Add(x.value, reach)));
      const D own = select(is_zero(reach), at(x.value), hn::Mul(around, set(1 + 0x1p-4)));
      const Mask nothing = hn::And(hn::And(no_error, is_zero(moved)), is_zero(a.absolute));
      error = hn::Add(moved, select(nothing, zero(), own));
    }
    Made result = made(m, y, radius, error);
    result.plain = hn::And(result.plain, function.is_plain(x.value));
    return result;
  }
};

/// operation(x, ...) of the elements of `from`.
template <class Operation, class... Operands>
HWY_INLINE std::size_t each(const Constants& m, std::size_t count, Lanes& out, Operation operation, const Operands&... from) {
  const DD d;
  const std::size_t whole = count / lanes * lanes;
  Mask plain = all_plain();
  const auto load = [&](const Lanes& some, std::size_t i) HWY_ATTR {
    const D value = hn::Load(d, some.value + i);
    return some.exact ? Balls{value, zero(), zero()} : Balls{value, hn::Load(d, some.radius + i), hn::Load(d, some.error + i)};
  };
  for (std::size_t i = 0; i < whole; i += lanes) {
    const Made made = operation(m, load(from, i)...);
    hn::Store(made.balls.value, d, out.value + i);
    hn::Store(made.balls.radius, d, out.radius + i);
    hn::Store(made.balls.error, d, out.error + i);
    plain = hn::And(plain, made.plain);
  }
  return hn::AllTrue(d, plain) ? whole : 0;
}

std::size_t Compute(const LaneOperation& operation, std::span<const Lanes* const> operands, std::size_t count, Lanes& out) {
  // Without fused operations the error of a product is not what MulSub() gives.
  if (HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128) return 0;
  const Constants m{Measures(operation.arithmetic)};
  const Lanes& x = *operands[0];
  const auto of_one = [&](auto kernel) HWY_ATTR { return each(m, count, out, kernel, x); };
  const auto of_two = [&](auto kernel) HWY_ATTR { return each(m, count, out, kernel, x, *operands[1]); };
  const auto applied = [&](auto function) HWY_ATTR {
    return of_one(Applied<decltype(function)>{function, FunctionConstants(operation.arithmetic), x.exact});
  };
  switch (operation.kind) {
    case LaneOperation::Kind::add: return of_two(Add{false});
    case LaneOperation::Kind::subtract: return of_two(Add{true});
    case LaneOperation::Kind::multiply: return of_two(Multiply{});
    case LaneOperation::Kind::divide: return of_two(Divide{operation.by_number});
    case LaneOperation::Kind::negate: return of_one(Negate{});
    case LaneOperation::Kind::absolute: return of_one(Absolute{});
    case LaneOperation::Kind::maximum: return of_two(Extreme{false});
    case LaneOperation::Kind::minimum: return of_two(Extreme{true});
    case LaneOperation::Kind::less: return of_two(Compare{false});
    case LaneOperation::Kind::equal: return of_two(Compare{true});
    case LaneOperation::Kind::both: return of_two(Both{});
    case LaneOperation::Kind::opposite: return of_one(Opposite{});
    case LaneOperation::Kind::choose: return each(m, count, out, Choose{}, x, *operands[1], *operands[2]);
    case LaneOperation::Kind::exp: return applied(Exp{});
    case LaneOperation::Kind::tanh: return applied(Tanh{});
    case LaneOperation::Kind::gelu_tanh: return applied(GeluTanh{});
    case LaneOperation::Kind::erf: return applied(Erf{});
    case LaneOperation::Kind::gelu: return applied(Gelu{});
    case LaneOperation::Kind::sigmoid: return applied(Sigmoid{});
    case LaneOperation::Kind::silu: break;
  }
  return applied(Silu{});
}

}  // namespace
}  // namespace ulpscope::verify::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ulpscope::verify {

HWY_EXPORT(Compute);

Measures::Measures(const KernelArithmetic& a)
    : unit(verify::unit(a.format)),
      quotient(std::max(function_relative(a), unit)),
      normal(emu::power_of_two(a.format.min_exponent() + 1)),
      lost(underflow(a.format)),
      largest(verify::largest(a.format)) {}

std::size_t compute_in_vectors(const LaneOperation& operation, std::span<const Lanes* const> operands, std::size_t count,
                               Lanes& out) {
  return HWY_DYNAMIC_DISPATCH(Compute)(operation, operands, count, out);
}

}  // namespace ulpscope::verify
#endif
