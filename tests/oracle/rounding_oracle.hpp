// SPDX-License-Identifier: Apache-2.0
// What rounding to a format must give, worked out a second time: by MPFR, from the definitions, sharing nothing with emu.
// docs/numerics.md and IEEE 754-2019 clauses 4.3, 6.2, 7.4, 7.5 are the sources; of se, ue and uf the Interim Report of
// P3109, 4.0.
#pragma once

#include <mpfr.h>

#include <cstdint>

namespace ulpscope::oracle {

// Wide enough for any double, and for the midpoint of two neighbours, to be exact.
inline constexpr mpfr_prec_t wide = 64;

/// An mpfr_t with an owner.
class Number {
 public:
  explicit Number(mpfr_prec_t precision = wide) { mpfr_init2(number_, precision); }
  Number(const Number&) = delete;
  Number& operator=(const Number&) = delete;
  ~Number() { mpfr_clear(number_); }
  operator mpfr_ptr() { return number_; }
  operator mpfr_srcptr() const { return number_; }

 private:
  mpfr_t number_;
};

enum Style { ieee, fn, fnuz, finite, fnu, se, ue, uf };

struct Format {
  int exponent_bits;
  int fraction_bits;
  int bias;
  Style style;
};

enum Mode { nearest_even, nearest_away, toward_zero, upward, downward, to_odd };

struct Options {
  bool saturating = false;
  bool tiny_before = false;
  bool flush_subnormals = false;
};

enum Outcome { nan_input, infinite_input, zero_input, exact, rounded, subnormal, to_zero, overflowed };
enum Flag { flag_inexact = 1, flag_underflow = 2, flag_overflow = 4, flag_invalid = 16 };

struct Answer {
  std::uint64_t code;
  double value;
  int outcome;
  int flags;
};

/// Whether codes have a sign; whether NaN has the code of -0; whether a significand without fraction is even where its code is.
bool is_signed(Format format);
bool has_one_zero(Format format);
bool has_even_codes(Format format);
/// Width of a code.
int bits(Format format);
/// The code of the largest finite number.
std::uint64_t max_finite_code(Format format);
/// Whether `code` is a NaN; whether it is an infinity.
bool is_nan(Format format, std::uint64_t code);
bool is_infinite(Format format, std::uint64_t code);

/// The number that `code` stands for: (-1)^sign * significand * 2^exponent.
double value_of(Format format, std::uint64_t code);

/// The code of a number that the format holds; the caller knows that it does.
std::uint64_t code_of(Format format, double value);

/// `out` becomes the number that `code` stands for, exactly; infinities and NaNs too.
void set_value(mpfr_ptr out, Format format, std::uint64_t code);

Answer round(Format format, double x, Mode mode, Options options = {});
/// The same for a number of any precision. To be right in every mode, it is exact, or rounded to odd with a few bits to spare.
Answer round(Format format, mpfr_srcptr x, Mode mode, Options options = {});

}  // namespace ulpscope::oracle
