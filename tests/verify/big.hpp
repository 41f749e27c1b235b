// SPDX-License-Identifier: Apache-2.0
// Numbers of 900 bits for oracles, on raw MPFR.
#pragma once

#include <mpfr.h>

namespace ulpscope::operations {

class Big {
 public:
  Big(double x = 0) { mpfr_init2(value_, 900), mpfr_set_d(value_, x, MPFR_RNDN); }
  Big(const Big& other) : Big() { mpfr_set(value_, other.value_, MPFR_RNDN); }
  Big& operator=(const Big& other) {
    if (this != &other) mpfr_set(value_, other.value_, MPFR_RNDN);
    return *this;
  }
  ~Big() { mpfr_clear(value_); }

  friend Big operator+(const Big& a, const Big& b) { return of(mpfr_add, a, b); }
  friend Big operator-(const Big& a, const Big& b) { return of(mpfr_sub, a, b); }
  friend Big operator*(const Big& a, const Big& b) { return of(mpfr_mul, a, b); }
  friend Big operator/(const Big& a, const Big& b) { return of(mpfr_div, a, b); }
  friend bool operator<=(const Big& a, const Big& b) { return mpfr_lessequal_p(a.value_, b.value_) != 0; }
  Big power(const Big& exponent) const { return of(mpfr_pow, *this, exponent); }
  Big magnitude() const {
    Big y(*this);
    mpfr_abs(y.value_, y.value_, MPFR_RNDN);
    return y;
  }
  /// e^x by way of 2^x.
  Big exponential() const {
    Big y;
    mpfr_const_log2(y.value_, MPFR_RNDN);
    y = *this / y;
    mpfr_exp2(y.value_, y.value_, MPFR_RNDN);
    return y;
  }
  double nearest() const { return mpfr_get_d(value_, MPFR_RNDN); }
  float nearest_float() const { return mpfr_get_flt(value_, MPFR_RNDN); }

 private:
  using Operation = int (*)(mpfr_ptr, mpfr_srcptr, mpfr_srcptr, mpfr_rnd_t);
  static Big of(Operation operation, const Big& a, const Big& b) {
    Big y;
    operation(y.value_, a.value_, b.value_, MPFR_RNDN);
    return y;
  }
  mpfr_t value_;
};

/// Whether `value` is within `radius` of `exact`.
inline bool encloses(double value, double radius, const Big& exact) { return (exact - Big(value)).magnitude() <= Big(radius); }

}  // namespace ulpscope::operations
