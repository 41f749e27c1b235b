// SPDX-License-Identifier: Apache-2.0
// One rounding by MPFR at a format's own precision and exponent range.
#include "tests/oracle/rounding_oracle.hpp"

#include <cmath>
#include <cstring>

namespace ulpscope::oracle {
namespace {

/// Narrows MPFR's exponent range from below for as long as it lives.
class LeastExponent {
 public:
  explicit LeastExponent(mpfr_exp_t emin) : before_(mpfr_get_emin()) { mpfr_set_emin(emin); }
  LeastExponent(const LeastExponent&) = delete;
  LeastExponent& operator=(const LeastExponent&) = delete;
  ~LeastExponent() { mpfr_set_emin(before_); }

 private:
  mpfr_exp_t before_;
};

bool has_zero(Format f) { return f.style != fnu; }
bool has_infinity(Format f) { return f.style == ieee || f.style == se || f.style == ue; }
bool has_nan(Format f) { return f.style != finite && !(f.style == ieee && f.fraction_bits == 0); }

/// Exponents of the least normal number and of the least spacing.
int least_exponent(Format f) { return (has_zero(f) ? 1 : 0) - f.bias; }
int least_spacing(Format f) { return least_exponent(f) - f.fraction_bits; }

std::uint64_t sign_code(Format f) { return is_signed(f) ? std::uint64_t{1} << (f.exponent_bits + f.fraction_bits) : 0; }
std::uint64_t all_ones(Format f) { return (std::uint64_t{1} << (f.exponent_bits + f.fraction_bits)) - 1; }
std::uint64_t infinity_code(Format f) {
  if (f.style == se) return all_ones(f);
  if (f.style == ue) return all_ones(f) - 1;
  return ((std::uint64_t{1} << f.exponent_bits) - 1) << f.fraction_bits;
}
std::uint64_t nan_code(Format f) { return has_one_zero(f) ? sign_code(f) : all_ones(f); }

/// The magnitude of a finite code, exactly.
void set_magnitude(mpfr_ptr out, Format f, std::uint64_t magnitude) {
  const std::uint64_t fraction = magnitude & ((std::uint64_t{1} << f.fraction_bits) - 1);
  const auto field = static_cast<int>(magnitude >> f.fraction_bits);
  const bool implicit = field != 0 || !has_zero(f);
  const std::uint64_t significand = fraction + (implicit ? std::uint64_t{1} << f.fraction_bits : 0);
  const int exponent = (implicit ? field - f.bias : 1 - f.bias) - f.fraction_bits;
  mpfr_set_ui_2exp(out, static_cast<unsigned long>(significand), exponent, MPFR_RNDN);
}

/// Spacing of the format's numbers at `number`, its exponent unbounded above.
mpfr_exp_t spacing(Format f, mpfr_srcptr number) {
  if (mpfr_zero_p(number)) return least_spacing(f);
  const mpfr_exp_t exponent = mpfr_get_exp(number) - 1;  // MPFR's significands lie in [1/2, 1)
  return (exponent > least_exponent(f) ? exponent : least_exponent(f)) - f.fraction_bits;
}

/// |number| in units of its spacing.
std::uint64_t integer_significand(Format f, mpfr_srcptr number) {
  static thread_local Number scaled;
  mpfr_mul_2si(scaled, number, -spacing(f, number), MPFR_RNDN);
  mpfr_abs(scaled, scaled, MPFR_RNDN);
  return mpfr_get_ui(scaled, MPFR_RNDN);
}

std::uint64_t code_of_number(Format f, mpfr_srcptr number) {
  const std::uint64_t sign = mpfr_signbit(number) ? sign_code(f) : 0;
  if (mpfr_zero_p(number)) return has_one_zero(f) ? 0 : sign;
  const std::uint64_t significand = integer_significand(f, number);
  const std::uint64_t implicit = std::uint64_t{1} << f.fraction_bits;
  if (significand < implicit) return sign | significand;  // subnormal: field zero
  const auto field = static_cast<std::uint64_t>(spacing(f, number) + f.fraction_bits + f.bias);
  return sign | field << f.fraction_bits | (significand - implicit);
}

/// Whether a significand without fraction counts as even: in formats of P3109, with those of their kind, where its code is,
/// that of the least normal number being 1; elsewhere never.
bool is_even_binade(Format f, mpfr_srcptr number) {
  return has_even_codes(f) && (mpfr_zero_p(number) || (mpfr_get_exp(number) - 1 - least_exponent(f)) % 2 != 0);
}

/// `x` by one of MPFR's own directions, exponents unbounded above; below, the format's fixed grid if `gradual`.
void round_directly(mpfr_ptr out, Format f, mpfr_srcptr x, mpfr_rnd_t direction, bool gradual) {
  mpfr_set_prec(out, f.fraction_bits + 1);
  if (!gradual) {
    mpfr_set(out, x, direction);
    return;
  }
  int ternary = mpfr_set(out, x, direction);
  const LeastExponent narrow(least_spacing(f) + 1);
  ternary = mpfr_check_range(out, ternary, direction);
  mpfr_subnormalize(out, ternary, direction);
}

void round_number(mpfr_ptr out, Format f, mpfr_srcptr x, Mode mode, bool gradual) {
  switch (mode) {
    case nearest_even:
      if (f.fraction_bits > 0) return round_directly(out, f, x, MPFR_RNDN, gradual);
      break;  // one bit of precision: ties to the larger magnitude, or to the even code
    case toward_zero: return round_directly(out, f, x, MPFR_RNDZ, gradual);
    case upward: return round_directly(out, f, x, MPFR_RNDU, gradual);
    case downward: return round_directly(out, f, x, MPFR_RNDD, gradual);
    default: break;
  }
  // From the two neighbours: `inner` toward zero and `outer` away from it.
  static thread_local Number inner, outer, middle;
  round_directly(inner, f, x, mpfr_signbit(x) ? MPFR_RNDU : MPFR_RNDD, gradual);
  round_directly(outer, f, x, mpfr_signbit(x) ? MPFR_RNDD : MPFR_RNDU, gradual);
  bool take_outer = false;
  if (mode == to_odd) {
    const bool odd =
        gradual ? integer_significand(f, inner) % 2 != 0 : f.fraction_bits == 0 || mpfr_min_prec(inner) == f.fraction_bits + 1;
    take_outer = !odd || (f.fraction_bits == 0 && is_even_binade(f, inner));
  } else {
    mpfr_add(middle, inner, outer, MPFR_RNDN);
    mpfr_div_2ui(middle, middle, 1, MPFR_RNDN);
    const int beyond_tie = mpfr_cmpabs(x, middle);
    take_outer = beyond_tie > 0 || (beyond_tie == 0 && !(mode == nearest_even && is_even_binade(f, inner)));
  }
  if (mpfr_equal_p(inner, outer)) take_outer = false;
  mpfr_set_prec(out, f.fraction_bits + 1);
  mpfr_set(out, take_outer ? outer : inner, MPFR_RNDN);
}

Answer answer(Format f, std::uint64_t code, Outcome outcome, int flags) { return {code, value_of(f, code), outcome, flags}; }

bool is_signaling(double x) {
  std::uint64_t word = 0;
  std::memcpy(&word, &x, sizeof word);
  return (word >> 51 & 1) == 0;
}

/// Overflow is delivered as the largest finite number (IEEE 754-2019, 7.4 a to d; to_odd truncates).
bool stops_at_max(Mode mode, bool negative) {
  return mode == toward_zero || mode == to_odd || (mode == upward && negative) || (mode == downward && !negative);
}

Answer round_infinite(Format f, bool negative, bool saturating) {
  const std::uint64_t sign = negative ? sign_code(f) : 0;
  if (!is_signed(f) && negative) return answer(f, has_zero(f) && saturating ? 0 : nan_code(f), infinite_input, flag_invalid);
  if (saturating) return answer(f, sign | max_finite_code(f), infinite_input, flag_invalid);
  if (has_infinity(f)) return answer(f, sign | infinity_code(f), infinite_input, 0);
  if (has_nan(f)) return answer(f, nan_code(f), infinite_input, flag_invalid);
  return answer(f, sign | max_finite_code(f), infinite_input, flag_invalid);
}

Answer overflow(Format f, bool negative, Mode mode, bool saturating) {
  const std::uint64_t sign = negative ? sign_code(f) : 0;
  std::uint64_t code = sign | max_finite_code(f);
  if (!saturating && has_infinity(f) && !stops_at_max(mode, negative)) code = sign | infinity_code(f);
  if (!saturating && !has_infinity(f) && has_nan(f)) code = nan_code(f);
  return answer(f, code, overflowed, flag_overflow | flag_inexact);
}

}  // namespace

bool is_signed(Format f) { return f.style != fnu && f.style != ue && f.style != uf; }

bool has_one_zero(Format f) { return f.style == fnuz || f.style == se; }

bool has_even_codes(Format f) { return has_one_zero(f) || f.style == ue || f.style == uf; }

int bits(Format f) { return (is_signed(f) ? 1 : 0) + f.exponent_bits + f.fraction_bits; }

std::uint64_t max_finite_code(Format f) {
  if (has_infinity(f)) return infinity_code(f) - 1;
  return f.style == fn || f.style == fnu || f.style == uf ? all_ones(f) - 1 : all_ones(f);
}

bool is_nan(Format f, std::uint64_t code) {
  const std::uint64_t magnitude = code & all_ones(f);
  if (f.style == ieee) return magnitude > infinity_code(f);
  if (has_one_zero(f)) return code == sign_code(f);
  return f.style != finite && magnitude == all_ones(f);
}

bool is_infinite(Format f, std::uint64_t code) { return has_infinity(f) && (code & all_ones(f)) == infinity_code(f); }

double value_of(Format f, std::uint64_t code) {
  static thread_local Number number;
  set_value(number, f, code);
  return mpfr_get_d(number, MPFR_RNDN);
}

std::uint64_t code_of(Format f, double value) {
  static thread_local Number number;
  mpfr_set_d(number, value, MPFR_RNDN);
  return code_of_number(f, number);
}

Answer round_nan(Format f, bool signaling) {
  return answer(f, has_nan(f) ? nan_code(f) : max_finite_code(f), nan_input, signaling || !has_nan(f) ? flag_invalid : 0);
}

void set_value(mpfr_ptr out, Format f, std::uint64_t code) {
  mpfr_set_prec(out, wide);
  if (is_nan(f, code)) return mpfr_set_nan(out);
  if (is_infinite(f, code)) {
    mpfr_set_inf(out, 1);
  } else {
    set_magnitude(out, f, code & all_ones(f));
  }
  mpfr_setsign(out, out, (code & sign_code(f)) != 0 ? 1 : 0, MPFR_RNDN);
}

Answer round(Format f, double x, Mode mode, Options options) {
  if (std::isnan(x)) return round_nan(f, is_signaling(x));
  static thread_local Number exact_x;
  mpfr_set_d(exact_x, x, MPFR_RNDN);
  return round(f, exact_x, mode, options);
}

Answer round(Format f, mpfr_srcptr exact_x, Mode mode, Options options) {
  const bool negative = mpfr_signbit(exact_x) != 0;
  if (mpfr_nan_p(exact_x)) return round_nan(f, false);
  if (mpfr_inf_p(exact_x)) return round_infinite(f, negative, options.saturating);
  static thread_local Number result, unbounded, least_normal, largest;
  if (mpfr_zero_p(exact_x)) {
    return has_zero(f) ? answer(f, code_of_number(f, exact_x), zero_input, 0)
                       : answer(f, 0, zero_input, flag_inexact | flag_underflow);
  }
  if (!is_signed(f) && negative && !has_zero(f)) return answer(f, nan_code(f), overflowed, flag_invalid);

  round_number(result, f, exact_x, mode, has_zero(f));
  mpfr_set_ui_2exp(least_normal, 1, least_exponent(f), MPFR_RNDN);
  const bool flushed = options.flush_subnormals && mpfr_cmpabs(result, least_normal) < 0;
  if (!is_signed(f) && negative && !mpfr_zero_p(result) && !flushed) {
    const bool clamped = options.saturating || mode == toward_zero || mode == upward;
    return answer(f, clamped ? 0 : nan_code(f), overflowed, flag_invalid);
  }
  set_magnitude(largest, f, max_finite_code(f));
  if (mpfr_cmpabs(result, largest) > 0) return overflow(f, negative, mode, options.saturating);

  // Tininess, before or after rounding to the format's precision with unbounded exponent.
  bool tiny = mpfr_cmpabs(exact_x, least_normal) < 0;
  if (tiny && !options.tiny_before) {
    round_number(unbounded, f, exact_x, mode, false);
    tiny = mpfr_cmpabs(unbounded, least_normal) < 0;
  }

  bool changed = mpfr_equal_p(result, exact_x) == 0;
  Outcome outcome = changed ? rounded : exact;
  if (mpfr_cmpabs(result, least_normal) < 0) {
    if (!has_zero(f)) {
      mpfr_set(result, least_normal, MPFR_RNDN);
      changed = true;
      outcome = rounded;
    } else if (mpfr_zero_p(result) || flushed) {
      mpfr_set_zero(result, negative ? -1 : 1);
      changed = true;
      outcome = to_zero;
    } else {
      outcome = subnormal;
    }
  }
  return answer(f, code_of_number(f, result), outcome, changed ? (tiny ? flag_inexact | flag_underflow : flag_inexact) : 0);
}

}  // namespace ulpscope::oracle
