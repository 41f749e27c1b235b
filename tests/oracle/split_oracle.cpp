// SPDX-License-Identifier: Apache-2.0
// Slow and plain: a number is an integer times a power of two.
#include "tests/oracle/split_oracle.hpp"

#include <mpfr.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace ulpscope::oracle {
namespace {

constexpr Format bfloat{8, 7, 127, ieee}, tensor_float{8, 10, 127, ieee};

Value negated(Value x) {
  x.negative = !x.negative;
  return x;
}

/// Parts of all elements: [part][element].
std::vector<std::vector<std::uint64_t>> all_parts(Format part, int count, PartsRule rule,
                                                  std::span<const std::uint64_t> codes) {
  std::vector<std::vector<std::uint64_t>> out(static_cast<std::size_t>(count));
  for (const std::uint64_t code : codes) {
    const auto parts = parts_of(part, count, rule, code);
    for (std::size_t p = 0; p < out.size(); ++p) out[p].push_back(parts[p]);
  }
  return out;
}

/// Elements [first, first + count), and zeros to a multiple of `step`.
void append(std::vector<std::uint64_t>& to, const std::vector<std::uint64_t>& from, std::size_t first, std::size_t count,
            std::size_t step) {
  for (std::size_t k = 0; k < count; ++k) to.push_back(from.at(first + k));
  while (to.size() % step != 0) to.push_back(0);
}

/// One dot product of parts that continues from c.
std::uint64_t dot(Format part, const std::vector<std::uint64_t>& a, const std::vector<std::uint64_t>& b, std::size_t first,
                  std::size_t count, std::uint64_t c, const PartsSum& sum) {
  std::vector<std::uint64_t> x, y;
  append(x, a, first, count, sum.step);
  append(y, b, first, count, sum.step);
  return sum.unit({.a_format = part, .b_format = part, .a = x, .b = y, .c = c});
}

std::uint64_t float_sum(std::uint64_t x, std::uint64_t y) {
  return round_value(binary32, sum(decode(binary32, x), decode(binary32, y)), nearest_even);
}

/// The sums of blocks, each `of_block(first product, products)`, put together. In a tree the sums that are left keep the number
/// of the first block in each.
template <class OfBlock>
std::uint64_t sum_of_blocks(std::size_t k, const PartsSum& sum, const OfBlock& of_block) {
  std::vector<std::uint64_t> sums;
  const std::size_t block = sum.block == 0 ? std::max<std::size_t>(k, 1) : sum.block;
  for (std::size_t begin = 0; begin < k; begin += block) sums.push_back(of_block(begin, std::min(block, k - begin)));
  if (!sum.tree.empty()) sums.resize(std::size_t{1} << sum.tree.size(), 0);
  std::vector<bool> is_left(sums.size(), true);
  for (const std::uint8_t bit : sum.tree)
    for (std::size_t i = 0; i < sums.size(); ++i)
      if (is_left[i] && (i >> bit) % 2 == 1) {
        sums[i - (std::size_t{1} << bit)] = float_sum(sums[i - (std::size_t{1} << bit)], sums[i]);
        is_left[i] = false;
      }
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < sums.size(); ++i)
    if (is_left[i]) total = float_sum(total, sums[i]);
  return total;
}

bool is_nan_code(std::uint64_t code) { return decode(binary32, code).kind == Kind::nan; }

/// |x| = integer * 2^exponent.
mpz_class integer_of(double x, long& exponent) {
  int e = 0;
  const double fraction = std::frexp(std::fabs(x), &e);
  exponent = e - 53;
  return mpz_class(std::ldexp(fraction, 53));
}

mpq_class power(long exponent) {
  const mpz_class two_to = mpz_class(1) << static_cast<unsigned long>(std::labs(exponent));
  return exponent >= 0 ? mpq_class(two_to) : mpq_class(1, two_to);
}

mpq_class fraction_of(double x) {
  if (x == 0) return 0;
  long exponent = 0;
  const mpz_class integer = integer_of(x, exponent);
  const mpq_class value = mpq_class(integer) * power(exponent);
  return x < 0 ? mpq_class(-value) : value;
}

