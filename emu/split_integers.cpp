// SPDX-License-Identifier: Apache-2.0
// Ozaki schemes: lines become integers of 8 bits, whose products and sums are exact.
#include "emu/split_integers.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "emu/exact_sum.hpp"
#include "emu/float_environment.hpp"
#include "emu/split_matmul.hpp"
#include "emu/tasks.hpp"

namespace ulpscope::emu {
namespace {

constexpr int slice_bits = 7;

/// |x| = significand * 2^(exponent - 52), the significand of 53 bits.
struct Magnitude53 {
  std::uint64_t significand;
  int exponent;

  explicit Magnitude53(double x) noexcept : significand(0), exponent(0) {
    const double fraction = std::frexp(std::fabs(x), &exponent);
    significand = static_cast<std::uint64_t>(std::ldexp(fraction, float64.precision()));
    --exponent;
  }
};

int greatest_exponent(std::span<const double> line) noexcept {
  double most = 0;
  for (const double x : line) most = std::max(most, std::fabs(x));
  return most == 0 ? 0 : std::ilogb(most);
}

/// P of the first moduli, or a number below it: of three words, the lowest first.
struct Wide {
  std::uint64_t words[3] = {};

  void multiply_add(std::uint64_t factor, std::uint64_t addend) noexcept {
    detail::Word128 carry = addend;
    for (std::uint64_t& word : words) {
      carry += detail::Word128{word} * factor;
      word = static_cast<std::uint64_t>(carry);
      carry >>= 64;
    }
  }
  void halve() noexcept {
    words[0] = words[0] >> 1 | words[1] << 63;
    words[1] = words[1] >> 1 | words[2] << 63;
    words[2] >>= 1;
  }
  void subtract(const Wide& other) noexcept {
    std::uint64_t borrow = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      const detail::Word128 taken = detail::Word128{other.words[i]} + borrow;
      borrow = taken > words[i] ? 1 : 0;
      words[i] = static_cast<std::uint64_t>(words[i] - taken);
    }
  }
  bool exceeds(const Wide& other) const noexcept {
    for (std::size_t i = 3; i-- > 0;)
      if (words[i] != other.words[i]) return words[i] > other.words[i];
    return false;
  }
  /// The number times 2^exponent, rounded once; its negative where that is asked for.
  double scaled(int exponent, bool negative, const RoundingOptions& options) const noexcept {
    ExactSum sum;
    constexpr int half = 32;
    for (int i = 0; i < 6; ++i) {
      const auto digit = static_cast<std::int64_t>(words[i / 2] >> (i % 2 * half) & 0xffffffffU);
      if (digit != 0) sum.add_scaled(negative ? -digit : digit, exponent + i * half);
    }
    return sum.rounded(float64, options).value;
  }
};

Wide product_of_moduli(int count) noexcept {
  Wide product;
  product.words[0] = 1;
  for (int i = 0; i < count; ++i)
    product.multiply_add(static_cast<std::uint64_t>(ozaki_moduli()[static_cast<std::size_t>(i)]), 0);
  return product;
}

/// floor((P - 1) / 2).
Wide half_range(int moduli) noexcept {
  Wide half = product_of_moduli(moduli), one;
  one.words[0] = 1;
  half.subtract(one);
  half.halve();
  return half;
}

/// x 2^-exponent, what lies below the least double rounded up.
double scaled_up(double x, int exponent) noexcept {
  const double scaled = std::ldexp(std::fabs(x), -exponent);
  return std::ldexp(scaled, exponent) < std::fabs(x) ? std::nextafter(scaled, 2.0) : scaled;
}

int remainder(int value, int modulus) noexcept {
  const int rest = value % modulus;
  return rest < 0 ? rest + modulus : rest;
}

/// The nearest to 0 of a class.
std::int16_t balanced(int rest, int modulus) noexcept {
  return static_cast<std::int16_t>(rest > (modulus - 1) / 2 ? rest - modulus : rest);
}

int power_modulo(int exponent, int modulus) noexcept {
  int power = 1 % modulus;
  for (int base = 2 % modulus; exponent > 0; exponent >>= 1, base = base * base % modulus)
    if (exponent % 2 == 1) power = power * base % modulus;
  return power;
}

int inverse_modulo(int value, int modulus) noexcept {
  for (int inverse = 1; inverse < modulus; ++inverse)
    if (value % modulus * inverse % modulus == 1) return inverse;
  return 0;
}

template <class Integer>
std::int64_t dot(const std::vector<Integer>& a, const std::vector<Integer>& b) noexcept {
  std::int32_t sum =
      0;  // of at most 2^17 products of at most 2^14: in the last case the one sum that is 2^31 wraps, modulo 256
  for (std::size_t k = 0; k < a.size(); ++k)
    sum = static_cast<std::int32_t>(static_cast<std::uint32_t>(sum) + static_cast<std::uint32_t>(int{a[k]} * int{b[k]}));
  return sum;
}

double product_of_slices(const Slices& a, const Slices& b, int count) noexcept {
  double sum = 0;
  for (int level = 2; level <= count + 1; ++level)
    for (int i = 1; i < level; ++i) {
      const auto &x = a.values[static_cast<std::size_t>(i) - 1], &y = b.values[static_cast<std::size_t>(level - i) - 1];
      sum += std::ldexp(static_cast<double>(dot(x, y)), -slice_bits * level);
    }
  return std::ldexp(sum, a.exponent + b.exponent + 4);
}

/// What the Chinese remainder theorem takes from the moduli before each (H. L. Garner, 1959): digits of mixed radix.
class Remainders {
 public:
  explicit Remainders(int count)
      : count_(static_cast<std::size_t>(count)), product_(product_of_moduli(count)), half_(half_range(count)) {
    const auto moduli = ozaki_moduli();
    inverses_.resize(count_ * count_);
    for (std::size_t i = 0; i < count_; ++i)
      for (std::size_t j = 0; j < i; ++j) inverses_[i * count_ + j] = inverse_modulo(moduli[j], moduli[i]);
  }

