// SPDX-License-Identifier: Apache-2.0
// Elementary functions of a format's numbers, rounded once, with the exception flags of IEEE 754-2019, 9.2: correctly rounded
// for every format of 16 bits or fewer in every deterministic mode (proven over all their codes against MPFR); for wider
// formats the error beyond the rounding is below 2^-40 ulp. Host only. Operands as in emu/arithmetic.hpp: NaN gives NaN,
// signaling NaN invalid, results that the format cannot express follow the policy.
#pragma once

#include <cstdint>

#include "emu/arithmetic.hpp"
#include "emu/transcendental.hpp"

namespace ulpscope::emu {

namespace detail {

/// The answer of a function for one argument.
struct Answer {
  enum class Kind : std::uint8_t { exact, inexact, infinite, pole, invalid };
  Kind kind;
  Real128 value;  ///< of infinite and pole: the sign
};
constexpr Answer exactly(const Real128& value) noexcept { return {Answer::Kind::exact, value}; }
constexpr Answer nearly(const Real128& value) noexcept { return {Answer::Kind::inexact, value}; }
constexpr Answer infinite_answer(bool negative) noexcept { return {Answer::Kind::infinite, Real128{}.with_sign(negative)}; }
constexpr Answer pole(bool negative) noexcept { return {Answer::Kind::pole, Real128{}.with_sign(negative)}; }
constexpr Answer invalid_answer() noexcept { return {Answer::Kind::invalid, {}}; }

/// An argument that is a number: infinite, or `value`.
struct Argument {
  bool is_infinite;
  Real128 value;