long greatest_exponent_of(std::span<const double> line) {
  long most = 0;
  bool any = false;
  for (const double x : line) {
    if (x == 0) continue;
    int e = 0;
    std::frexp(x, &e);
    most = any ? std::max<long>(most, e - 1) : e - 1;
    any = true;
  }
  return most;
}

mpz_class whole(const mpq_class& x) {  // toward zero
  return x.get_num() / x.get_den();
}

/// Rounded to 53 bits of unbounded exponent.
mpq_class rounded_to_53(const mpq_class& x, mpfr_rnd_t direction) {
  Number number(53);
  mpfr_set_q(number, x.get_mpq_t(), direction);
  mpq_class out;
  mpfr_get_q(out.get_mpq_t(), number);
  return out;
}

double nearest_double(const mpq_class& x) {
  if (x == 0) return 0;
  Number number(4096);  // exact: denominators are powers of two
  mpfr_set_q(number, x.get_mpq_t(), MPFR_RNDN);
  return mpfr_get_d(number, MPFR_RNDN);
}

/// The slices of a number as integers, the first one first.
std::vector<mpz_class> slices_of(double x, long greatest, int count) {
  // In units of the last slice's last bit, 2^(greatest + 2 - 7 count), cut off.
  const mpz_class digits = whole(abs(fraction_of(x)) * power(-(greatest + 2 - 7L * count)));
  std::vector<mpz_class> out;
  for (int s = 1; s <= count; ++s) {
    const mpz_class digit = (digits >> (7 * static_cast<unsigned long>(count - s))) % 128;
    out.push_back(x < 0 ? mpz_class(-digit) : digit);
  }
  return out;
}

const int moduli_of_the_library[] = {256, 255, 253, 251, 247, 241, 239, 233, 229, 227,
                                     223, 217, 211, 199, 197, 193, 191, 181, 179, 173};

/// The power of two of a line: of 4^t S <= (P - 1) / 2 the greatest t, less the exponent of the greatest magnitude.
long scaling_exponent(std::span<const double> line, int count) {
  mpz_class product = 1;
  for (int m = 0; m < count; ++m) product *= moduli_of_the_library[m];
  const mpq_class half = rounded_to_53(mpq_class(mpz_class((product - 1) / 2)), MPFR_RNDD);
  const long greatest = greatest_exponent_of(line);
  const mpq_class least = power(-1074);
  mpq_class squares = 0;
  for (const double x : line) {
    mpq_class scaled = abs(fraction_of(x)) * power(-greatest);
    const mpz_class units = whole(scaled / least);
    if (mpq_class(units) * least != scaled && scaled < power(-1022)) scaled = mpq_class(units + 1) * least;
    squares += scaled * scaled;
  }
  if (squares == 0) return 0;
  squares = rounded_to_53(squares, MPFR_RNDU);
  long t = 0;
  while (power(2 * (t + 1)) * squares <= half) ++t;
  while (power(2 * t) * squares > half) --t;
  return t - greatest;
}

}  // namespace

std::vector<std::uint64_t> parts_of(Format part, int count, PartsRule rule, std::uint64_t code) {
  Value rest = decode(binary32, code);
  std::vector<std::uint64_t> parts;
  for (int p = 0; p < count; ++p) {
    const bool cut = (rule == PartsRule::cutlass) == (p == 0);
    const Mode mode = rule == PartsRule::nearest ? nearest_even : cut ? toward_zero : nearest_away;
    parts.push_back(round_value(part, rest, mode));
    rest = sum(rest, negated(decode(part, parts.back())));
  }
  return parts;
}

std::uint64_t three_tf32(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b, const PartsSum& sum) {
  const auto x = all_parts(tensor_float, 2, PartsRule::cutlass, a), y = all_parts(tensor_float, 2, PartsRule::cutlass, b);
  const std::size_t turn = (8 + sum.step - 1) / sum.step * sum.step;
  return sum_of_blocks(a.size(), sum, [&](std::size_t begin, std::size_t depth) {
    std::uint64_t c = 0;
    for (std::size_t first = begin; first < begin + depth; first += turn) {
      const std::size_t count = std::min(turn, begin + depth - first);
      c = dot(tensor_float, x[1], y[0], first, count, c, sum);
      c = dot(tensor_float, x[0], y[1], first, count, c, sum);
      c = dot(tensor_float, x[0], y[0], first, count, c, sum);
    }
    return c;
  });
}

