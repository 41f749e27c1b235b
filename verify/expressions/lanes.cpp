// SPDX-License-Identifier: Apache-2.0
// One operation on balls. With x^ what a kernel has in the place of x, |x^ - x| <= e: the result is off by what the operation
// makes of that, and by the kernel's own rounding of what it makes of x^.
#include "verify/expressions/lanes.hpp"

#include <algorithm>
#include <bit>
#include <boost/multiprecision/mpfr.hpp>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <type_traits>

#include "emu/bulk.hpp"
#include "emu/encode.hpp"
#include "verify/double_double.hpp"
#include "verify/expressions/formula.hpp"
#include "verify/expressions/function_slopes.hpp"
#include "verify/expressions/lane_kernels.hpp"
#include "verify/expressions/lane_operations.hpp"
#include "verify/expressions/overflows.hpp"
#include "verify/operations/elementwise_functions.hpp"
#include "verify/operations/real.hpp"

namespace ulpscope::verify {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity(), least = std::numeric_limits<double>::denorm_min();

/// What is left of an operation once its value is known. Of one that is not finite, numbers up to `error` are right as well.
inline Approximate made(const Measures& m, double value, double radius, double error, Overflow overflow) {
  constexpr double margin = 1 + 0x1p-49;  // for some roundings of the radii themselves
  if (!std::isfinite(value)) return {value, radius, error, error > 0 ? overflow | overflow_of(value) : overflow};
  radius = std::isnan(radius) ? infinity : radius * margin;
  error = std::isnan(error) ? infinity : error * margin;
  const Overflow own = std::isinf(error) ? Overflow::any : overflow_of_interval(value - error, value + error, m.largest);
  return {value, radius, error, overflow | own};
}

/// What underflow adds to a result that is off by `inherited`: nothing where that is normal all the same.
inline double underflow_of(const Measures& m, double y, double inherited) {
  return std::fabs(y) - inherited < m.normal ? m.lost : 0;
}
/// u |y| for a result whose operands make it off by `inherited`.
inline double rounding(const Measures& m, double y, double inherited) {
  return m.unit * (std::fabs(y) + inherited) + underflow_of(m, y, inherited);
}
inline double division(const Measures& m, double y, double inherited) {
  return m.quotient * (std::fabs(y) + inherited) + underflow_of(m, y, inherited);
}

/// Of an infinity or a NaN that is made of x and y.
Approximate not_finite_of(double value, Kinds kinds, bool doubted, const Approximate& x, const Approximate& y) {
  return not_finite(value, kinds, doubted || is_doubted(x) || is_doubted(y), x.radius + y.radius);
}

/// The zero of a sum whose sign is open: both terms are zeros, and each may be -0.
bool is_open_zero(const Approximate& x, const Approximate& y) {
  const auto may_be_minus = [](const Approximate& zero) {
    return zero.value == 0 && (std::signbit(zero.value) || includes(zero.overflow, Overflow::other_zero));
  };
  return may_be_minus(x) && may_be_minus(y) && includes(x.overflow | y.overflow, Overflow::other_zero);
}
/// Infinities and NaN of x + y, as far as they are not of the sum's own size, and its other zero.
Overflow overflow_of_sum(const Approximate& x, const Approximate& y) {
  if (is_plain(x) && is_plain(y)) return Overflow::none;
  return sum_of(kinds_of(x), kinds_of(y)).special | where(is_open_zero(x, y), Overflow::other_zero);
}
/// That of a product or a quotient of both: of its infinities and NaN `special`.
Overflow with_zeros(Overflow special, double value, const Approximate& x, const Approximate& y) {
  return special | where(value == 0, (x.overflow | y.overflow) & Overflow::other_zero);
}

inline Approximate added(const Measures& m, const Approximate& x, const Approximate& y) {
  const DoubleDouble sum = exact_add(x.value, y.value);
  if (!std::isfinite(sum.high)) return not_finite_of(sum.high, sum_of(kinds_of(x), kinds_of(y)), false, x, y);
  const double inherited = x.error + y.error;
  const bool is_copy = (x.value == 0 && x.error == 0) || (y.value == 0 && y.error == 0);
  const bool is_zero = sum.high == 0 && inherited == 0;
  const double own = is_copy ? underflow_of(m, sum.high, inherited) : rounding(m, sum.high, inherited);
  return made(m, sum.high, x.radius + y.radius + std::fabs(sum.low), inherited + (is_zero ? 0 : own), overflow_of_sum(x, y));
}

/// Of normal numbers.
bool is_power_of_two(double x) {
  constexpr std::uint64_t fraction = (std::uint64_t{1} << 52) - 1;
  return std::isnormal(x) && (std::bit_cast<std::uint64_t>(x) & fraction) == 0;
}

inline Approximate multiplied(const Measures& m, const Approximate& x, const Approximate& y) {
  const double product = x.value * y.value, a = std::fabs(x.value), b = std::fabs(y.value);
  if (!std::isfinite(product)) return not_finite_of(product, product_of(x, y), false, x, y);
  const double low = std::fabs(std::fma(x.value, y.value, -product));
  const double inherited = a * y.error + b * x.error + x.error * y.error;
  const bool is_zero = (a == 0 && x.error == 0) || (b == 0 && y.error == 0);
  const bool is_shift = (y.error == 0 && is_power_of_two(y.value)) || (x.error == 0 && is_power_of_two(x.value));
  const double own = is_zero ? 0 : is_shift ? underflow_of(m, product, inherited) : rounding(m, product, inherited);
  return made(m, product, a * y.radius + b * x.radius + x.radius * y.radius + low + (product == 0 && !is_zero ? least : 0),
              inherited + own,
              is_plain(x) && is_plain(y) ? Overflow::none : with_zeros(product_of(x, y).special, product, x, y));
}

inline Approximate divided(const Measures& m, bool by_number, const Approximate& x, const Approximate& y) {
  const double quotient = x.value / y.value, b = std::fabs(y.value);
  if (!std::isfinite(quotient)) {
    const bool is_zero_doubted = y.error + y.radius > 0 && b <= y.error + y.radius;
    return not_finite_of(quotient, quotient_of(x, y), is_zero_doubted, x, y);
  }
  if (std::isinf(y.value))
    return is_doubted(y) ? unknown({.value = quotient, .radius = y.radius})
                         : Approximate{.value = quotient, .overflow = with_zeros(quotient_of(x, y).special, quotient, x, y)};
  // 1 / b over the ball of the kernel's b^, which may not have 0 in it.
  const double nearest = b - y.error - y.radius, nearest_exact = b - y.radius;
  const double size = std::fabs(quotient);
  double radius = nearest_exact > 0 ? (x.radius + size * y.radius) / nearest_exact + size * 0x1p-53 + least : infinity;
  if (x.radius == 0 && y.radius == 0 && std::fma(quotient, y.value, -x.value) == 0) radius = 0;
  if (!(nearest > 0)) return made(m, quotient, radius, infinity, Overflow::any);
  const double inherited = (x.error + size * y.error) / nearest;
  // By a number of the formula: a product with its reciprocal. A division may be approximated, whatever the divisor.
  const bool is_shift = by_number && y.error == 0 && is_power_of_two(y.value);
  const bool is_zero = x.value == 0 && x.error == 0;
  double error = is_zero ? 0 : inherited + (is_shift ? underflow_of(m, quotient, inherited) : division(m, quotient, inherited));
  if (y.overflow != Overflow::none) error = std::max(error, size + m.lost);  // b^ may be infinite: the quotient is 0
  return made(m, quotient, radius, error,
              is_plain(x) && is_plain(y) ? Overflow::none : with_zeros(quotient_of(x, y).special, quotient, x, y));
}

/// A number that a kernel may round to the format that it computes in as it comes in.
Approximate entered(const Measures& m, emu::Format format, const Approximate& x) {
  const bool is_held = x.radius == 0 && x.error == 0 && emu::round_to(format, x.value).value == x.value;
  return made(m, x.value, x.radius, x.error + (is_held ? 0 : rounding(m, x.value, x.error)), x.overflow);
}

/// Whether a kernel may see another truth value than the exact one; and whether float64 here may.
bool kernel_doubts(const Approximate& x) { return x.error > 0 && (is_doubted(x) || x.error >= std::fabs(x.value)); }
bool is_open(const Approximate& x) { return x.radius > 0 && x.radius >= std::fabs(x.value); }

Approximate truth(bool value, bool open, bool doubted) {
  return {.value = value ? 1.0 : 0.0, .radius = open ? 1.0 : 0.0, .error = doubted ? 1.0 : 0.0};
}
/// Whether an infinity or a NaN in the place of x or y may compare otherwise.
template <class Holds>
bool overflow_doubts(const Approximate& x, const Approximate& y, Holds holds) {
  const bool value = holds(x.value, y.value);
  const auto any_of = [](const Approximate& one, auto differs) {
    const auto has = [&](double special) { return includes(one.overflow, overflow_of(special)) && differs(special); };
    return differs(one.value) || has(infinity) || has(-infinity) || has(std::numeric_limits<double>::quiet_NaN());
  };
  return any_of(x, [&](double a) { return any_of(y, [&](double b) { return holds(a, b) != value; }); });
}
template <class Holds>
Approximate compared(const Approximate& x, const Approximate& y, Holds holds) {
  const double gap = std::fabs(x.value - y.value), radius = x.radius + y.radius, error = x.error + y.error;
  const bool may_overflow = x.overflow != Overflow::none || y.overflow != Overflow::none;
  const bool doubted =
      is_doubted(x) || is_doubted(y) || (error > 0 && gap <= error + radius) || (may_overflow && overflow_doubts(x, y, holds));
  return truth(holds(x.value, y.value), radius > 0 && gap <= radius, doubted);
}
Approximate both(const Approximate& x, const Approximate& y) {
  const auto either = [&](auto doubt) {
    return (doubt(x) && (y.value != 0 || doubt(y))) || (doubt(y) && (x.value != 0 || doubt(x)));
  };
  return truth(x.value != 0 && y.value != 0, either(is_open), either(kernel_doubts));
}

/// A bound of the numbers that another way gives in the place of an infinity or a NaN; not 0, which stands for none.
double size_of(const Approximate& other) { return std::max(std::fabs(other.value), least); }

Approximate chosen(const Measures& m, const Approximate& condition, const Approximate& x, const Approximate& y) {
  const Approximate &picked = condition.value != 0 ? x : y, &other = condition.value != 0 ? y : x;
  Approximate result = picked;
  const double gap = picked.value == other.value ? 0 : std::fabs(picked.value - other.value);
  const double distance = std::isfinite(gap) ? gap : infinity;
  // Where the exact condition is the other one, so is a kernel's that does not doubt it.
  if (is_open(condition))
    result.radius = std::max(result.radius, distance + other.radius), result.error = std::max(result.error, other.error);
  const bool is_finite = std::isfinite(picked.value);
  if (kernel_doubts(condition) || (is_open(condition) && !is_finite)) {
    const double reach = is_finite ? distance : size_of(other);
    if (std::isfinite(other.value)) result.error = std::max(result.error, reach + other.error + other.radius);
    if (is_doubted(other)) result.error = std::max(result.error, (is_finite ? std::fabs(picked.value) : 0) + other.error);
    result.overflow = result.overflow | infinities_of(other);
  }
  return made(m, result.value, result.radius, result.error, result.overflow);
}

/// The greater of two, `sign` being 1, or the lesser, of -1.
Approximate extreme(const Measures& m, const Approximate& x, const Approximate& y, double sign) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto is_nan = [](const Approximate& one) { return std::isnan(one.value) && !is_doubted(one); };
  if (is_nan(x) || is_nan(y)) return {.value = nan};
  const Approximate &best = sign * x.value >= sign * y.value ? x : y, &other = sign * x.value >= sign * y.value ? y : x;
  if (is_doubted(x) || is_doubted(y))
    return unknown({.value = std::isnan(other.value) ? nan : best.value, .radius = x.radius + y.radius});
  const double gap = std::fabs(best.value - other.value);
  Approximate result = best;
  if (gap <= best.radius + other.radius) result.radius = std::max(best.radius, other.radius);
  if (std::isfinite(best.value) && gap <= best.radius + other.radius + best.error + other.error)
    result.error = std::max(best.error, other.error);
  const auto signed_as = [&](Overflow some) { return sign > 0 ? some : opposite_of(some); };
  const Overflow of_best = signed_as(best.overflow), of_other = signed_as(infinities_of(other));
  // C's fmax and fmin may return either of two zeros, IEEE 754's maximum the one that is +0.
  const bool is_open_zero = best.value == 0 && (includes(best.overflow, Overflow::other_zero) ||
                                                (other.value == 0 && std::signbit(best.value) != std::signbit(other.value)));
  result.overflow = signed_as(overflow_of_maximum(of_best, of_other)) | where(is_open_zero, Overflow::other_zero);
  // What a kernel has for the greater may be -infinity, and the other one the result.
  if (includes(of_best, Overflow::downward) && std::isfinite(other.value))
    result.error = std::max(result.error, (std::isfinite(best.value) ? gap : size_of(other)) + other.error + other.radius);
  return made(m, result.value, result.radius, result.error, result.overflow);
}

