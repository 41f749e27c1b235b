// SPDX-License-Identifier: Apache-2.0
// Functions of formulas in vectors, with their slopes and what a kernel's may be off by: operation by operation those of
// emu/quick_functions.hpp, function_slopes.cpp and elementwise_functions.cpp, the same bits. Compiled once for each instruction
// set.
#if defined(ULPSCOPE_LANE_FUNCTIONS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef ULPSCOPE_LANE_FUNCTIONS_INL
#undef ULPSCOPE_LANE_FUNCTIONS_INL
#else
#define ULPSCOPE_LANE_FUNCTIONS_INL
#endif

#include <hwy/highway.h>

#include <limits>

#include "emu/erf-inl.hpp"
#include "emu/exp-inl.hpp"
#include "emu/simd_targets-inl.hpp"
#include "emu/tanh-inl.hpp"
#include "verify/operations/kernel_arithmetic.hpp"

HWY_BEFORE_NAMESPACE();
namespace ulpscope::verify::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using DD = emu::detail::HWY_NAMESPACE::VectorTag<double>;
using D = hn::Vec<DD>;
using Mask = hn::Mask<DD>;

HWY_INLINE D set(double x) { return hn::Set(DD(), x); }
HWY_INLINE D zero() { return hn::Zero(DD()); }
HWY_INLINE D select(Mask mask, D yes, D no) { return hn::IfThenElse(mask, yes, no); }
HWY_INLINE D if_true(Mask mask, D yes) { return hn::IfThenElseZero(mask, yes); }
HWY_INLINE Mask is_zero(D x) { return hn::Eq(x, zero()); }

/// No element is looked at one by one.
HWY_INLINE Mask all_plain() { return hn::Eq(zero(), zero()); }
HWY_INLINE Mask is_finite(D x) { return hn::Lt(hn::Abs(x), set(std::numeric_limits<double>::infinity())); }

HWY_INLINE D exponential(D x) { return emu::detail::HWY_NAMESPACE::exponentials(DD(), x); }

/// What the bounds of functions are made of.
struct FunctionConstants {
  explicit HWY_INLINE FunctionConstants(const KernelArithmetic& a)
      : unit(set(verify::unit(a.format))),
        relative(set(function_relative(a))),
        absolute(set(a.function_abs)),
        underflow(set(verify::underflow(a.format))),
        largest(set(verify::largest(a.format))) {}
  D unit, relative, absolute, underflow, largest;
};

/// y = e^x: an error of function_ulp.
struct Exp {
  HWY_INLINE D value(D x) const { return exponential(x); }
  HWY_INLINE D slope(D x, D reach) const { return exponential(hn::Add(x, reach)); }
  HWY_INLINE D error(const FunctionConstants& a, D, D y) const {
    return hn::Add(hn::Add(hn::Mul(a.relative, hn::Abs(y)), a.absolute), a.underflow);
  }
  HWY_INLINE Mask is_plain(D x) const { return hn::Eq(x, x); }  // no NaN
};

HWY_INLINE D hyperbolic_tangent(D x) { return emu::detail::HWY_NAMESPACE::hyperbolic_tangents(DD(), x); }

/// Its error is that of exp.
struct Tanh : Exp {
  HWY_INLINE D value(D x) const { return hyperbolic_tangent(x); }
  HWY_INLINE D slope(D x, D reach) const {
    const D nearest = hn::Max(hn::Sub(hn::Abs(x), reach), zero());
    return hn::Min(set(1), hn::Mul(set(4), exponential(hn::Mul(set(-2), nearest))));
  }
  HWY_INLINE Mask is_plain(D x) const { return is_finite(x); }
};

HWY_INLINE D sigmoid(D x) {
  const D e = exponential(hn::Neg(hn::Abs(x)));
  return hn::Div(select(hn::Gt(x, zero()), set(1), e), hn::Add(set(1), e));
}

/// of_quotient() of elementwise_functions.cpp.
HWY_INLINE D error_of_quotient(const FunctionConstants& a, D x, D y, D factor) {
  const D e = exponential(hn::Neg(x)), size = hn::Abs(y), one = set(1);
  const D beyond = hn::Add(size, a.underflow);
  const D inherited = hn::Div(hn::Mul(hn::Mul(set(1.0625), a.relative), e), hn::Add(one, e));
  const D relative = hn::Add(hn::Add(inherited, hn::Mul(set(2), a.relative)), hn::Mul(set(4), a.unit));
  const D lost = hn::Mul(hn::Add(one, factor), a.underflow);
  const D error = hn::Add(hn::Add(hn::Mul(size, relative), lost), hn::Mul(factor, a.absolute));
  return select(hn::Ge(hn::Mul(e, hn::Add(one, a.relative)), a.largest), beyond, error);
}

struct Sigmoid {
  HWY_INLINE D value(D x) const { return sigmoid(x); }
  HWY_INLINE D slope(D x, D reach) const {
    const D nearest = hn::Max(hn::Sub(hn::Abs(x), reach), zero());
    return hn::Min(set(0.25), exponential(hn::Neg(nearest)));
  }
  HWY_INLINE D error(const FunctionConstants& a, D x, D y) const { return error_of_quotient(a, x, y, set(1)); }
  HWY_INLINE Mask is_plain(D x) const { return is_finite(x); }
};