std::uint64_t tritons_tf32x3(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b, const PartsSum& sum) {
  const auto x = all_parts(tensor_float, 2, PartsRule::triton, a), y = all_parts(tensor_float, 2, PartsRule::triton, b);
  return sum_of_blocks(a.size(), sum, [&](std::size_t begin, std::size_t depth) {
    std::uint64_t c = dot(tensor_float, x[1], y[0], begin, depth, 0, sum);
    c = dot(tensor_float, x[0], y[1], begin, depth, c, sum);
    return dot(tensor_float, x[0], y[0], begin, depth, is_nan_code(c) ? 0 : c, sum);
  });
}

std::uint64_t bf16_products(int products, std::span<const std::uint64_t> a, std::span<const std::uint64_t> b,
                            const PartsSum& sum) {
  const int count = products == 3 ? 2 : 3;
  const auto x = all_parts(bfloat, count, PartsRule::nearest, a), y = all_parts(bfloat, count, PartsRule::nearest, b);
  return sum_of_blocks(a.size(), sum, [&](std::size_t begin, std::size_t depth) {
    std::uint64_t c = 0;
    const auto add = [&](std::size_t i, std::size_t j) { c = dot(bfloat, x[i], y[j], begin, depth, c, sum); };
    if (products == 9) {
      add(2, 2);
      add(1, 2);
      add(2, 1);
    }
    if (products >= 6) {
      add(1, 1);
      add(2, 0);
      add(0, 2);
    }
    add(1, 0);
    add(0, 1);
    if (is_nan_code(c)) c = 0;
    add(0, 0);
    return c;
  });
}

std::uint64_t single_product(Format part, std::span<const std::uint64_t> a, std::span<const std::uint64_t> b,
                             const PartsSum& sum) {
  const PartsRule rule = part.fraction_bits == 10 ? PartsRule::triton : PartsRule::nearest;
  const auto x = all_parts(part, 1, rule, a), y = all_parts(part, 1, rule, b);
  return sum_of_blocks(a.size(), sum,
                       [&](std::size_t begin, std::size_t depth) { return dot(part, x[0], y[0], begin, depth, 0, sum); });
}

double ozaki1(std::span<const double> a, std::span<const double> b, int slices) {
  const long of_a = greatest_exponent_of(a), of_b = greatest_exponent_of(b);
  std::vector<std::vector<mpz_class>> x, y;
  for (const double value : a) x.push_back(slices_of(value, of_a, slices));
  for (const double value : b) y.push_back(slices_of(value, of_b, slices));
  mpq_class total = 0;
  for (int sum = 2; sum <= slices + 1; ++sum)
    for (int i = 1; i < sum; ++i) {
      mpz_class product = 0;
      for (std::size_t k = 0; k < a.size(); ++k)
        product += x[k][static_cast<std::size_t>(i - 1)] * y[k][static_cast<std::size_t>(sum - i - 1)];
      total = rounded_to_53(total + mpq_class(product) * power(-7L * sum), MPFR_RNDN);
    }
  return nearest_double(total * power(of_a + of_b + 4));
}

double ozaki2(std::span<const double> a, std::span<const double> b, int moduli) {
  const long of_a = scaling_exponent(a, moduli), of_b = scaling_exponent(b, moduli);
  mpz_class total = 0;
  for (std::size_t k = 0; k < a.size(); ++k)
    total += whole(fraction_of(a[k]) * power(of_a)) * whole(fraction_of(b[k]) * power(of_b));
  return nearest_double(mpq_class(total) * power(-of_a - of_b));
}

mpq_class exact_inner_product(std::span<const double> a, std::span<const double> b) {
  mpq_class total = 0;
  for (std::size_t k = 0; k < a.size(); ++k) total += fraction_of(a[k]) * fraction_of(b[k]);
  return total;
}

mpq_class exact_magnitude(std::span<const double> a, std::span<const double> b) {
  mpq_class total = 0;
  for (std::size_t k = 0; k < a.size(); ++k) total += abs(fraction_of(a[k]) * fraction_of(b[k]));
  return total;
}

}  // namespace ulpscope::oracle
