// SPDX-License-Identifier: Apache-2.0
// What an operation on numbers of a format must give, worked out a second time by MPFR. The operation is done once, exactly or
// rounded to odd with bits to spare; every direction and policy then rounds that. Sources: IEEE 754-2019 clauses 5.3 to 5.9, 6
// and 7, and docs/numerics.md for formats without infinity or NaN.
#pragma once

#include <cstdint>

#include "tests/oracle/rounding_oracle.hpp"

namespace ulpscope::oracle {

enum class Op {
  add,
  sub,
  mul,
  div,
  rem,
  fma,
  sqrt,
  minimum,
  maximum,
  minimum_number,
  maximum_number,
  scale_b,
  log_b,
  exp,
  exp2,
  exp10,
  expm1,
  log,
  log2,
  log10,
  log1p,
  sin,
  cos,
  tan,
  sinpi,
  cospi,
  tanpi,
  sinh,
  cosh,
  tanh,
  asin,
  acos,
  atan,
  asinh,
  acosh,
  atanh,
  erf,
  erfc,
  rsqrt,
  cbrt,
  sigmoid,
  softplus,
  gelu,
  gelu_tanh,
  silu
};
inline constexpr Op first_elementary = Op::exp;

inline constexpr int flag_divide_by_zero = 8;

/// One operation on up to three codes; `scale_b` takes its exponent from `count`.
class Operation {
 public:
  struct Operands {
    std::uint64_t a, b = 0, c = 0;
    long count = 0;
  };
  Operation(Format format, Op op, Operands operands, bool subnormals_are_zero = false);
  /// Only code and flags of the answer mean something.
  Answer round(Mode mode, Options options = {}) const;

 private:
  void compute(Op op, long count);
  void extremum(Op op, std::uint64_t a, std::uint64_t b);

  enum class Kind { number, nan, verbatim };
  Format format_;
  Kind kind_ = Kind::number;
  Number a_, b_, c_, exact_;
  bool opposed_zeros_ = false;  ///< an exact zero whose sign depends on the direction
  int flags_ = 0;               ///< invalid or divide_by_zero
  std::uint64_t verbatim_ = 0;  ///< an operand returned unchanged
};

/// The elementary function `op` of x, which is a number or an infinity: NaN where it has no value, an infinity with MPFR's
/// divide-by-zero flag at a pole, else exact or rounded to odd.
void elementary(Op op, mpfr_ptr out, mpfr_srcptr x);

/// The whole number next to a code's number, in the format, and whether that changed it.
Answer round_to_integral(Format format, std::uint64_t a, Mode mode, Options options, bool signals_inexact);

/// Rounds the last result of an MPFR function to odd: `out` is truncated, `ternary` is what the function returned.
void to_odd_last_bit(mpfr_ptr out, int ternary);

}  // namespace ulpscope::oracle