/// The error of a function itself, of arguments within `reach` of x, whose results are within `moved` of y.
double own_error(const Node& node, double x, double y, double reach, double moved, bool is_exact) {
  const KernelArithmetic& a = node.arithmetic;
  const Function& f = *node.function;
  const auto at = [&](double argument) {
    const double size = std::copysign(std::fabs(y) + moved, y);
    return f.error != nullptr && a.function_ulp != 0 ? f.error(a, argument, size)
                                                     : function_error(a, size) + underflow(a.format);
  };
  if (f.name == "relu" || (is_exact && moved == 0 && a.function_abs == 0)) return 0;
  if (reach == 0) return at(x);
  // The errors of functions are made of parts that rise and of parts that fall; none changes by a sixteenth in so short a
  // reach.
  constexpr double margin = 1 + 0x1p-4;
  return std::max({at(x - reach), at(x), at(x + reach)}) * margin;
}

bool is_root(const Function& f) { return f.name == "sqrt"; }

/// Whether a function is the infinity y, or NaN, all around x: its poles and the edges of where it is defined or within the
/// range of double are no further from 0 than what is between them.
bool is_certain(const Function& f, double x, double y, double reach) {
  const auto is_same = [&](double end) {
    const double there = f.value(end);
    return there == y || (std::isnan(there) && std::isnan(y));
  };
  return reach == 0 || (reach < std::fabs(x) && is_same(x - reach) && is_same(x + reach));
}

