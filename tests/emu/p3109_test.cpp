// SPDX-License-Identifier: Apache-2.0
// The formats of IEEE P3109 against definitions of their own, in the words of the Interim Report 4.0: Decode, RoundToPrecision
// and Saturate, over doubles that hold each step exactly. Nothing of emu is used but what is judged.
#include <algorithm>
#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "emu/catalogue.hpp"
#include "emu/decode.hpp"
#include "emu/encode.hpp"
#include "emu/names.hpp"

using namespace ulpscope;

namespace {

/// A format as P3109 names it.
struct P3109 {
  int k, p;
  bool is_signed, extended;

  std::string name() const {
    return "binary" + std::to_string(k) + "p" + std::to_string(p) + (is_signed ? "s" : "u") + (extended ? "e" : "f");
  }
  /// Width of the exponent field; the bias is 2^(w - 1).
  int w() const { return is_signed ? k - p : k - p + 1; }
  int bias() const { return 1 << (w() - 1); }
  /// The code of NaN.
  std::uint32_t nan() const { return is_signed ? 1U << (k - 1) : (1U << k) - 1; }
  /// The greatest code of a finite number.
  std::uint32_t last() const { return (is_signed ? (1U << (k - 1)) - 1 : (1U << k) - 2) - (extended ? 1 : 0); }
};

std::vector<P3109> all_formats(int least_k, int most_k) {
  std::vector<P3109> out;
  for (int k = least_k; k <= most_k; ++k)
    for (const bool is_signed : {false, true})
      for (const bool extended : {false, true})
        for (int p = 1; p <= (is_signed ? k - 1 : k); ++p)
          if (const P3109 f{k, p, is_signed, extended}; f.w() <= 10) out.push_back(f);
  return out;
}

/// The number of a code that is positive and finite: T * 2^(1 - P + max(E, 1) - B), with the implicit one where E > 0.
double magnitude_of(const P3109& f, std::uint32_t code) {
  const std::uint32_t trailing = code % (1U << (f.p - 1)), exponent = code >> (f.p - 1);
  const std::uint32_t significand = trailing + (exponent > 0 ? 1U << (f.p - 1) : 0);
  return std::ldexp(significand, 1 - f.p + (exponent > 0 ? static_cast<int>(exponent) : 1) - f.bias());
}

double value_of(const P3109& f, std::uint32_t code) {
  if (code == f.nan()) return std::numeric_limits<double>::quiet_NaN();
  const bool negative = code > f.nan();
  const std::uint32_t magnitude = negative ? code - f.nan() : code;
  const double size = magnitude > f.last() ? std::numeric_limits<double>::infinity() : magnitude_of(f, magnitude);
  return negative ? -size : size;
}

enum class Mode { even, away, zero, up, down, odd };

/// RoundToPrecision of a positive number, downward and upward being those of its magnitude: the code of the result, as if
/// codes went on beyond the largest.
std::uint64_t rounded_code(const P3109& f, double x, Mode mode) {
  const int exponent = std::max(std::ilogb(x), 1 - f.bias()) - f.p + 1;
  const double scaled = std::ldexp(x, -exponent), floor = std::floor(scaled), fraction = scaled - floor;
  const auto binade = static_cast<std::uint64_t>(exponent + f.p - 1 - (1 - f.bias()));
  const std::uint64_t code = (binade << (f.p - 1)) + static_cast<std::uint64_t>(floor);
  const bool even = code % 2 == 0;  // of the significand where P > 1
  bool away = false;
  switch (mode) {
    case Mode::even: away = fraction > 0.5 || (fraction == 0.5 && !even); break;
    case Mode::away: away = fraction >= 0.5; break;
    case Mode::up: away = fraction > 0; break;
    case Mode::odd: away = fraction > 0 && even; break;
    default: break;
  }
  return code + (away ? 1 : 0);
}

/// What a finite number becomes: nonsaturating is SatNone but for overflow in formats without infinity, which is NaN in every
/// direction, and overflow of to_odd, which stops at the largest number; saturating is SatFinite.
std::uint32_t encoded(const P3109& f, double x, Mode mode, bool saturating) {
  if (std::isnan(x)) return f.nan();
  const bool negative = std::signbit(x);
  const std::uint32_t sign = negative && f.is_signed ? f.nan() : 0;
  const std::uint32_t none = negative ? (f.is_signed ? sign | f.last() : 0) : f.last();  // the end of the range
  const bool has_infinity = f.extended && (f.is_signed || !negative);
  const std::uint32_t infinity = has_infinity ? sign | (f.last() + 1) : f.nan();
  if (std::isinf(x)) return saturating ? none : infinity;
  if (x == 0) return 0;
  const bool inward = mode == Mode::zero || mode == (negative ? Mode::up : Mode::down);
  const Mode of_magnitude = !negative ? mode : mode == Mode::up ? Mode::down : mode == Mode::down ? Mode::up : mode;
  const std::uint64_t code = rounded_code(f, std::fabs(x), of_magnitude);
  if (code == 0) return 0;
  const bool beyond = negative && !f.is_signed ? true : code > f.last();
  if (!beyond) return sign | static_cast<std::uint32_t>(code);
  if (saturating) return none;
  if (negative && !f.is_signed) return inward ? none : f.nan();
  if (f.extended && (inward || mode == Mode::odd)) return none;
  return infinity;
}

struct Direction {
  Mode mode;
  emu::Rounding rounding;
};
constexpr Direction directions[] = {{Mode::even, emu::Rounding::nearest_even}, {Mode::away, emu::Rounding::nearest_away},
                                    {Mode::zero, emu::Rounding::toward_zero},  {Mode::up, emu::Rounding::upward},
                                    {Mode::down, emu::Rounding::downward},     {Mode::odd, emu::Rounding::to_odd}};

emu::Format format_of(const P3109& f) {
  const auto format = emu::parse_format(f.name());
  if (!format) FAIL(f.name() + " is not known");
  return *format;
}

/// The first of `inputs` that is encoded otherwise than above, in some direction and policy.
std::optional<std::string> first_wrong(const P3109& f, const std::vector<double>& inputs) {
  const emu::Format format = format_of(f);
  for (const Direction& direction : directions)
    for (const bool saturating : {false, true})
      for (const double x : inputs) {
        const emu::RoundingOptions options{.rounding = direction.rounding,
                                           .policy = saturating ? emu::Policy::saturating : emu::Policy::nonsaturating};
        const emu::Code got = emu::encode(format, x, options), wanted = encoded(f, x, direction.mode, saturating);
        if (got != wanted)
          return f.name() + " " + std::string(emu::name_of(options.rounding)) + " " +
                 std::string(emu::name_of(options.policy)) + " of " + std::to_string(x) + ": got " +
                 emu::hex_code(format, got) + ", wanted " + emu::hex_code(format, wanted);
      }
  return std::nullopt;
}

/// Numbers, their midpoints, what is a little beside these, and what lies beyond both ends; of both signs.
std::vector<double> critical_inputs(const P3109& f) {
  std::vector<double> out{std::numeric_limits<double>::infinity(), std::numeric_limits<double>::max(), 0x1p-1074};
  const auto add = [&](double x) {
    for (const double near : {x, std::nextafter(x, 0.0), std::nextafter(x, std::numeric_limits<double>::infinity())})
      out.push_back(near);
  };
  for (std::uint32_t code = 0; code <= f.last() + 3; ++code) {  // the grid goes on beyond the largest number
    const double here = magnitude_of(f, code), next = magnitude_of(f, code + 1);
    for (const double part : {0.0, 0.25, 0.5, 0.75}) add(here + part * (next - here));
  }
  const std::size_t count = out.size();
  for (std::size_t i = 0; i < count; ++i) out.push_back(-out[i]);
  out.push_back(std::numeric_limits<double>::quiet_NaN());
  return out;
}

double half_value(std::uint32_t code) {
  const int field = static_cast<int>(code >> 10 & 31);
  const std::uint32_t fraction = code & 1023;
  const double sign = code >> 15 != 0 ? -1 : 1;
  if (field == 31)
    return fraction != 0 ? std::numeric_limits<double>::quiet_NaN() : sign * std::numeric_limits<double>::infinity();
  return sign * std::ldexp(field == 0 ? fraction : fraction + 1024, std::max(field, 1) - 25);
}

}  // namespace

