// SPDX-License-Identifier: Apache-2.0
// From an exact result and an allowance to the interval of right results.
#include "verify/expected.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>

#include "emu/bulk.hpp"
#include "emu/catalogue.hpp"
#include "emu/decode.hpp"
#include "emu/encode.hpp"
#include "verify/double_double.hpp"

namespace ulpscope::verify {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Whether a conversion to float is the last rounding in this direction.
bool is_conversion(const LastRounding& last, emu::Rounding direction) {
  return last.out == emu::float32 && direction == emu::Rounding::nearest_even &&
         last.options.policy == emu::Policy::nonsaturating && !last.options.flush_subnormals &&
         !last.options.subnormals_are_zero;
}

/// The last rounding as a monotone function: an overflow that becomes NaN counts as infinite.
double last_rounded(const LastRounding& last, double x, emu::Rounding direction) {
  if (is_conversion(last, direction)) return static_cast<double>(static_cast<float>(x));
  emu::RoundingOptions options = last.options;
  options.rounding = direction;
  const double y = emu::round_to(last.out, x, options).value;
  return std::isnan(y) && !std::isnan(x) ? std::copysign(infinity, x) : y;
}
double last_rounded(const LastRounding& last, double x) { return last_rounded(last, x, last.options.rounding); }

/// The doubles next to x + y outside and inside of an interval that ends there.
double above(double x, double y) {
  const double sum = x + y;
  if (!(sum < infinity)) return sum;
  if (sum == 0) return std::numeric_limits<double>::denorm_min();
  const std::uint64_t word = std::bit_cast<std::uint64_t>(sum);
  return std::bit_cast<double>(sum > 0 ? word + 1 : word - 1);
}
double below(double x, double y) { return -above(-x, -y); }

/// Results from `low` to `high` before the last rounding become these.
struct Interval {
  double low, high;
  bool has(double y) const { return low <= y && y <= high; }
};
Interval results(const LastRounding& last, double low, double high) {
  if (last.options.rounding != emu::Rounding::stochastic) return {last_rounded(last, low), last_rounded(last, high)};
  return {last_rounded(last, low, emu::Rounding::downward), last_rounded(last, high, emu::Rounding::upward)};
}

/// Without an allowance there is one right result, at ties too, which the doubles beside the exact value round away from.
bool decides(const LastRounding& last) { return last.options.rounding != emu::Rounding::stochastic; }
Standing wrong(double y) { return std::isinf(y) ? Standing::nonfinite : Standing::beyond; }

/// What `expect` knows of an element; nothing where its radius leaves it open.
std::optional<Standing> decide(const Expected& expected, double y, const LastRounding& last) {
  const double v = expected.value, r = expected.radius, a = expected.allowed;
  const bool converts = is_conversion(last, last.options.rounding);
  const auto rounded = [&](double x) { return converts ? static_cast<double>(static_cast<float>(x)) : last_rounded(last, x); };
  const double low = rounded(r == 0 ? v : below(v, -r)), high = r == 0 ? low : rounded(above(v, r));
  if (low == high && y == low) return Standing::equal;
  if (a == 0 && r == 0 && decides(last)) return wrong(y);
  if (low != high && low <= y && y <= high) return std::nullopt;
  const auto between = [&](double from, double to) {
    return converts ? Interval{rounded(from), rounded(to)} : results(last, from, to);
  };
  const Interval outer = between(below(v, -(a + r)), above(v, a + r));
  if (!outer.has(y)) return std::isinf(y) ? Standing::nonfinite : Standing::beyond;
  if (a >= r) {
    const Interval inner = between(above(v, -(a - r)), below(v, a - r));
    if (inner.has(y)) return Standing::within;
  }
  if (r == 0) return Standing::within;
  return std::nullopt;
}

Standing decide(const Precise& exact, const Expected& expected, double y, const LastRounding& last) {
  const double allowed = expected.allowed;
  const bool is_number = std::fabs(exact.high) < std::numeric_limits<double>::max();
  if (!is_number) {  // float64 was on the other side of a pole or an edge, and so may a kernel be
    if (y == exact.rounded) return Standing::equal;
    const double reach = expected.radius + allowed;
    return results(last, below(expected.value, -reach), above(expected.value, reach)).has(y) ? Standing::within : wrong(y);
  }
  const bool narrow = emu::fits_float(last.out);
  if (y == (narrow ? last_rounded(last, rounded_to_odd({exact.high, exact.low})) : exact.rounded)) return Standing::equal;
  if (allowed == 0 && decides(last)) return wrong(y);
  const Interval all = results(last, below(exact.high, exact.low - allowed), above(exact.high, exact.low + allowed));
  if (all.has(y)) return Standing::within;
  return std::isinf(y) ? Standing::nonfinite : Standing::beyond;
}

}  // namespace

bool is_conversion_to_float(const LastRounding& last) noexcept { return is_conversion(last, last.options.rounding); }

std::string_view name_of(Standing standing) noexcept {
  constexpr std::array<std::string_view, 4> names{"equal", "within", "beyond", "nonfinite"};
  return names[static_cast<std::size_t>(standing)];
}