/// How far a function of arguments within `reach` of x moves when they move by `by`. |sqrt(a) - sqrt(b)| <= sqrt|a - b|, at 0
/// too.
double moved_by(const Function& f, Slope slope, double x, double reach, double by) {
  if (by == 0) return 0;
  const double steepest = slope(x, reach) * by;
  return is_root(f) ? std::min(steepest, std::sqrt(by)) : steepest;
}

Approximate function_value(const Node& node, const Measures& m, Slope slope, const Approximate& x) {
  const Function& f = *node.function;
  const double y = f.value(x.value), reach = x.error + x.radius;
  if (is_doubted(x)) return unknown({.value = y, .radius = x.radius > 0 ? infinity : std::isfinite(y) ? value_radius(y) : 0});
  const OfInfinities of = of_infinities(
      x, y, [&](double special) { return f.value(special); },
      [&](double result) { return own_error(node, x.value, result, 0, 0, false); });
  // -infinity times its gate, which is 0; the root of what is less than 0.
  const bool is_undefined =
      (is_gated(f) && includes(infinities_of(x), Overflow::downward)) || (is_root(f) && std::isfinite(y) && x.value < reach);
  const Overflow overflow = of.overflow | where(is_undefined, Overflow::undefined);
  if (!std::isfinite(y)) {
    if (is_certain(f, x.value, y, reach)) return made(m, y, 0, of.error, overflow);
    if (!is_root(f)) return unknown({.value = y, .radius = x.radius});
    const double root = std::sqrt(x.value + reach);
    return made(m, y, x.radius, std::max(root + own_error(node, 0, root, 0, 0, false), of.error), overflow);
  }
  // What is 0 far from 0 is only too small for a double.
  const bool is_exact = f.name == "relu" || (y == 0 && (std::fabs(x.value) <= 1 || std::isinf(x.value)));
  const double radius = (is_exact ? 0 : value_radius(y)) + moved_by(f, slope, x.value, x.radius, x.radius);
  const double moved = moved_by(f, slope, x.value, reach, x.error);
  const double error = moved + own_error(node, x.value, y, reach, moved, is_exact);
  return made(m, y, radius, std::max(error, of.error), overflow);
}

