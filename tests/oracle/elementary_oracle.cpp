// SPDX-License-Identifier: Apache-2.0
// Elementary functions by MPFR, rounded once, with the flags of IEEE 754.
#include <initializer_list>

#include "tests/oracle/arithmetic_oracle.hpp"

namespace ulpscope::oracle {
namespace {

/// Stands for every nonzero number that underflows in MPFR, and for the distance to a limit.
constexpr long vanishing = -1'000'000;

int reciprocal_root(mpfr_ptr out, mpfr_srcptr x, mpfr_rnd_t rounding) {
  const int ternary = mpfr_rec_sqrt(out, x, rounding);
  if (mpfr_zero_p(x)) mpfr_setsign(out, out, mpfr_signbit(x), MPFR_RNDN);  // MPFR has +inf for -0
  return ternary;
}

/// The functions MPFR has.
int (*function_of(Op op))(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t) {
  switch (op) {
    case Op::exp: return mpfr_exp;
    case Op::exp2: return mpfr_exp2;
    case Op::exp10: return mpfr_exp10;
    case Op::expm1: return mpfr_expm1;
    case Op::log: return mpfr_log;
    case Op::log2: return mpfr_log2;
    case Op::log10: return mpfr_log10;
    case Op::log1p: return mpfr_log1p;
    case Op::sin: return mpfr_sin;
    case Op::cos: return mpfr_cos;
    case Op::tan: return mpfr_tan;
    case Op::sinh: return mpfr_sinh;
    case Op::cosh: return mpfr_cosh;
    case Op::tanh: return mpfr_tanh;
    case Op::asin: return mpfr_asin;
    case Op::acos: return mpfr_acos;
    case Op::atan: return mpfr_atan;
    case Op::asinh: return mpfr_asinh;
    case Op::acosh: return mpfr_acosh;
    case Op::atanh: return mpfr_atanh;
    case Op::erf: return mpfr_erf;
    case Op::erfc: return mpfr_erfc;
    case Op::rsqrt: return reciprocal_root;
    case Op::cbrt: return mpfr_cbrt;
    default: return nullptr;
  }
}

/// e^x/(1 + e^x) to `out`'s precision, as 1/(1 + e^-x).
void sigmoid(mpfr_ptr out, mpfr_srcptr x) {
  mpfr_neg(out, x, MPFR_RNDN);
  mpfr_exp(out, out, MPFR_RNDN);
  mpfr_add_ui(out, out, 1, MPFR_RNDN);
  mpfr_ui_div(out, 1, out, MPFR_RNDN);
}

bool is_of_half_turns(Op op) { return op == Op::sinpi || op == Op::cospi || op == Op::tanpi; }

/// sin(pi x) by sin(pi (x - n)), or cos(pi x), whose zeros lie at 1/2, by sin(pi (1/2 - |x - n|)); n is the nearest whole
/// number, and all differences are exact. MPFR before 4.2 has neither.
void of_half_turns(Op op, mpfr_ptr out, mpfr_srcptr x) {
  constexpr mpfr_prec_t precision = 200;  // of x, 2^-100 or greater, and of the differences
  Number n(precision), rest(precision), half(precision), factor(mpfr_get_prec(out));
  mpfr_rint(n, x, MPFR_RNDN);
  mpfr_sub(rest, x, n, MPFR_RNDN);
  mpfr_div_2ui(half, n, 1, MPFR_RNDN);
  if (op == Op::cospi) {
    mpfr_abs(rest, rest, MPFR_RNDN);
    mpfr_d_sub(rest, 0.5, rest, MPFR_RNDN);
  }
  mpfr_const_pi(factor, MPFR_RNDN);
  mpfr_mul(factor, factor, rest, MPFR_RNDN);
  mpfr_sin(out, factor, MPFR_RNDN);
  if (!mpfr_integer_p(half)) mpfr_neg(out, out, MPFR_RNDN);
}

/// Of an infinity NaN; of whole numbers, halves, and for the tangent quarters, exact: IEEE 754-2019, 9.2.1. Whether x is one.
bool special_half_turns(Op op, mpfr_ptr out, mpfr_srcptr x) {
  Number quarter(80), place(80);  // x = quarter/4; 8 quarters are a period
  mpfr_mul_2ui(quarter, x, 2, MPFR_RNDN);
  if (!mpfr_number_p(x)) mpfr_set_nan(out);
  if (!mpfr_number_p(x)) return true;
  if (!mpfr_integer_p(quarter)) return false;
  mpfr_set_ui(place, 8, MPFR_RNDN);
  mpfr_fmod(place, quarter, place, MPFR_RNDN);
  const long at = (mpfr_get_si(place, MPFR_RNDN) + 8) % 8;
  const bool negative = mpfr_signbit(x) != 0;
  if (op == Op::tanpi) {
    if (at % 4 == 0) {
      mpfr_set_zero(out, negative != (at == 4) ? -1 : 1);
    } else if (at % 4 == 2) {
      mpfr_set_inf(out, at == 2 ? 1 : -1);
      mpfr_set_divby0();
    } else {
      mpfr_set_si(out, at % 4 == 1 ? 1 : -1, MPFR_RNDN);
    }
    return true;
  }
  if (at % 2 == 1) return false;
  const long of_sine = op == Op::sinpi ? at : (at + 2) % 8;
  if (of_sine % 4 == 0) {
    mpfr_set_zero(out, op == Op::sinpi && negative ? -1 : 1);
  } else {
    mpfr_set_si(out, of_sine == 2 ? 1 : -1, MPFR_RNDN);
  }
  return true;
}

/// The composed functions, to `out`'s precision but for a few bits.
void composed(Op op, mpfr_ptr out, mpfr_srcptr x) {
  Number t(mpfr_get_prec(out));
  switch (op) {
    case Op::sigmoid: sigmoid(out, x); break;
    case Op::silu:
      sigmoid(out, x);
      mpfr_mul(out, out, x, MPFR_RNDN);
      break;
    case Op::softplus:
      mpfr_exp(out, x, MPFR_RNDN);
      mpfr_log1p(out, out, MPFR_RNDN);
      break;
    case Op::gelu:  // x erfc(-x/sqrt(2))/2
      mpfr_sqrt_ui(t, 2, MPFR_RNDN);
      mpfr_div(out, x, t, MPFR_RNDN);
      mpfr_neg(out, out, MPFR_RNDN);
      mpfr_erfc(out, out, MPFR_RNDN);
      mpfr_mul(out, out, x, MPFR_RNDN);
      mpfr_div_2ui(out, out, 1, MPFR_RNDN);
      break;
    case Op::sinpi:
    case Op::cospi: of_half_turns(op, out, x); break;
    case Op::tanpi:
      of_half_turns(Op::sinpi, out, x);
      of_half_turns(Op::cospi, t, x);
      mpfr_div(out, out, t, MPFR_RNDN);
      break;
    default:  // gelu_tanh: x sigmoid(2 sqrt(2/pi) (x + 0.044715 x^3))
      mpfr_pow_ui(out, x, 3, MPFR_RNDN);
      mpfr_mul_ui(out, out, 44715, MPFR_RNDN);
      mpfr_div_ui(out, out, 1'000'000, MPFR_RNDN);
      mpfr_add(out, out, x, MPFR_RNDN);
      mpfr_const_pi(t, MPFR_RNDN);
      mpfr_ui_div(t, 8, t, MPFR_RNDN);
      mpfr_sqrt(t, t, MPFR_RNDN);
      mpfr_mul(out, out, t, MPFR_RNDN);
      mpfr_set(t, out, MPFR_RNDN);
      sigmoid(out, t);
      mpfr_mul(out, out, x, MPFR_RNDN);
      break;
  }
}

/// Far out the composed functions lie beside a limit: above x for softplus, below x or 1 for the others; at the other end
/// beside 0. Near 0 cos(pi x) lies below 1.
void beside_limit(Op op, mpfr_ptr out, mpfr_srcptr x) {
  if (op == Op::cospi) {
    mpfr_set_ui(out, 1, MPFR_RNDN);
    return mpfr_nextbelow(out);
  }
  if (mpfr_signbit(x)) {
    mpfr_set_si_2exp(out, op == Op::sigmoid || op == Op::softplus ? 1 : -1, vanishing, MPFR_RNDN);
    return;
  }
  if (op == Op::sigmoid) {
    mpfr_set_ui(out, 1, MPFR_RNDN);
  } else {
    mpfr_set(out, x, MPFR_RNDN);
  }
  if (op == Op::softplus) {
    mpfr_nextabove(out);
  } else {
    mpfr_nextbelow(out);
  }
}

void limits_and_zeros(Op op, mpfr_ptr out, mpfr_srcptr x) {
  const bool negative = mpfr_signbit(x) != 0, infinite = mpfr_inf_p(x) != 0;
  if (op == Op::sigmoid) {
    mpfr_set_d(out, infinite ? (negative ? 0 : 1) : 0.5, MPFR_RNDN);
  } else if (op == Op::softplus && !infinite) {
    to_odd_last_bit(out, mpfr_const_log2(out, MPFR_RNDZ));
  } else if (infinite && negative) {
    mpfr_set_zero(out, op == Op::softplus ? 1 : -1);
  } else {
    mpfr_set(out, x, MPFR_RNDN);
  }
}

}  // namespace

void elementary(Op op, mpfr_ptr out, mpfr_srcptr x) {
  if (const auto function = function_of(op)) {
    const int ternary = function(out, x, MPFR_RNDZ);
    if (mpfr_zero_p(out) && ternary != 0) {
      mpfr_set_si_2exp(out, ternary < 0 ? 1 : -1, vanishing, MPFR_RNDN);
    } else if (mpfr_number_p(out)) {
      to_odd_last_bit(out, ternary);
    }
    return;
  }
  if (is_of_half_turns(op) && special_half_turns(op, out, x)) return;
  if (!mpfr_regular_p(x)) return limits_and_zeros(op, out, x);
  // From 1024, 32 and 16 on the distance to the limit is below 2^-400, beyond what any format of 16 bits here resolves.
  const mpfr_exp_t far = op == Op::gelu ? 5 : (op == Op::gelu_tanh ? 4 : 10);
  if (is_of_half_turns(op) ? op == Op::cospi && mpfr_get_exp(x) < -100 : mpfr_get_exp(x) > far) return beside_limit(op, out, x);
  // None of these values is a number of few bits: with enough digits the error no longer reaches across one.
  for (const mpfr_prec_t precision : {160, 400, 2000}) {
    Number value(precision), least(precision), greatest(precision), error(precision);
    composed(op, value, x);
    mpfr_abs(error, value, MPFR_RNDU);
    mpfr_div_2ui(error, error, static_cast<unsigned long>(precision) - 40, MPFR_RNDU);
    mpfr_sub(least, value, error, MPFR_RNDD);
    mpfr_add(greatest, value, error, MPFR_RNDU);
    Number other(mpfr_get_prec(out));
    mpfr_set(out, least, MPFR_RNDZ);
    mpfr_set(other, greatest, MPFR_RNDZ);
    if (mpfr_equal_p(out, other)) return to_odd_last_bit(out, 1);
  }
  mpfr_set_nan(out);  // fails every comparison
}

}  // namespace ulpscope::oracle
