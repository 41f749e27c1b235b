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
    case Op::atan: return mpfr_atan;
    case Op::erf: return mpfr_erf;
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
/// beside 0.
void beside_limit(Op op, mpfr_ptr out, mpfr_srcptr x) {
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
  if (!mpfr_regular_p(x)) return limits_and_zeros(op, out, x);
  // From 1024, 32 and 16 on the distance to the limit is below 2^-400, beyond what any format of 16 bits here resolves.
  const mpfr_exp_t far = op == Op::gelu ? 5 : (op == Op::gelu_tanh ? 4 : 10);
  if (mpfr_get_exp(x) > far) return beside_limit(op, out, x);
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