/// A function that does not fall, such as a rounding: its values at both ends of a ball bound it. None is beyond `most`.
template <class Rising>
Approximate risen(const Measures& m, const Approximate& x, double most, Rising rising) {
  const double y = rising(x.value);
  if (is_doubted(x)) return unknown({.value = y, .radius = x.radius > 0 ? infinity : 0});
  OfInfinities of = of_infinities(x, y, rising, [](double) { return 0.0; });
  if (!std::isfinite(y) && std::isfinite(x.value) && x.error + x.radius > 0) {
    for (const double sign : {-1.0, 1.0}) {
      const double end = rising(std::nextafter(x.value + sign * (x.radius + x.error), sign * infinity));
      of.overflow = of.overflow | overflow_of(end);
      if (std::isfinite(end)) of.error = std::max(of.error, most);
    }
    if (of.error == 0 && of.overflow == overflow_of(y)) of.overflow = Overflow::none;
    return made(m, y, of.error > 0 ? x.radius : 0, of.error, of.overflow);
  }
  if (!std::isfinite(y) || (x.radius == 0 && x.error == 0)) return made(m, y, 0, of.error, of.overflow);
  const auto distance = [&](double reach) {
    const double up = rising(std::nextafter(x.value + reach, infinity)) - y;
    const double down = y - rising(std::nextafter(x.value - reach, -infinity));
    return std::isnan(up) || std::isnan(down) ? infinity : std::max(up, down);
  };
  const double radius = x.radius > 0 ? distance(x.radius) : 0;
  const auto end = [&](double sign) {
    const double value = rising(std::nextafter(x.value + sign * (x.radius + x.error), sign * infinity));
    of.overflow = of.overflow | overflow_of(value);
    return std::isfinite(value) ? value : sign * most;
  };
  if (x.error > 0) of.error = std::max({of.error, end(1) - y, y - end(-1)});
  return made(m, y, radius, of.error, of.overflow);
}