  /// The number of least magnitude with these remainders, times 2^exponent.
  double number(std::span<const int> rests, int exponent) const noexcept {
    const auto moduli = ozaki_moduli();
    int digits[32] = {};
    for (std::size_t i = 0; i < count_; ++i) {
      int digit = rests[i];
      for (std::size_t j = 0; j < i; ++j) digit = remainder((digit - digits[j]) * inverses_[i * count_ + j], moduli[i]);
      digits[i] = digit;
    }
    Wide value;
    for (std::size_t i = count_; i-- > 0;)
      value.multiply_add(static_cast<std::uint64_t>(moduli[i]), static_cast<std::uint64_t>(digits[i]));
    const bool negative = value.exceeds(half_);
    if (negative) {
      Wide magnitude = product_;
      magnitude.subtract(value);
      value = magnitude;
    }
    return value.scaled(exponent, negative, {});
  }

 private:
  std::size_t count_;
  Wide product_, half_;
  std::vector<int> inverses_;
};

double product_of_residues(const Remainders& remainders, const Residues& a, const Residues& b) noexcept {
  int rests[32] = {};
  const std::size_t count = a.values.size();
  for (std::size_t m = 0; m < count; ++m) {
    const int modulus = ozaki_moduli()[m];
    rests[m] = remainder(static_cast<int>(dot(a.values[m], b.values[m]) % modulus), modulus);
  }
  return remainders.number(std::span(rests).first(count), -(a.exponent + b.exponent));
}

bool is_finite(std::span<const double> line) noexcept {
  return std::all_of(line.begin(), line.end(), [](double x) { return std::isfinite(x); });
}

/// Lines that are split, and which of them are finite.
template <class Line>
struct AllLines {
  std::vector<Line> lines;
  std::vector<char> finite;