  constexpr bool is_zero() const noexcept { return !is_infinite && value.is_zero(); }
  constexpr bool is_negative() const noexcept { return value.negative; }
};

template <class Function>
constexpr Result elementary(Format format, Code a, const RoundingOptions& options, std::uint32_t random,
                            Function function) noexcept {
  a = operand(format, a, options);
  if (format.is_nan(a)) return nan_result(format, signaling(format, a));
  Argument x{format.is_infinite(a), Real128{}.with_sign(format.is_negative(a))};
  if (!x.is_infinite) x.value = real_of<Word128>(format, a);
  Answer answer = function(x);
  switch (answer.kind) {
    case Answer::Kind::invalid: return nan_result(format, invalid);
    case Answer::Kind::infinite: return infinite_result(format, answer.value.negative, options);
    case Answer::Kind::pole: return infinite_result(format, answer.value.negative, options, divide_by_zero);
    case Answer::Kind::inexact: answer.value.significand |= 1; break;
    case Answer::Kind::exact: break;
  }
  return deliver(round_unpacked(format, answer.value, options, random));
}

/// Functions with f(x) = x at 0 and, at infinity, `there` with the argument's sign.
template <class Function>
constexpr Answer odd(const Argument& x, const Answer& there, Function function) noexcept {
  if (x.is_infinite) return {there.kind, there.value.with_sign(x.is_negative())};
  return x.is_zero() ? exactly(x.value) : nearly(function(x.value));
}
/// Functions with limits on both sides.
template <class Function>
constexpr Answer between(const Argument& x, const Answer& below, const Answer& at_zero, const Answer& above,
                         Function function) noexcept {
  if (x.is_infinite) return x.is_negative() ? below : above;
  return x.is_zero() ? at_zero : nearly(function(x.value));
}
/// Logarithms: a pole at 0, invalid below; `find_exact` tells whether the result is an integer, and which.
template <class FindExact, class Function>
constexpr Answer logarithm(const Argument& x, FindExact find_exact, Function function) noexcept {
  if (x.is_zero()) return pole(true);
  if (x.is_negative()) return invalid_answer();
  if (x.is_infinite) return infinite_answer(false);
  int integer = 0;
  return find_exact(x.value, integer) ? exactly(whole(integer)) : nearly(function(x.value));
}
constexpr bool is_power_of_two(const Real128& x) noexcept { return (x.significand & (x.significand - 1)) == 0; }
constexpr bool is_power_of_ten(const Real128& x, int& exponent) noexcept {
  Real128 power = one;
  for (exponent = 0; compare_magnitudes(power, x) < 0 && exponent < 23; ++exponent)
    power = power * whole(10);  // 5^23 has 54 bits
  return compare_magnitudes(power, x) == 0;
}
inline constexpr Real128 zero_128{};

}  // namespace detail

/// e^x
constexpr Result exp(Format format, Code a, const RoundingOptions& options = {}, std::uint32_t random = 0) noexcept {
  return detail::elementary(format, a, options, random, [](const detail::Argument& x) {
    return detail::between(x, detail::exactly(detail::zero_128), detail::exactly(detail::one), detail::infinite_answer(false),
                           detail::exp_real);
  });
}
/// 2^x; exact for integers.
constexpr Result exp2(Format format, Code a, const RoundingOptions& options = {}, std::uint32_t random = 0) noexcept {
  return detail::elementary(format, a, options, random, [](const detail::Argument& x) {
    detail::Answer answer = detail::between(x, detail::exactly(detail::zero_128), detail::exactly(detail::one),
                                            detail::infinite_answer(false), detail::exp2_real);
    if (!x.is_infinite && detail::is_power_of_two(answer.value)) answer.kind = detail::Answer::Kind::exact;
    return answer;
  });
}
/// 10^x; exact for integers from 0 on, while they have no more than 126 bits.
constexpr Result exp10(Format format, Code a, const RoundingOptions& options = {}, std::uint32_t random = 0) noexcept {
  return detail::elementary(format, a, options, random, [](const detail::Argument& x) {
    bool exact = false;
    detail::Answer answer =
        detail::between(x, detail::exactly(detail::zero_128), detail::exactly(detail::one), detail::infinite_answer(false),
                        [&](const detail::Real128& v) { return detail::exp10_real(v, exact); });
    if (exact) answer.kind = detail::Answer::Kind::exact;
    return answer;
  });
}
/// e^x - 1
constexpr Result expm1(Format format, Code a, const RoundingOptions& options = {}, std::uint32_t random = 0) noexcept {
  return detail::elementary(format, a, options, random, [](const detail::Argument& x) {
    return detail::between(x, detail::exactly(-detail::one), detail::exactly(x.value), detail::infinite_answer(false),
                           detail::expm1_real);
  });
}
/// ln x; of zero -infinity with divide_by_zero.
constexpr Result log(Format format, Code a, const RoundingOptions& options = {}, std::uint32_t random = 0) noexcept {
  return detail::elementary(format, a, options, random, [](const detail::Argument& x) {
    return detail::logarithm(
        x, [](const detail::Real128& v, int&) { return v.exponent == 0 && detail::is_power_of_two(v); }, detail::log_real);
  });
}
/// log2 x; exact for powers of two.
constexpr Result log2(Format format, Code a, const RoundingOptions& options = {}, std::uint32_t random = 0) noexcept {
  return detail::elementary(format, a, options, random, [](const detail::Argument& x) {
    return detail::logarithm(
        x,
        [](const detail::Real128& v, int& integer) {
          integer = v.exponent;
          return detail::is_power_of_two(v);
        },
        detail::log2_real);
  });
}
/// log10 x; exact for powers of ten.
constexpr Result log10(Format format, Code a, const RoundingOptions& options = {}, std::uint32_t random = 0) noexcept {
  return detail::elementary(format, a, options, random, [](const detail::Argument& x) {
    return detail::logarithm(x, detail::is_power_of_ten,
                             [](const detail::Real128& v) { return detail::log_real(v) * detail::one_over_ln10_128<>; });
  });
}
/// ln(1 + x); of -1 -infinity with divide_by_zero.
constexpr Result log1p(Format format, Code a, const RoundingOptions& options = {}, std::uint32_t random = 0) noexcept {
  return detail::elementary(format, a, options, random, [](const detail::Argument& x) {
    if (x.is_negative() && (x.is_infinite || x.value.exponent >= 0)) {
      const bool minus_one = !x.is_infinite && detail::compare_magnitudes(x.value, detail::one) == 0;
      return minus_one ? detail::pole(true) : detail::invalid_answer();
    }
    return detail::odd(x, detail::infinite_answer(false), detail::log1p_real);
  });
}
/// sin x, cos x, tan x, x in radians; of infinity invalid.
constexpr Result sin(Format format, Code a, const RoundingOptions& options = {}, std::uint32_t random = 0) noexcept {
  return detail::elementary(format, a, options, random, [](const detail::Argument& x) {
    return detail::odd(x, detail::invalid_answer(), detail::sin_real);
  });
}
/// cos a, a in radians.
constexpr Result cos(Format format, Code a, const RoundingOptions& options = {}, std::uint32_t random = 0) noexcept {
  return detail::elementary(format, a, options, random, [](const detail::Argument& x) {
    return detail::between(x, detail::invalid_answer(), detail::exactly(detail::one), detail::invalid_answer(),
                           detail::cos_real);
  });
}
/// tan a, a in radians.
constexpr Result tan(Format format, Code a, const RoundingOptions& options = {}, std::uint32_t random = 0) noexcept {
  return detail::elementary(format, a, options, random, [](const detail::Argument& x) {
    return detail::odd(x, detail::invalid_answer(), detail::tan_real);
  });
}
/// sin(pi a); exact for whole a, of which it is a zero of a's sign, and for halves (9.2.1).
constexpr Result sinpi(Format format, Code a, const RoundingOptions& options = {}, std::uint32_t random = 0) noexcept {
  return detail::elementary(format, a, options, random, [](const detail::Argument& x) {
    if (x.is_infinite) return detail::invalid_answer();
    const detail::QuarterTurns in = detail::quarter_turns(x.value);
    if (!in.rest.is_zero()) return detail::nearly(detail::sine_of_turns(in));
    return in.quarters % 2 == 0 ? detail::exactly(detail::zero_128.with_sign(x.is_negative()))
                                : detail::exactly(detail::one.with_sign(in.quarters % 4 == 3));
  });
}
/// cos(pi a); exact for whole a and for halves, of which it is +0 (9.2.1).
constexpr Result cospi(Format format, Code a, const RoundingOptions& options = {}, std::uint32_t random = 0) noexcept {
  return detail::elementary(format, a, options, random, [](const detail::Argument& x) {
    if (x.is_infinite) return detail::invalid_answer();
    detail::QuarterTurns in = detail::quarter_turns(x.value);
    ++in.quarters;
    if (!in.rest.is_zero()) return detail::nearly(detail::sine_of_turns(in));
    return in.quarters % 2 == 0 ? detail::exactly(detail::zero_128)
                                : detail::exactly(detail::one.with_sign(in.quarters % 4 == 3));
  });
}
/// tan(pi a): of n + 1/2 an infinity with divide_by_zero, + for even n and - for odd n; of even n the zero of a's sign, of odd
/// n the other one (9.2.1); of quarters exactly 1 or -1.
constexpr Result tanpi(Format format, Code a, const RoundingOptions& options = {}, std::uint32_t random = 0) noexcept {
  return detail::elementary(format, a, options, random, [](const detail::Argument& x) {
    if (x.is_infinite) return detail::invalid_answer();
    const detail::QuarterTurns in = detail::quarter_turns(x.value);
    const bool is_quarter = detail::compare_magnitudes(in.rest, detail::real_power_of_two(-1)) == 0;
    if (is_quarter) return detail::exactly(detail::one.with_sign(in.rest.negative != (in.quarters % 2 == 1)));
    if (!in.rest.is_zero()) return detail::nearly(detail::tangent_of_turns(in));
    if (in.quarters % 2 == 1) return detail::pole(in.quarters % 4 == 3);
    return detail::exactly(detail::zero_128.with_sign(x.is_negative() != (in.quarters % 4 == 2)));
  });
}
/// The hyperbolic tangent of a.
constexpr Result tanh(Format format, Code a, const RoundingOptions& options = {}, std::uint32_t random = 0) noexcept {
  return detail::elementary(format, a, options, random, [](const detail::Argument& x) {
    return detail::odd(x, detail::exactly(detail::one), detail::tanh_real);
  });
}
/// The hyperbolic sine of a.
constexpr Result sinh(Format format, Code a, const RoundingOptions& options = {}, std::uint32_t random = 0) noexcept {
  return detail::elementary(format, a, options, random, [](const detail::Argument& x) {
    return detail::odd(x, detail::infinite_answer(false), detail::sinh_real);
  });
}
/// The hyperbolic cosine of a.
constexpr Result cosh(Format format, Code a, const RoundingOptions& options = {}, std::uint32_t random = 0) noexcept {
  return detail::elementary(format, a, options, random, [](const detail::Argument& x) {
    return detail::between(x, detail::infinite_answer(false), detail::exactly(detail::one), detail::infinite_answer(false),
                           detail::cosh_real);
  });
}
/// The angle in radians, from -pi/2 to pi/2, whose tangent is a.
constexpr Result atan(Format format, Code a, const RoundingOptions& options = {}, std::uint32_t random = 0) noexcept {
  return detail::elementary(format, a, options, random, [](const detail::Argument& x) {
    return detail::odd(x, detail::nearly(detail::half_pi<>), detail::atan_real);
  });
}
/// The angle in radians, from -pi/2 to pi/2, whose sine is a; beyond +-1 invalid.
constexpr Result asin(Format format, Code a, const RoundingOptions& options = {}, std::uint32_t random = 0) noexcept {
  return detail::elementary(format, a, options, random, [](const detail::Argument& x) {
    const int size = x.is_infinite ? 1 : detail::compare_magnitudes(x.value, detail::one);
    if (size > 0) return detail::invalid_answer();
    if (size == 0) return detail::nearly(detail::half_pi<>.with_sign(x.is_negative()));
    return detail::odd(x, {}, detail::asin_real);
  });
}
/// The angle in radians, from 0 to pi, whose cosine is a; beyond +-1 invalid.
constexpr Result acos(Format format, Code a, const RoundingOptions& options = {}, std::uint32_t random = 0) noexcept {
  return detail::elementary(format, a, options, random, [](const detail::Argument& x) {
    const int size = x.is_infinite ? 1 : detail::compare_magnitudes(x.value, detail::one);
    if (size > 0) return detail::invalid_answer();
    if (size == 0) return x.is_negative() ? detail::nearly(detail::half_pi<>.scaled(1)) : detail::exactly(detail::zero_128);
    return detail::nearly(x.is_zero() ? detail::half_pi<> : detail::acos_real(x.value));
  });
}
/// The number whose hyperbolic sine is a.
constexpr Result asinh(Format format, Code a, const RoundingOptions& options = {}, std::uint32_t random = 0) noexcept {
  return detail::elementary(format, a, options, random, [](const detail::Argument& x) {
    return detail::odd(x, detail::infinite_answer(false), detail::asinh_real);
  });
}
/// The number, not negative, whose hyperbolic cosine is a; below 1 invalid.
constexpr Result acosh(Format format, Code a, const RoundingOptions& options = {}, std::uint32_t random = 0) noexcept {
  return detail::elementary(format, a, options, random, [](const detail::Argument& x) {
    if (x.is_infinite) return x.is_negative() ? detail::invalid_answer() : detail::infinite_answer(false);
    const int size = x.is_negative() ? -1 : detail::compare_magnitudes(x.value, detail::one);
    if (size < 0) return detail::invalid_answer();
    return size == 0 ? detail::exactly(detail::zero_128) : detail::nearly(detail::acosh_real(x.value));
  });
}
/// The number whose hyperbolic tangent is a; of +-1 the infinity of its sign with divide_by_zero, beyond invalid.
constexpr Result atanh(Format format, Code a, const RoundingOptions& options = {}, std::uint32_t random = 0) noexcept {
  return detail::elementary(format, a, options, random, [](const detail::Argument& x) {
    const int size = x.is_infinite ? 1 : detail::compare_magnitudes(x.value, detail::one);
    if (size > 0) return detail::invalid_answer();
    return size == 0 ? detail::pole(x.is_negative()) : detail::odd(x, {}, detail::atanh_real);
  });
}
/// 2/sqrt(pi) times the integral of e^(-t^2) from 0 to x.
constexpr Result erf(Format format, Code a, const RoundingOptions& options = {}, std::uint32_t random = 0) noexcept {
  return detail::elementary(format, a, options, random, [](const detail::Argument& x) {
    return detail::odd(x, detail::exactly(detail::one), detail::erf_real);
  });
}
/// 1 - erf a.
constexpr Result erfc(Format format, Code a, const RoundingOptions& options = {}, std::uint32_t random = 0) noexcept {
  return detail::elementary(format, a, options, random, [](const detail::Argument& x) {
    return detail::between(x, detail::exactly(detail::whole(2)), detail::exactly(detail::one),
                           detail::exactly(detail::zero_128), detail::erfc_real);
  });
}
/// 1/x; of a zero the infinity of its sign with divide_by_zero.
constexpr Result rcp(Format format, Code a, const RoundingOptions& options = {}, std::uint32_t random = 0) noexcept {
  return detail::elementary(format, a, options, random, [](const detail::Argument& x) {
    if (x.is_zero()) return detail::pole(x.is_negative());
    if (x.is_infinite) return detail::exactly(detail::zero_128.with_sign(x.is_negative()));
    const detail::Real128 inverse = detail::one / x.value;
    return detail::is_power_of_two(x.value) ? detail::exactly(inverse) : detail::nearly(inverse);
  });
}
/// 1/sqrt(x); of a zero the infinity of its sign with divide_by_zero (9.2.1).
constexpr Result rsqrt(Format format, Code a, const RoundingOptions& options = {}, std::uint32_t random = 0) noexcept {
  return detail::elementary(format, a, options, random, [](const detail::Argument& x) {
    if (x.is_zero()) return detail::pole(x.is_negative());
    if (x.is_negative()) return detail::invalid_answer();
    if (x.is_infinite) return detail::exactly(detail::zero_128);
    const bool exact = detail::is_power_of_two(x.value) && x.value.exponent % 2 == 0;
    const detail::Real128 root = detail::square_root(detail::one / x.value);
    return exact ? detail::exactly(root) : detail::nearly(root);
  });
}
/// The real cube root, negative for negative x.
constexpr Result cbrt(Format format, Code a, const RoundingOptions& options = {}, std::uint32_t random = 0) noexcept {
  return detail::elementary(format, a, options, random, [](const detail::Argument& x) {
    bool exact = false;
    detail::Answer answer =
        detail::odd(x, detail::infinite_answer(false), [&](const detail::Real128& v) { return detail::cbrt_real(v, exact); });
    if (exact) answer.kind = detail::Answer::Kind::exact;
    return answer;
  });
}
/// 1/(1 + e^-x)
constexpr Result sigmoid(Format format, Code a, const RoundingOptions& options = {}, std::uint32_t random = 0) noexcept {
  return detail::elementary(format, a, options, random, [](const detail::Argument& x) {
    return detail::between(x, detail::exactly(detail::zero_128), detail::exactly(detail::real_power_of_two(-1)),
                           detail::exactly(detail::one),
                           [](const detail::Real128& v) { return detail::times_sigmoid(detail::one, v); });
  });
}
/// ln(1 + e^x)
constexpr Result softplus(Format format, Code a, const RoundingOptions& options = {}, std::uint32_t random = 0) noexcept {
  return detail::elementary(format, a, options, random, [](const detail::Argument& x) {
    return detail::between(x, detail::exactly(detail::zero_128), detail::nearly(detail::ln2_128<>),
                           detail::infinite_answer(false), detail::softplus_real);
  });
}

namespace detail {

/// Functions that run from -0 at -infinity through x/2 at 0 to x at infinity.
template <class Function>
constexpr Result gate(Format format, Code a, const RoundingOptions& options, std::uint32_t random, Function function) noexcept {
  return elementary(format, a, options, random, [&](const Argument& x) {
    return between(x, exactly(zero_128.with_sign(true)), exactly(x.value), infinite_answer(false), function);
  });
}

}  // namespace detail

/// x (1 + erf(x/sqrt(2)))/2 (D. Hendrycks and K. Gimpel, "Gaussian Error Linear Units", arXiv:1606.08415); at -infinity its
/// limit, -0.
constexpr Result gelu(Format format, Code a, const RoundingOptions& options = {}, std::uint32_t random = 0) noexcept {
  return detail::gate(format, a, options, random, detail::gelu_real);
}
/// x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))/2 (the same paper, section 2).
constexpr Result gelu_tanh(Format format, Code a, const RoundingOptions& options = {}, std::uint32_t random = 0) noexcept {
  return detail::gate(format, a, options, random, detail::gelu_tanh_real);
}
/// x/(1 + e^-x)
constexpr Result silu(Format format, Code a, const RoundingOptions& options = {}, std::uint32_t random = 0) noexcept {
  return detail::gate(format, a, options, random, [](const detail::Real128& v) { return detail::times_sigmoid(v, v); });
}

}  // namespace ulpscope::emu
