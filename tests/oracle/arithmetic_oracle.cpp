// SPDX-License-Identifier: Apache-2.0
// Arithmetic by MPFR, rounded to odd first and then once by the rounding oracle.
#include "tests/oracle/arithmetic_oracle.hpp"

namespace ulpscope::oracle {
namespace {

/// Bits of an intermediate result. Rounded to odd it serves every format of up to 53 bits.
constexpr mpfr_prec_t generous = 128;

std::uint64_t sign_bit(Format f) { return !is_signed(f) ? 0 : std::uint64_t{1} << (f.exponent_bits + f.fraction_bits); }

bool is_signaling_nan(Format f, std::uint64_t code) {
  return f.style == ieee && is_nan(f, code) && (code >> (f.fraction_bits - 1)) % 2 == 0;
}

bool is_subnormal(Format f, std::uint64_t code) {
  const std::uint64_t magnitude = code & ((std::uint64_t{1} << (f.exponent_bits + f.fraction_bits)) - 1);
  return f.style != fnu && magnitude != 0 && magnitude < std::uint64_t{1} << f.fraction_bits;
}

std::uint64_t flushed(Format f, std::uint64_t code) {
  if (!is_subnormal(f, code)) return code;
  return has_one_zero(f) ? 0 : code & sign_bit(f);
}

}  // namespace

void to_odd_last_bit(mpfr_ptr out, int ternary) {
  if (ternary == 0 || mpfr_min_prec(out) == mpfr_get_prec(out)) return;  // exact, or odd already
  if (mpfr_signbit(out)) {
    mpfr_nextbelow(out);
  } else {
    mpfr_nextabove(out);
  }
}

Operation::Operation(Format format, Op op, Operands operands, bool subnormals_are_zero) : format_(format), exact_(generous) {
  std::uint64_t codes[3] = {operands.a, operands.b, operands.c};
  const bool unary = op == Op::sqrt || op == Op::scale_b || op == Op::log_b || op >= first_elementary;
  const int count = unary ? 1 : (op == Op::fma ? 3 : 2);
  bool signaling = false, nan = false;
  for (int i = 0; i < count; ++i) {
    if (subnormals_are_zero) codes[i] = flushed(format, codes[i]);
    signaling = signaling || is_signaling_nan(format, codes[i]);
    nan = nan || is_nan(format, codes[i]);
  }
  set_value(a_, format, codes[0]);
  set_value(b_, format, codes[1]);
  set_value(c_, format, codes[2]);
  if (op == Op::minimum || op == Op::maximum || op == Op::minimum_number || op == Op::maximum_number) {
    flags_ = signaling ? flag_invalid : 0;
    extremum(op, codes[0], codes[1]);
    return;
  }
  if (op == Op::fma && ((mpfr_inf_p(a_) && mpfr_zero_p(b_)) || (mpfr_zero_p(a_) && mpfr_inf_p(b_)))) {
    kind_ = Kind::nan;  // also with a NaN to add
    flags_ = flag_invalid;
    return;
  }
  if (nan) {
    kind_ = Kind::nan;
    flags_ = signaling ? flag_invalid : 0;
    return;
  }
  compute(op, operands.count);
  if (mpfr_nan_p(exact_)) {
    kind_ = Kind::nan;
    flags_ = flag_invalid;
  }
}

void Operation::compute(Op op, long count) {
  int ternary = 0;
  switch (op) {
    case Op::sub: mpfr_neg(b_, b_, MPFR_RNDN); [[fallthrough]];
    case Op::add:
      opposed_zeros_ = mpfr_signbit(a_) != mpfr_signbit(b_);
      ternary = mpfr_add(exact_, a_, b_, MPFR_RNDZ);
      break;
    case Op::mul: ternary = mpfr_mul(exact_, a_, b_, MPFR_RNDZ); break;
    case Op::div:
      if (mpfr_zero_p(b_) && mpfr_number_p(a_) && !mpfr_zero_p(a_)) flags_ = flag_divide_by_zero;
      ternary = mpfr_div(exact_, a_, b_, MPFR_RNDZ);
      break;
    case Op::rem: ternary = mpfr_remainder(exact_, a_, b_, MPFR_RNDZ); break;
    case Op::fma:
      opposed_zeros_ = (mpfr_signbit(a_) != mpfr_signbit(b_)) != (mpfr_signbit(c_) != 0);
      ternary = mpfr_fma(exact_, a_, b_, c_, MPFR_RNDZ);
      break;
    case Op::sqrt: ternary = mpfr_sqrt(exact_, a_, MPFR_RNDZ); break;
    case Op::scale_b: ternary = mpfr_mul_2si(exact_, a_, count, MPFR_RNDZ); break;
    case Op::log_b:
      if (mpfr_zero_p(a_)) {
        flags_ = flag_divide_by_zero;
        mpfr_set_inf(exact_, -1);
      } else if (mpfr_inf_p(a_)) {
        mpfr_set_inf(exact_, 1);
      } else {
        mpfr_set_si(exact_, mpfr_get_exp(a_) - 1, MPFR_RNDN);  // MPFR's significands lie in [1/2, 1)
      }
      break;
    default:
      mpfr_clear_divby0();
      elementary(op, exact_, a_);
      if (mpfr_divby0_p()) flags_ = flag_divide_by_zero;
      break;
  }
  if (!mpfr_zero_p(exact_)) opposed_zeros_ = false;
  if (mpfr_number_p(exact_)) to_odd_last_bit(exact_, ternary);
}

void Operation::extremum(Op op, std::uint64_t a, std::uint64_t b) {
  const bool least = op == Op::minimum || op == Op::minimum_number,
             number_wins = op == Op::minimum_number || op == Op::maximum_number;
  kind_ = Kind::verbatim;
  if (mpfr_nan_p(a_) || mpfr_nan_p(b_)) {
    if (!number_wins || (mpfr_nan_p(a_) && mpfr_nan_p(b_))) {
      kind_ = Kind::nan;
    } else {
      verbatim_ = mpfr_nan_p(a_) ? b : a;
    }
    return;
  }
  int order = mpfr_cmp(a_, b_);
  if (order == 0) order = static_cast<int>(mpfr_signbit(b_) != 0) - static_cast<int>(mpfr_signbit(a_) != 0);  // -0 < +0
  verbatim_ = (order < 0) == least ? a : b;
}

Answer Operation::round(Mode mode, Options options) const {
  if (kind_ == Kind::verbatim) return {verbatim_, 0, exact, flags_};
  static thread_local Number nan, zero;
  if (kind_ == Kind::nan) {
    mpfr_set_nan(nan);
    Answer answer = oracle::round(format_, nan, mode, options);
    answer.flags |= flags_;
    return answer;
  }
  if (opposed_zeros_) {
    mpfr_set_zero(zero, mode == downward ? -1 : 1);
    return oracle::round(format_, zero, mode, options);
  }
  Answer answer = oracle::round(format_, exact_, mode, options);
  if (flags_ != 0) answer.flags = flags_;
  return answer;
}

Answer round_to_integral(Format format, std::uint64_t a, Mode mode, Options options, bool signals_inexact) {
  static thread_local Number x, whole;
  set_value(x, format, a);
  mpfr_set_prec(whole, 2200);  // every double's whole part
  mpfr_set(whole, x, MPFR_RNDN);
  if (mpfr_number_p(x)) {
    switch (mode) {
      case nearest_even: mpfr_rint(whole, x, MPFR_RNDN); break;
      case nearest_away: mpfr_round(whole, x); break;
      case toward_zero: mpfr_trunc(whole, x); break;
      case upward: mpfr_ceil(whole, x); break;
      case downward: mpfr_floor(whole, x); break;
      case to_odd: {
        mpfr_trunc(whole, x);
        static thread_local Number half;
        mpfr_set_prec(half, 2200);
        mpfr_div_2ui(half, whole, 1, MPFR_RNDN);
        if (!mpfr_integer_p(x) && mpfr_integer_p(half)) mpfr_add_si(whole, whole, mpfr_signbit(x) ? -1 : 1, MPFR_RNDN);
        break;
      }
    }
  }
  Answer answer = round(format, whole, mode, options);
  if (is_signaling_nan(format, a)) answer.flags |= flag_invalid;
  if (signals_inexact && mpfr_number_p(x) && !mpfr_equal_p(whole, x)) answer.flags |= flag_inexact;
  return answer;
}

}  // namespace ulpscope::oracle