  template <class Split>
  AllLines(const detail::SplitLines& operand, int threads, const Split& split) : lines(operand.count), finite(operand.count) {
    for_each_task(operand.count, threads, [&](std::size_t i) {
      const detail::FloatEnvironment environment(detail::Direction::nearest);
      finite[i] = is_finite(operand.line(i)) ? 1 : 0;
      if (finite[i] != 0) lines[i] = split(operand.line(i));
    });
  }
};

template <class Split, class Product>
void multiply_lines(const detail::SplitLines& a, const detail::SplitLines& b, int threads, std::span<double> out,
                    const Split& split, const Product& product) {
  using Line = decltype(split(a.line(0)));
  const AllLines<Line> rows(a, threads, split), columns(b, threads, split);
  for_each_task(a.count, threads, [&](std::size_t i) {
    const detail::FloatEnvironment environment(detail::Direction::nearest);
    for (std::size_t j = 0; j < b.count; ++j)
      out[i * b.count + j] = rows.finite[i] != 0 && columns.finite[j] != 0 ? product(rows.lines[i], columns.lines[j])
                                                                           : std::numeric_limits<double>::quiet_NaN();
  });
}

}  // namespace

Slices split_into_slices(int count, std::span<const double> line) {
  Slices slices;
  slices.exponent = greatest_exponent(line);
  slices.values.assign(static_cast<std::size_t>(count), std::vector<std::int8_t>(line.size()));
  for (std::size_t k = 0; k < line.size(); ++k) {
    const Magnitude53 x(line[k]);
    // The first bit of 128 stands for 2^(exponent + 1), so that no number has it.
    const int shift = slices.exponent + 1 - x.exponent;
    detail::Word128 rest =
        x.significand == 0 || shift > 127 ? 0 : detail::Word128{x.significand} << (128 - float64.precision()) >> shift;
    for (auto& slice : slices.values) {
      const auto digit = static_cast<int>(rest >> (128 - slice_bits));
      slice[k] = static_cast<std::int8_t>(std::signbit(line[k]) ? -digit : digit);
      rest <<= slice_bits;
    }
  }
  return slices;
}

Residues split_into_residues(int moduli, std::span<const double> line) {
  Residues residues;
  residues.values.assign(static_cast<std::size_t>(moduli), std::vector<std::int16_t>(line.size()));
  const int exponent = greatest_exponent(line);
  ExactSum squares;
  for (const double x : line) squares.add_product(scaled_up(x, exponent), scaled_up(x, exponent));
  if (squares.is_zero()) return residues;
  const double sum = squares.rounded(float64, {.rounding = Rounding::upward}).value;
  const double half = half_range(moduli).scaled(0, false, {.rounding = Rounding::downward});
  int power = (std::ilogb(half) - std::ilogb(sum)) / 2 + 1;
  while (std::ldexp(sum, 2 * power) > half) --power;
  residues.exponent = power - exponent;
  for (std::size_t k = 0; k < line.size(); ++k) {
    const Magnitude53 x(line[k]);
    const int shift = x.exponent - (float64.precision() - 1) + residues.exponent;
    const std::uint64_t significand = shift >= 0 ? x.significand : shift < -63 ? 0 : x.significand >> -shift;
    for (std::size_t m = 0; m < residues.values.size(); ++m) {
      const int modulus = ozaki_moduli()[m];
      int rest = static_cast<int>(significand % static_cast<std::uint64_t>(modulus)) *
                 power_modulo(std::max(shift, 0), modulus) % modulus;
      if (std::signbit(line[k])) rest = remainder(-rest, modulus);
      residues.values[m][k] = balanced(rest, modulus);
    }
  }
  return residues;
}

namespace detail {

void integer_product(const SplitProduct& split, const SplitLines& a, const SplitLines& b, int threads, std::span<double> out) {
  const int count = split.count;
  if (split.scheme == SplitScheme::slices) {
    multiply_lines(
        a, b, threads, out, [&](std::span<const double> line) { return split_into_slices(count, line); },
        [&](const Slices& x, const Slices& y) { return product_of_slices(x, y, count); });
    return;
  }
  const Remainders remainders(count);
  multiply_lines(
      a, b, threads, out, [&](std::span<const double> line) { return split_into_residues(count, line); },
      [&](const Residues& x, const Residues& y) { return product_of_residues(remainders, x, y); });
}

}  // namespace detail
}  // namespace ulpscope::emu
