// SPDX-License-Identifier: Apache-2.0
// Reads a decimal as a quotient of whole numbers of any length and divides once.
#include "cli/decimal.hpp"

#include <algorithm>
#include <bit>
#include <boost/multiprecision/cpp_int.hpp>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>

#include "emu/catalogue.hpp"
#include "emu/error.hpp"

namespace ulpscope::cli {
namespace {

// Without expression templates: clang-tidy sees references to temporaries in them.
using cpp_int = boost::multiprecision::number<boost::multiprecision::cpp_int_backend<>, boost::multiprecision::et_off>;

}  // namespace

struct Quotient {
  cpp_int numerator, denominator;
};

namespace {

constexpr std::size_t most_digits = 100'000;
constexpr double infinity = std::numeric_limits<double>::infinity();

bool equals_ignoring_case(std::string_view word, std::string_view lower) {
  return std::equal(word.begin(), word.end(), lower.begin(), lower.end(),
                    [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b; });
}

struct Digits {
  std::string digits;  ///< significant digits without the point
  long exponent = 0;   ///< of ten, or of two for hexadecimal: value = digits * base^exponent
  bool hexadecimal = false;
};

int digit_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return 99;
}

std::optional<Digits> split(std::string_view word) {
  Digits out;
  out.hexadecimal = word.starts_with("0x") || word.starts_with("0X");
  if (out.hexadecimal) word.remove_prefix(2);
  const int base = out.hexadecimal ? 16 : 10;
  bool point = false, any = false;
  std::size_t i = 0;
  for (; i < word.size(); ++i) {
    if (word[i] == '.' && !point) {
      point = true;
      continue;
    }
    if (digit_value(word[i]) >= base) break;
    any = true;
    if (!out.digits.empty() || word[i] != '0') out.digits += word[i];
    if (point) out.exponent -= out.hexadecimal ? 4 : 1;
  }
  if (!any || out.digits.size() > most_digits) return std::nullopt;
  if (i == word.size()) return out;
  const char mark = static_cast<char>(word[i] | 0x20);
  if (mark != (out.hexadecimal ? 'p' : 'e')) return std::nullopt;
  std::string_view tail = word.substr(i + 1);
  if (tail.starts_with('+')) tail.remove_prefix(1);
  long exponent = 0;
  const auto [end, error] = std::from_chars(tail.data(), tail.data() + tail.size(), exponent);
  if (end != tail.data() + tail.size() || tail.empty() || error == std::errc::invalid_argument) return std::nullopt;
  constexpr long far = 10'000'000;  // beyond every double whatever the digits are
  if (error == std::errc::result_out_of_range) exponent = tail.starts_with('-') ? -far : far;
  out.exponent += std::clamp(exponent, -far, far);
  return out;
}

Typed beyond_doubles() {
  return {.toward_zero = std::numeric_limits<double>::max(), .inexact = true, .versus_midpoint = 1, .is_beyond = true};
}

/// Cuts numerator / denominator (both positive) to a double.
Typed cut(const cpp_int& numerator, const cpp_int& denominator) {
  Typed out;
  // quotient = floor(numerator 2^shift / denominator) has 54 or 55 bits, or fewer where doubles are subnormal
  long shift = 54 - (static_cast<long>(msb(numerator)) - static_cast<long>(msb(denominator)));
  shift = std::min<long>(shift, 1075);  // one bit below the least double
  const cpp_int scaled_numerator = shift > 0 ? cpp_int(numerator << static_cast<unsigned>(shift)) : numerator;
  const cpp_int scaled_denominator = shift < 0 ? cpp_int(denominator << static_cast<unsigned>(-shift)) : denominator;
  cpp_int quotient, rest;
  divide_qr(scaled_numerator, scaled_denominator, quotient, rest);
  const auto bits = static_cast<std::uint64_t>(quotient);
  const int width = static_cast<int>(std::bit_width(bits));
  const int dropped = std::max(width - 53, shift == 1075 ? 1 : 0);
  const std::uint64_t kept = bits >> dropped, lost = bits & ((std::uint64_t{1} << dropped) - 1);
  const std::uint64_t half = std::uint64_t{1} << dropped >> 1;
  out.inexact = lost != 0 || rest != 0;
  out.versus_midpoint = lost < half ? -1 : lost > half || rest != 0 ? 1 : 0;
  if (!out.inexact) out.versus_midpoint = -1;
  out.toward_zero = std::ldexp(static_cast<double>(kept), static_cast<int>(dropped - shift));
  return std::isinf(out.toward_zero) ? beyond_doubles() : out;
}

/// The nearest double, without the sign.
double nearest(const Typed& typed) {
  const bool odd = (std::bit_cast<std::uint64_t>(typed.toward_zero) & 1) != 0;
  const bool up = typed.inexact && (typed.versus_midpoint > 0 || (typed.versus_midpoint == 0 && odd));
  return up ? std::nextafter(typed.toward_zero, infinity) : typed.toward_zero;
}

/// floor(log2 of a positive quotient)
long exponent_of(const Quotient& x) {
  const long exponent = static_cast<long>(msb(x.numerator)) - static_cast<long>(msb(x.denominator));
  const auto shift = static_cast<unsigned>(std::labs(exponent));
  const bool below =
      exponent < 0 ? cpp_int(x.numerator << shift) < x.denominator : x.numerator < cpp_int(x.denominator << shift);
  return exponent - (below ? 1 : 0);
}

}  // namespace

