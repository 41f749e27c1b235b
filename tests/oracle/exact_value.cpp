// SPDX-License-Identifier: Apache-2.0
// Exact values of codes, products and sums, in GMP's integers.
#include "tests/oracle/exact_value.hpp"

#include <algorithm>

namespace ulpscope::oracle {
namespace {

/// A nonzero number that is a multiple of 2^unit, as that multiple.
mpz_class multiple_of(const Value& x, long unit) {
  mpz_class integer = x.magnitude << static_cast<unsigned long>(x.unit - unit);
  if (x.negative) mpz_neg(integer.get_mpz_t(), integer.get_mpz_t());
  return integer;
}

}  // namespace

Value not_a_number() {
  Value value;
  value.kind = Kind::nan;
  return value;
}

Value infinity(bool negative) {
  Value value;
  value.kind = Kind::infinite;
  value.negative = negative;
  return value;
}

Value finite_value(const mpz_class& integer, long unit) {
  Value value;
  value.negative = integer < 0;
  value.magnitude = abs(integer);
  value.unit = unit;
  return value;
}

Value decode(Format format, std::uint64_t code) {
  const std::uint64_t fraction = code & ((std::uint64_t{1} << format.fraction_bits) - 1);
  const std::uint64_t field = (code >> format.fraction_bits) & ((std::uint64_t{1} << format.exponent_bits) - 1);
  const bool negative = is_signed(format) && (code >> (format.fraction_bits + format.exponent_bits) & 1) != 0;
  if (is_nan(format, code)) return not_a_number();
  if (is_infinite(format, code)) return infinity(negative);

  const bool has_leading_one = field != 0 || format.style == fnu;
  Value value;
  value.negative = negative;
  const std::uint64_t significand = fraction | (has_leading_one ? std::uint64_t{1} << format.fraction_bits : 0);
  value.magnitude = static_cast<unsigned long>(significand);
  value.exponent = (has_leading_one ? static_cast<long>(field) : 1) - format.bias;
  value.unit = value.exponent - format.fraction_bits;
  return value;
}

Value product(const Value& x, const Value& y) {
  const bool negative = x.negative != y.negative;
  if (x.kind == Kind::nan || y.kind == Kind::nan) return not_a_number();
  if (x.kind == Kind::infinite || y.kind == Kind::infinite) {
    return x.is_zero() || y.is_zero() ? not_a_number() : infinity(negative);
  }
  Value value;
  value.negative = negative;
  value.magnitude = x.magnitude * y.magnitude;
  value.unit = x.unit + y.unit;
  value.exponent = x.exponent + y.exponent;
  return value;
}

Value sum(const Value& x, const Value& y) {
  const Value both[] = {x, y};
  if (const auto special = sum_of_specials(both)) return *special;
  Value value = exact_sum(both);
  if (x.is_zero() && y.is_zero()) value.negative = x.negative && y.negative;
  return value;
}

std::optional<Value> sum_of_specials(std::span<const Value> terms) {
  bool positive_infinity = false, negative_infinity = false;
  for (const Value& term : terms) {
    if (term.kind == Kind::nan) return not_a_number();
    if (term.kind == Kind::infinite) (term.negative ? negative_infinity : positive_infinity) = true;
  }
  if (positive_infinity && negative_infinity) return not_a_number();
  if (positive_infinity || negative_infinity) return infinity(negative_infinity);
  return std::nullopt;
}

Value exact_sum(std::span<const Value> terms) {
  bool found = false;
  long unit = 0;
  for (const Value& term : terms) {
    if (!term.is_zero()) unit = found ? std::min(unit, term.unit) : term.unit;
    found = found || !term.is_zero();
  }
  mpz_class total = 0;
  for (const Value& term : terms) {
    if (!term.is_zero()) total += multiple_of(term, unit);
  }
  return finite_value(total, unit);
}

std::optional<long> greatest_exponent(std::span<const Value> terms) {
  std::optional<long> greatest;
  for (const Value& term : terms) {
    if (!term.is_zero()) greatest = std::max(greatest.value_or(term.exponent), term.exponent);
  }
  return greatest;
}

bool reaches(const Value& x, long exponent) {
  if (x.is_zero()) return false;
  return static_cast<long>(mpz_sizeinbase(x.magnitude.get_mpz_t(), 2)) + x.unit > exponent;
}

mpz_class cut_toward_zero(const Value& x, long unit) {
  if (x.is_zero()) return 0;
  if (x.unit >= unit) return multiple_of(x, unit);
  mpz_class quotient = x.magnitude >> static_cast<unsigned long>(unit - x.unit);
  if (x.negative) mpz_neg(quotient.get_mpz_t(), quotient.get_mpz_t());
  return quotient;
}

mpz_class cut_downward(const Value& x, long unit) {
  if (x.is_zero()) return 0;
  if (x.unit >= unit) return multiple_of(x, unit);
  return multiple_of(x, x.unit) >> static_cast<unsigned long>(unit - x.unit);  // GMP's shift of signed integers is a floor
}

std::uint64_t round_value(Format format, const Value& x, Mode mode) {
  const std::uint64_t infinity_code = ((std::uint64_t{1} << format.exponent_bits) - 1) << format.fraction_bits;
  const std::uint64_t sign = x.negative ? std::uint64_t{1} << (format.exponent_bits + format.fraction_bits) : 0;
  if (x.kind == Kind::nan) return infinity_code | ((std::uint64_t{1} << format.fraction_bits) - 1);
  if (x.kind == Kind::infinite) return sign | infinity_code;
  if (x.is_zero()) return sign;

  // The spacing of the format's numbers around x, the exponent unbounded above.
  const long exponent = static_cast<long>(mpz_sizeinbase(x.magnitude.get_mpz_t(), 2)) - 1 + x.unit;
  const long spacing = std::max(exponent, 1L - format.bias) - format.fraction_bits;

  // |x| in halves of the spacing, and whether something is left of it.
  Value magnitude = x;
  magnitude.negative = false;
  const mpz_class halves = cut_toward_zero(magnitude, spacing - 1);
  const bool rest =
      x.unit < spacing - 1 && mpz_scan1(x.magnitude.get_mpz_t(), 0) < static_cast<mp_bitcnt_t>(spacing - 1 - x.unit);
  mpz_class steps = halves / 2;
  const bool half = halves % 2 != 0;
  if (mode == nearest_even && half && (rest || steps % 2 != 0)) steps += 1;
  if (mode == nearest_away && half) steps += 1;
  if (mode == to_odd && (half || rest) && steps % 2 == 0) steps += 1;

  // Codes of one sign are in the order of their numbers: `steps` beyond the first number with this spacing, and a carry into
  // the next binade is the carry into the exponent field.
  const mpz_class leading_one = mpz_class(1) << static_cast<unsigned long>(format.fraction_bits);
  mpz_class code = steps;
  if (steps >= leading_one) {
    code = (spacing + format.fraction_bits + format.bias) * leading_one + (steps - leading_one);
  }
  return sign | (code >= mpz_class(static_cast<unsigned long>(infinity_code)) ? infinity_code : code.get_ui());
}

}  // namespace ulpscope::oracle