/// -1, 0 or 1. What is 0 has either sign: of -0 libraries have both.
Approximate sign_of(const Measures& m, const Approximate& x) {
  Approximate y = risen(m, x, 1, [](double value) { return value > 0 ? 1.0 : value < 0 ? -1.0 : value == 0 ? 0.0 : value; });
  y.overflow = y.overflow | where(y.value == 0, Overflow::other_zero);
  return y;
}

double whole_part(WholePart part, double x) {
  switch (part) {
    case WholePart::nearest_even: return std::nearbyint(x);
    case WholePart::down: return std::floor(x);
    case WholePart::up: return std::ceil(x);
    case WholePart::toward_zero: break;
  }
  return std::trunc(x);
}

/// Element i of operands of which it is known whether all of their elements are exact.
template <bool IsExact>
Approximate element(const Lanes& lanes, std::size_t i) {
  if constexpr (IsExact) return {.value = lanes.value[i]};
  return {lanes.value[i], lanes.radius[i], lanes.error[i], lanes.in_range ? Overflow::none : lanes.overflow[i]};
}

/// act(is_exact) with that as a constant.
template <class Act>
void with_exactness(const Lanes& lanes, Act act) {
  if (lanes.exact)
    act(std::true_type{});
  else
    act(std::false_type{});
}