struct Silu {
  HWY_INLINE D value(D x) const { return hn::Mul(x, sigmoid(x)); }
  HWY_INLINE D slope(D x, D reach) const {
    const D end = hn::Add(x, reach), furthest = hn::Add(hn::Abs(x), reach);
    const D below = hn::Min(set(1.1), hn::Mul(hn::Add(set(1), furthest), exponential(end)));
    return select(hn::Ge(end, zero()), set(1.1), below);
  }
  HWY_INLINE D error(const FunctionConstants& a, D x, D y) const { return error_of_quotient(a, x, y, hn::Abs(x)); }
  HWY_INLINE Mask is_plain(D x) const { return hn::Gt(x, set(-700)); }
};

HWY_INLINE D error_function(D x) { return emu::detail::HWY_NAMESPACE::error_functions(DD(), x); }

/// Its error is that of exp.
struct Erf : Exp {
  HWY_INLINE D value(D x) const { return error_function(x); }
  HWY_INLINE D slope(D x, D reach) const {
    const D nearest = hn::Max(hn::Sub(hn::Abs(x), reach), zero());
    return hn::Mul(set(1.1283791670955127), exponential(hn::Mul(hn::Neg(nearest), nearest)));
  }
  HWY_INLINE Mask is_plain(D x) const { return is_finite(x); }
};

/// of_gate() of elementwise_functions.cpp; f is not negative.
HWY_INLINE D error_of_gate(const FunctionConstants& a, D x, D of_f, D f, D y) {
  const D one = set(1), size = hn::Mul(hn::Abs(x), set(0.5));
  const D of_sum = hn::Mul(size, hn::Add(of_f, hn::Mul(a.unit, hn::Add(hn::Add(one, f), of_f))));
  const D of_products = hn::Mul(hn::Mul(set(3), a.unit), hn::Add(hn::Abs(y), hn::Mul(size, of_f)));
  return hn::Add(hn::Add(of_sum, of_products), hn::Mul(a.underflow, hn::Add(one, size)));
}

/// emu::gelu(), and what function_slopes.cpp and elementwise_functions.cpp say of it.
struct Gelu {
  HWY_INLINE D value(D x) const { return emu::detail::HWY_NAMESPACE::gelus(DD(), x); }
  HWY_INLINE D slope(D x, D reach) const {
    const D end = hn::Add(x, reach), t = hn::Neg(end), furthest = hn::Add(hn::Abs(x), reach);
    const D gate = exponential(hn::Mul(hn::Mul(hn::Neg(t), t), set(0.5)));
    const D below = hn::Min(set(1), hn::Mul(hn::Add(set(1), furthest), gate));
    return select(hn::Ge(end, zero()), set(1.1296), below);
  }
  HWY_INLINE D error(const FunctionConstants& a, D x, D y) const {
    const D z = hn::Mul(x, set(0.7071067811865476)), f = hn::Abs(error_function(z));
    const D shrunk = hn::Sub(set(1), hn::Mul(set(4), a.unit));
    const D slope = hn::Mul(set(1.1283791670955126), exponential(hn::Mul(hn::Mul(hn::Neg(z), z), shrunk)));
    const D of_z = hn::Mul(hn::Mul(hn::Mul(hn::Mul(set(2), a.unit), hn::Abs(z)), slope), set(1 + 0x1p-20));
    return error_of_gate(a, x, hn::Add(hn::Add(hn::Mul(a.relative, f), a.absolute), of_z), f, y);
  }
  HWY_INLINE Mask is_plain(D x) const { return hn::Lt(hn::Abs(x), set(15)); }
};

/// The same of emu::gelu_tanh().
struct GeluTanh {
  HWY_INLINE D value(D x) const { return emu::detail::HWY_NAMESPACE::gelus_of_tanh(DD(), x); }
  HWY_INLINE D slope(D x, D reach) const { return hn::Add(Gelu().slope(x, reach), set(0.01)); }
  HWY_INLINE D error(const FunctionConstants& a, D x, D y) const {
    const D one = set(1), cube = hn::Mul(hn::Mul(hn::Mul(set(0.044715), x), x), x);
    const D z = hn::Mul(set(0.7978845608028654), hn::Add(x, cube)), f = hn::Abs(hyperbolic_tangent(z));
    const D of_z = hn::Mul(hn::Mul(set(7), a.unit), hn::Abs(z));
    const D slope = hn::Min(one, hn::Mul(set(4), exponential(hn::Mul(set(-2), hn::Sub(hn::Abs(z), of_z)))));
    const D of_f = hn::Add(hn::Add(hn::Mul(a.relative, f), a.absolute), hn::Mul(hn::Mul(of_z, slope), set(1 + 0x1p-20)));
    return error_of_gate(a, x, of_f, f, y);
  }
  HWY_INLINE Mask is_plain(D x) const { return hn::Lt(hn::Abs(x), set(15)); }
};

}  // namespace
}  // namespace ulpscope::verify::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