bool Expectation::for_each_block(std::uint64_t, std::size_t, const TakeBlock&) const { return false; }
bool Expectation::admits(std::uint64_t, double) const { return false; }
std::optional<double> Expectation::of_engine(std::uint64_t) const { return std::nullopt; }
std::string Expectation::diagnosis(std::span<const std::uint64_t>, std::span<const double>, const LastRounding&) const {
  return {};
}
std::string Expectation::weakness(const LastRounding&) const { return {}; }

namespace {

/// A result that is subnormal before it is rounded may be flushed then, though it rounds to the least normal number.
bool may_be_flushed(const Expected& expected, const LastRounding& last) {
  const double least = std::fabs(expected.value) - expected.allowed - expected.radius;
  return last.options.flush_subnormals && least < emu::min_normal(last.out);
}

/// Whether y is what an infinity in the kernel's arithmetic becomes.
bool is_overflow(Overflow may_overflow, double y, const LastRounding& last) {
  const auto is = [&](double end) { return y == end || y == last_rounded(last, end); };
  return (includes(may_overflow, Overflow::upward) && is(infinity)) ||
         (includes(may_overflow, Overflow::downward) && is(-infinity));
}

/// Whether a number or an infinity may stand in the place of a result that is infinite or NaN.
bool is_doubt(const Expected& expected, double y, const LastRounding& last) {
  if (!includes(expected.may_overflow, Overflow::doubted)) return false;
  const bool is_number = expected.allowed > 0 && std::fabs(y) <= last_rounded(last, expected.allowed);
  return is_number || is_overflow(expected.may_overflow, y, last);
}

Standing judge_number(const Expectation& expectation, std::uint64_t index, const Expected& expected, double output,
                      const LastRounding& last) {
  if (std::isnan(expected.value)) {
    const bool has_nan = last.out.has_nan() || last.out.is_integer();
    const bool is_equal = has_nan ? std::isnan(output) : output == emu::round_to(last.out, expected.value, last.options).value;
    return is_equal ? Standing::equal : is_doubt(expected, output, last) ? Standing::within : Standing::nonfinite;
  }
  double y = output;
  if (std::isnan(output)) {
    // Formats without infinity: an overflow is a NaN, which has the sign of neither side.
    const double edge = last_rounded(last, std::copysign(infinity, expected.value));
    if (!last.out.has_infinity() && std::isinf(edge)) y = edge;
    if (std::isnan(y)) return includes(expected.may_overflow, Overflow::undefined) ? Standing::within : Standing::nonfinite;
  }
  if (std::isinf(expected.value)) {
    if (y == last_rounded(last, expected.value)) return Standing::equal;
    return is_doubt(expected, y, last) ? Standing::within : Standing::nonfinite;
  }
  std::optional<Standing> standing = decide(expected, y, last);
  if (!standing) standing = decide(expectation.precise(index), expected, y, last);
  const bool wrong = is_wrong(*standing);
  if (wrong && y == 0 && may_be_flushed(expected, last)) return Standing::within;
  const bool overflowed =
      std::isnan(output) ? expected.may_overflow != Overflow::none : is_overflow(expected.may_overflow, y, last);
  return wrong && overflowed ? Standing::within : *standing;
}

/// Whether y is what the last rounding makes of the declared engine's own result.
bool is_of_engine(const Expectation& expectation, std::uint64_t index, double y, const LastRounding& last) {
  const std::optional<double> own = expectation.of_engine(index);
  if (!own) return false;
  if (!decides(last) && !std::isnan(*own)) return results(last, *own, *own).has(y);
  const double rounded = emu::round_to(last.out, *own, last.options).value;
  return y == rounded || (std::isnan(y) && std::isnan(rounded));
}

/// But for what the declared engine itself returns, which takes a part of its product.
JudgedElement judge_without_engine(const Expectation& expectation, std::uint64_t index, const Expected& expected, double output,
                                   const LastRounding& last) {
  Standing standing = judge_number(expectation, index, expected, output, last);
  if (standing == Standing::equal && expectation.is_bitwise() && output == 0 &&
      std::signbit(output) != std::signbit(last_rounded(last, expected.value)))
    standing = Standing::beyond;
  if (is_wrong(standing) && expectation.admits(index, output)) return {Standing::within, true};
  return {standing, false};
}

}  // namespace

JudgedElement judge_by_what(const Expectation& expectation, std::uint64_t index, const Expected& expected, double output,
                            const LastRounding& last) {
  JudgedElement judged = judge_without_engine(expectation, index, expected, output, last);
  if (is_wrong(judged.standing) && is_of_engine(expectation, index, output, last)) judged.standing = Standing::within;
  return judged;
}

Standing judge(const Expectation& expectation, std::uint64_t index, const Expected& expected, double output,
               const LastRounding& last) {
  return judge_by_what(expectation, index, expected, output, last).standing;
}

bool zero_passes(const Expectation& expectation, std::uint64_t index, const Expected& expected, const LastRounding& last) {
  const double size = std::fabs(expected.value);
  const bool is_doubted = includes(expected.may_overflow, Overflow::doubted);
  if (!is_doubted && size > 2 * (expected.allowed + expected.radius) && size > emu::min_normal(last.out))
    return expectation.may_admit_zero() && expectation.admits(index, 0.0);
  return !is_wrong(judge_without_engine(expectation, index, expected, 0.0, last).standing);
}

}  // namespace ulpscope::verify