TEST_CASE("a code of P3109 of up to 15 bits is the number that the report decodes", "[p3109]") {
  for (const P3109& f : all_formats(3, 15)) {
    const emu::Format format = format_of(f);
    CAPTURE(f.name());
    REQUIRE(format.bits() == f.k);
    REQUIRE(format.precision() == f.p);
    REQUIRE(format.bias == f.bias());
    for (std::uint32_t code = 0; code < 1U << f.k; ++code) {
      const double got = emu::decode(format, code), wanted = value_of(f, code);
      if (std::isnan(wanted) ? !std::isnan(got) || !format.is_nan(code)
                             : std::bit_cast<std::uint64_t>(got) != std::bit_cast<std::uint64_t>(wanted))
        FAIL("code " << code << ": got " << got << ", wanted " << wanted);
      if (format.is_infinite(code) != std::isinf(wanted)) FAIL("code " << code << " is infinite");
    }
  }
}

TEST_CASE("formats of P3109 of up to 8 bits round each number, midpoint and neighbour as the report says", "[p3109]") {
  for (const P3109& f : all_formats(3, 8))
    if (const auto wrong = first_wrong(f, critical_inputs(f))) FAIL(*wrong);
}

TEST_CASE("formats of P3109 of 8 bits round every float16 as the report says", "[p3109][long]") {
  std::vector<double> inputs;
  for (std::uint32_t code = 0; code < 1U << 16; ++code) inputs.push_back(half_value(code));
  for (const P3109& f : all_formats(8, 8))
    if (const auto wrong = first_wrong(f, inputs)) FAIL(*wrong);
}

TEST_CASE("every format of P3109 that double holds has a name, which is read back", "[p3109][names]") {
  for (const P3109& f : all_formats(3, 15)) {
    const emu::Format format = format_of(f);
    const std::string name = emu::format_name(format);
    CAPTURE(f.name(), name);
    CHECK(emu::parse_format(name) == format);
    const bool finite_and_signed = f.is_signed && !f.extended;
    if (!finite_and_signed) CHECK(name == f.name());
    if (f.k == 8 && finite_and_signed) CHECK(format.specials == emu::Specials::fnuz);
  }
  CHECK(emu::parse_format("Binary8P4SF") == emu::float8_e4m3fnuz);
  CHECK(emu::parse_format("binary8p3sf") == emu::float8_e5m2fnuz);
  CHECK(emu::parse_format("p3109_k8p4se") == emu::binary8p4se);
  CHECK(emu::format_name({4, 3, 7, emu::Specials::se}) == "e4m3b7se");
}

TEST_CASE("what P3109 does not define is no format", "[p3109][names]") {
  for (const char* word : {"binary8p8se", "binary8p0se", "binary8p9uf", "binary2p1se", "binary16p5se", "binary15p1uf",
                           "binary8p3", "binary8p3s", "binary8p3es", "binary8p3sex", "binaryp3se", "binary8se", "binary-8p3se",
                           "binary8p-3se", "binary99999999999p3se", "binary8p2147483647se"}) {
    CAPTURE(word);
    CHECK_FALSE(emu::parse_format(word).has_value());
  }
}
