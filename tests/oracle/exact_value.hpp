// SPDX-License-Identifier: Apache-2.0
// What codes stand for, as integers of any size times powers of two, and the few operations that models of matrix engines
// need, all exact. The rounding to a format is written from the definition: IEEE 754-2019, 4.3 and 7.4.
#pragma once

#include <gmpxx.h>

#include <cstdint>
#include <optional>
#include <span>

#include "tests/oracle/rounding_oracle.hpp"

namespace ulpscope::oracle {

enum class Kind { finite, infinite, nan };

/// (-1)^negative * magnitude * 2^unit. The exponent is the one that the hardware sees: of a number that a code stands for, the
/// exponent field's meaning (a subnormal has the least one); of a product, the sum of two such, whatever the magnitude is.
struct Value {
  Kind kind = Kind::finite;
  bool negative = false;
  mpz_class magnitude = 0;
  long unit = 0;
  long exponent = 0;

  bool is_zero() const { return kind == Kind::finite && magnitude == 0; }
};

Value not_a_number();
Value infinity(bool negative);
/// A finite number from a signed integer; zero is positive.
Value finite_value(const mpz_class& integer, long unit);

Value decode(Format format, std::uint64_t code);

/// IEEE 754-2019, 7.2: zero times infinity is NaN. The exponents are added, nothing is normalised.
Value product(const Value& x, const Value& y);

/// IEEE 754-2019, 6.3, to nearest: a sum of zeros is negative if both are, other exact zeros are positive.
Value sum(const Value& x, const Value& y);

/// The sum of many where one is not finite: NaN if one is, or if both infinities are there, else the infinity. No value: all
/// are finite.
std::optional<Value> sum_of_specials(std::span<const Value> terms);

/// Exact; the terms are finite. Zero is positive.
Value exact_sum(std::span<const Value> terms);

/// The greatest exponent of the nonzero terms. No value: all are zero.
std::optional<long> greatest_exponent(std::span<const Value> terms);

/// Whether |x| >= 2^exponent; x is finite.
bool reaches(const Value& x, long exponent);

/// A finite value as a multiple of 2^unit; the rest is dropped (toward zero), or the multiple below is taken.
mpz_class cut_toward_zero(const Value& x, long unit);
mpz_class cut_downward(const Value& x, long unit);

/// The code of `x` in a format of IEEE style. Every overflow gives infinity, toward zero too: a sum cut to the precision of the
/// result with an exponent out of range. A NaN is positive with all bits one.
std::uint64_t round_value(Format format, const Value& x, Mode mode);

}  // namespace ulpscope::oracle