using Operands = std::span<const Lanes* const>;

/// Some of the elements of a block.
struct Range {
  std::size_t begin, end;
};

/// operation(x) of each element.
template <class Operation>
void each(Operands from, Range some, Lanes& out, Operation operation) {
  with_exactness(*from[0], [&](auto x) {
    for (std::size_t i = some.begin; i < some.end; ++i) out.set(i, operation(element<x>(*from[0], i)));
  });
}
/// operation(x, y).
template <class Operation>
void each_pair(Operands from, Range some, Lanes& out, Operation operation) {
  with_exactness(*from[0], [&](auto x) {
    with_exactness(*from[1], [&](auto y) {
      for (std::size_t i = some.begin; i < some.end; ++i)
        out.set(i, operation(element<x>(*from[0], i), element<y>(*from[1], i)));
    });
  });
}

void each_element(const Node& node, Operands from, Range some, Lanes& out) {
  const Measures m(node.arithmetic);
  using const_ref = const Approximate&;
  switch (node.op) {
    case Op::add: return each_pair(from, some, out, [&](const_ref x, const_ref y) { return added(m, x, y); });
    case Op::subtract:
      return each_pair(from, some, out, [&](const_ref x, Approximate y) {
        y.value = -y.value, y.overflow = opposite_of(y.overflow);
        return added(m, x, y);
      });
    case Op::multiply: return each_pair(from, some, out, [&](const_ref x, const_ref y) { return multiplied(m, x, y); });
    case Op::divide:
      return each_pair(from, some, out, [&](const_ref x, const_ref y) { return divided(m, node.divides_by_number, x, y); });
    case Op::negate:
      return each(from, some, out, [](const_ref x) {
        return Approximate{-x.value, x.radius, x.error, opposite_of(x.overflow)};
      });
    case Op::absolute:
      return each(from, some, out, [](const_ref x) {
        return Approximate{std::fabs(x.value), x.radius, x.error, overflow_of_size(x.overflow)};
      });
    case Op::sign: return each(from, some, out, [&](const_ref x) { return sign_of(m, x); });
    case Op::maximum: return each_pair(from, some, out, [&](const_ref x, const_ref y) { return extreme(m, x, y, 1); });
    case Op::minimum: return each_pair(from, some, out, [&](const_ref x, const_ref y) { return extreme(m, x, y, -1); });
    case Op::function: {
      const Slope slope = slope_of(node.function->name);
      return each(from, some, out, [&](const_ref x) { return function_value(node, m, slope, x); });
    }
    case Op::entered: return each(from, some, out, [&](const_ref x) { return entered(m, node.arithmetic.format, x); });
    case Op::rounded:
      return each(from, some, out, [&](const_ref x) {
        return risen(m, x, largest(node.format),
                     [&](double value) { return emu::round_to(node.format, value, node.rounding).value; });
      });
    case Op::whole:
      return each(from, some, out, [&](const_ref x) {
        return risen(m, x, m.largest, [&](double value) { return whole_part(node.whole, value); });
      });
    case Op::less: return each_pair(from, some, out, [](const_ref x, const_ref y) { return compared(x, y, std::less<>()); });
    case Op::equal:
      return each_pair(from, some, out, [](const_ref x, const_ref y) { return compared(x, y, std::equal_to<>()); });
    case Op::both: return each_pair(from, some, out, both);
    case Op::opposite:
      return each(from, some, out, [](const_ref x) { return truth(x.value == 0, is_open(x), kernel_doubts(x)); });
    case Op::choose:
      for (std::size_t i = some.begin; i < some.end; ++i) out.set(i, chosen(m, from[0]->at(i), from[1]->at(i), from[2]->at(i)));
      return;
    default: break;
  }
  for (std::size_t i = some.begin; i < some.end; ++i) out.set(i, {});
}