double Typed::to_odd() const {
  const auto word = std::bit_cast<std::uint64_t>(toward_zero);
  return std::bit_cast<double>(inexact ? word | 1 : word);
}

std::optional<Typed> parse_typed(std::string_view word) {
  const bool negative = word.starts_with('-');
  if (negative || word.starts_with('+')) word.remove_prefix(1);
  Typed out;
  if (equals_ignoring_case(word, "inf") || equals_ignoring_case(word, "infinity")) {
    out.toward_zero = infinity;
  } else if (equals_ignoring_case(word, "nan")) {
    out.toward_zero = std::numeric_limits<double>::quiet_NaN();
  } else {
    const auto parts = split(word);
    if (!parts) return std::nullopt;
    const auto size = static_cast<long>(parts->digits.size());
    const long magnitude = parts->hexadecimal ? (4 * size + parts->exponent) * 3 / 10 : size + parts->exponent;  // ~log10
    if (parts->digits.empty()) {
      out.toward_zero = 0;
    } else if (magnitude > 400) {
      out = beyond_doubles();
    } else if (magnitude < -700) {  // no double's worth even of an ulp of float64
      out = {.inexact = true};
    } else {
      cpp_int numerator((parts->hexadecimal ? "0x" : "") + parts->digits), denominator = 1;
      const auto size_of_exponent = static_cast<unsigned>(std::labs(parts->exponent));
      const cpp_int power = pow(cpp_int(parts->hexadecimal ? 2 : 10), size_of_exponent);
      (parts->exponent < 0 ? denominator : numerator) *= power;
      out = cut(numerator, denominator);
      out.magnitude = std::make_shared<const Quotient>(Quotient{numerator, denominator});
    }
  }
  out.negative = negative;
  return out;
}

emu::Rounded round_typed(emu::Format format, const Typed& typed, const emu::RoundingOptions& options, std::uint32_t random) {
  const auto with_sign = [&](double magnitude) { return typed.negative ? -magnitude : magnitude; };
  constexpr int room = 2;  // bits that a number rounded to odd needs beyond the target's precision (Boldo, Melquiond 2008)
  if (!typed.inexact || format.precision() + room <= emu::float64.precision())
    return emu::round_to(format, with_sign(typed.to_odd()), options, random);

  // float64 itself: choose between the two neighbours.
  const bool odd = (std::bit_cast<std::uint64_t>(typed.toward_zero) & 1) != 0;
  bool away = false;
  switch (options.rounding) {
    case emu::Rounding::nearest_even: away = typed.versus_midpoint > 0 || (typed.versus_midpoint == 0 && odd); break;
    case emu::Rounding::nearest_away: away = typed.versus_midpoint >= 0; break;
    case emu::Rounding::toward_zero: break;
    case emu::Rounding::upward: away = !typed.negative; break;
    case emu::Rounding::downward: away = typed.negative; break;
    case emu::Rounding::to_odd: away = !odd; break;
    case emu::Rounding::stochastic: throw Error("round: stochastic to float64 needs a value that is a double");
  }
  const double magnitude = away ? std::nextafter(typed.toward_zero, infinity) : typed.toward_zero;
  emu::Rounded result = emu::round_to(format, with_sign(magnitude), options, random);
  if (std::isinf(magnitude) && options.policy == emu::Policy::saturating)
    result = emu::round_to(format, with_sign(typed.toward_zero), options, random);
  if (std::isinf(magnitude) || typed.is_beyond) {
    result.outcome = emu::Outcome::overflow;
  } else if (result.outcome == emu::Outcome::exact) {
    result.outcome = emu::Outcome::rounded;
  } else if (result.outcome == emu::Outcome::zero) {
    result.outcome = emu::Outcome::to_zero;
  }
  return result;
}

double error_ulp(emu::Format format, const Typed& typed, double value) {
  const double with_sign = typed.negative ? -typed.toward_zero : typed.toward_zero;
  if (std::isnan(with_sign) || std::isnan(value)) return std::nan("");
  if (std::isinf(with_sign)) return std::isinf(value) ? 0 : -with_sign;
  if (std::isinf(value)) return value;
  if (!typed.magnitude && typed.is_beyond) return typed.negative ? infinity : -infinity;

  long least = format.min_exponent();
  Quotient error{0, 1};  // less the number
  if (typed.magnitude) {
    least = std::max(least, exponent_of(*typed.magnitude));
    error = *typed.magnitude;
    if (!typed.negative) error.numerator = -error.numerator;
  }
  int exponent = 0;
  const double significand = std::frexp(value, &exponent);
  const auto move = [](Quotient& x, long by) {
    (by < 0 ? x.denominator : x.numerator) <<= static_cast<unsigned>(std::labs(by));
  };
  Quotient of_value{static_cast<std::int64_t>(std::ldexp(significand, 53)), 1};
  move(of_value, exponent - 53);
  error.numerator = error.numerator * of_value.denominator + of_value.numerator * error.denominator;
  error.denominator *= of_value.denominator;
  move(error, format.fraction_bits - least);
  if (error.numerator == 0) return 0;
  const bool is_below = error.numerator < 0;
  const double ulps = nearest(cut(abs(error.numerator), error.denominator));
  return is_below ? -ulps : ulps;
}

}  // namespace ulpscope::cli