/// Whether exact operands have an exact result.
bool stays_exact(const Node& node) {
  switch (node.op) {
    case Op::negate:
    case Op::absolute:
    case Op::maximum:
    case Op::minimum:
    case Op::less:
    case Op::equal:
    case Op::both:
    case Op::opposite:
    case Op::choose:
    case Op::whole:
    case Op::rounded: return true;
    default: return false;
  }
}

}  // namespace

Approximate settled(const KernelArithmetic& arithmetic, Approximate x) {
  return made(Measures(arithmetic), x.value, x.radius, x.error, x.overflow);
}

void compute(const Node& node, std::span<const Lanes* const> operands, std::size_t count, Lanes& out) {
  const bool exact = std::all_of(operands.begin(), operands.end(), [](const Lanes* lanes) { return lanes->exact; });
  out.exact = out.in_range = exact && stays_exact(node);
  if (out.exact && node.op == Op::rounded) {
    emu::round_to(node.format, std::span<const double>(operands[0]->value, count), std::span<double>(out.value, count),
                  node.rounding);
    return;
  }
  std::size_t done = 0;
  if (std::all_of(operands.begin(), operands.end(), [](const Lanes* lanes) { return lanes->in_range; }))
    if (const std::optional<LaneOperation> operation = in_vectors(node))
      done = compute_in_vectors(*operation, operands, count, out);
  each_element(node, operands, {done, count}, out);
  const auto stays = [](Overflow overflow) { return overflow == Overflow::none; };
  // Of zeros of both signs the greatest is either.
  if (out.exact && (node.op == Op::maximum || node.op == Op::minimum))
    out.exact = out.in_range = std::all_of(out.overflow + done, out.overflow + count, stays);
  if (node.op == Op::entered) {
    const auto zero = [](double x) { return x == 0; };
    out.in_range = std::all_of(out.overflow, out.overflow + count, stays);
    out.exact =
        out.in_range && std::all_of(out.radius, out.radius + count, zero) && std::all_of(out.error, out.error + count, zero);
  }
  if (done == 0 || out.exact) return;
  out.in_range = std::all_of(out.overflow + done, out.overflow + count, stays);
  if (!out.in_range) std::fill_n(out.overflow, done, Overflow::none);
}

Approximate rounded_sum(const Node& node, const Approximate& x, const Approximate& y) {
  const DoubleDouble sum = exact_add(x.value, y.value);
  const double plain = x.value + y.value;
  const Overflow overflow = overflow_of_sum(x, y);
  if (!std::isfinite(plain)) return not_finite_of(plain, sum_of(kinds_of(x), kinds_of(y)), false, x, y);
  return risen(Measures(node.arithmetic), {plain, x.radius + y.radius + std::fabs(sum.low), x.error + y.error, overflow},
               largest(node.format), [&](double value) { return emu::round_to(node.format, value).value; });
}

Approximate approximate_number(const Node& node) {
  if (node.decimal == "inf" || node.decimal == "nan") return {.value = node.decimal == "inf" ? infinity : NAN};
  const Real exact(node.decimal);
  const double value = mpfr_get_d(exact.backend().data(), MPFR_RNDN);
  const Real rest = abs(exact - value);
  const double in_format = emu::round_to(node.arithmetic.format, value).value;
  const Real off = abs(exact - in_format);
  return {.value = value,
          .radius = mpfr_get_d(rest.backend().data(), MPFR_RNDU),
          .error = mpfr_get_d(off.backend().data(), MPFR_RNDU)};
}

}  // namespace ulpscope::verify
