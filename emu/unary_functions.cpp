// SPDX-License-Identifier: Apache-2.0
// Values in double, intervals around them, and those who are in doubt one by one.
#include "emu/unary_functions.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "emu/bulk.hpp"
#include "emu/catalogue.hpp"
#include "emu/elementary.hpp"
#include "emu/encode.hpp"
#include "emu/float_environment.hpp"
#include "emu/integral.hpp"
#include "emu/math.hpp"
#include "emu/quick_functions.hpp"
#include "emu/special_functions.hpp"

namespace ulpscope::emu {
namespace {

Result round_to_int(Format format, Code a, const RoundingOptions& options, std::uint32_t random) {
  return round_to_integral(format, a, options, random);
}
Result square_root(Format format, Code a, const RoundingOptions& options, std::uint32_t random) {
  return sqrt(format, a, options, random);
}

using Bounds = MagnitudeBounds;

/// Functions that grow from 0 through `middle` at 0 to `end`.
constexpr Bounds growing(double x, double middle, double end) { return x > 0 ? Bounds{middle, end} : Bounds{0, middle}; }
/// x times what grows from 0 through 1/2 to 1.
constexpr Bounds gated(double x) { return x > 0 ? Bounds{x / 2, x} : Bounds{0, -x / 2}; }
constexpr double at_most_one(double x) { return x < 1 ? x : 1; }
double size_of(double x) { return std::fabs(x); }
/// Sines of half turns: whole numbers and halves have 0 and 1 themselves.
Bounds of_half_turns(double x) { return 2 * x == std::floor(2 * x) ? Bounds{} : Bounds{0, 1}; }

constexpr std::array functions{
    UnaryFunction{"exp", exp, [](double x) { return exp(x); }, [](double x) { return growing(x, 1, HUGE_VAL); }},
    UnaryFunction{"exp2", exp2, [](double x) { return exp2(x); }, [](double x) { return growing(x, 1, HUGE_VAL); }},
    UnaryFunction{"exp10", exp10, [](double x) { return exp10(x); }, [](double x) { return growing(x, 1, HUGE_VAL); }},
    UnaryFunction{"expm1", expm1, [](double x) { return expm1(x); },
                  [](double x) {
                    return x > 0 ? Bounds{x} : Bounds{0, at_most_one(-x)};
                  }},
    UnaryFunction{"log", log, [](double x) { return log(x); }},
    UnaryFunction{"log2", log2, [](double x) { return log2(x); }},
    UnaryFunction{"log10", log10, [](double x) { return log10(x); }},
    UnaryFunction{"log1p", log1p, [](double x) { return log1p(x); },
                  [](double x) {
                    return x > 0 ? Bounds{0, x} : Bounds{.above = -x, .is_finite = x != -1};
                  }},
    UnaryFunction{"sin", sin, [](double x) { return sin(x); },
                  [](double x) {
                    return Bounds{0, at_most_one(size_of(x))};
                  }},
    UnaryFunction{"cos", cos, [](double x) { return cos(x); },
                  [](double) {
                    return Bounds{0, 1};
                  }},
    UnaryFunction{"tan", tan, [](double x) { return tan(x); },
                  [](double x) { return Bounds{size_of(x) < 1.5 ? size_of(x) : 0}; }},
    UnaryFunction{"sinpi", sinpi, [](double x) { return sinpi(x); }, of_half_turns},
    UnaryFunction{"cospi", cospi, [](double x) { return cospi(x); }, of_half_turns},
    UnaryFunction{"tanpi", tanpi, [](double x) { return tanpi(x); }},
    UnaryFunction{"sinh", sinh, [](double x) { return sinh(x); }, [](double x) { return Bounds{size_of(x)}; }},
    UnaryFunction{"cosh", cosh, [](double x) { return cosh(x); }, [](double) { return Bounds{1}; }},
    UnaryFunction{"tanh", tanh, [](double x) { return tanh(x); },
                  [](double x) {
                    return Bounds{0, at_most_one(size_of(x))};
                  }},
    UnaryFunction{"asin", asin, [](double x) { return asin(x); }, [](double x) { return Bounds{size_of(x)}; }},
    UnaryFunction{"acos", acos, [](double x) { return acos(x); }},
    UnaryFunction{"atan", atan, [](double x) { return atan(x); },
                  [](double x) {
                    return Bounds{0, size_of(x)};
                  }},
    UnaryFunction{"asinh", asinh, [](double x) { return asinh(x); },
                  [](double x) {
                    return Bounds{0, size_of(x)};
                  }},
    UnaryFunction{"acosh", acosh, [](double x) { return acosh(x); }},
    UnaryFunction{"atanh", atanh, [](double x) { return atanh(x); },
                  [](double x) { return Bounds{.above = size_of(x), .is_finite = size_of(x) != 1}; }},
    UnaryFunction{"erf", erf, [](double x) { return erf(x); },
                  [](double) {
                    return Bounds{0, 1};
                  }},
    UnaryFunction{"erfc", erfc, [](double x) { return erfc(x); },
                  [](double x) {
                    return x > 0 ? Bounds{0, 1} : Bounds{1, 2};
                  }},
    UnaryFunction{"sqrt", square_root, [](double x) { return std::sqrt(x); }},
    UnaryFunction{"rsqrt", rsqrt, [](double x) { return rsqrt(x); }},
    UnaryFunction{"cbrt", cbrt, [](double x) { return cbrt(x); }},
    UnaryFunction{"rcp", rcp, [](double x) { return 1 / x; }},
    UnaryFunction{"sigmoid", sigmoid, [](double x) { return sigmoid(x); }, [](double x) { return growing(x, 0.5, 1); }},
    UnaryFunction{"softplus", softplus, [](double x) { return softplus(x); }, [](double x) { return Bounds{x > 0 ? x : 0}; }},
    UnaryFunction{"gelu", gelu, [](double x) { return gelu(x); }, gated},
    UnaryFunction{"silu", silu, [](double x) { return silu(x); }, gated},
    UnaryFunction{"gelu_tanh", gelu_tanh, [](double x) { return gelu_tanh(x); }, gated},
    UnaryFunction{"round_to_int", round_to_int, nullptr},
};

/// What |quick| may be off by, with as much again: of itself, and at least; the latter is far below half of the least float.
constexpr double relative = 0x1p-49, least = 0x1p-1000;
constexpr std::size_t at_once = 512;  ///< numbers, so that all of them stay in the nearest cache

/// The magnitude of an exact value rounds as one between both does, and its sign is theirs.
struct Interval {
  double inner, outer;
};
double after(double positive) { return std::bit_cast<double>(std::bit_cast<std::uint64_t>(positive) + 1); }
double before(double positive) { return std::bit_cast<double>(std::bit_cast<std::uint64_t>(positive) - 1); }

/// A double beside a bound stands for all values between the bound and the next number of fewer than 52 bits: they round alike.
/// Of NaN `outer` is NaN.
Interval enclosure(const UnaryFunction& function, double x) {
  constexpr double beyond = 0x1p1023;  // a value that is infinite in double may be finite
  const double y = function.quick(x), size = std::fabs(y), error = size * relative + least;
  const double inner = size < beyond ? size - error : beyond;
  double least_inner = 0, outer = size + error;
  if (function.bounds != nullptr && x != 0) {
    const Bounds bounds = function.bounds(x);
    if (bounds.above >= 0) least_inner = bounds.above > 0 ? after(bounds.above) : least;
    const double end = before(bounds.below);
    if (bounds.is_finite && end < outer) outer = end;
  }
  return {std::copysign(inner > least_inner ? inner : least_inner, y), std::copysign(outer, y)};
}

}  // namespace

std::span<const UnaryFunction> unary_functions() { return functions; }

template <class Word>
void apply(const UnaryFunction& function, Format format, std::span<const Word> codes, std::span<const RoundingOptions> options,
           std::span<const std::span<Word>> outs) {
  const auto rounded = [&](Word code, const RoundingOptions& how) {
    return static_cast<Word>(function.rounded(format, code & format.code_mask(), how, 0).code);
  };
  const auto is_enclosed = [&](const RoundingOptions& how) {
    return function.quick != nullptr && fits_float(format) && how.rounding != Rounding::stochastic;
  };
  for (std::size_t k = 0; k < options.size(); ++k)
    if (!is_enclosed(options[k]))
      std::transform(codes.begin(), codes.end(), outs[k].begin(), [&](Word code) { return rounded(code, options[k]); });
  if (std::none_of(options.begin(), options.end(), is_enclosed)) return;

  const detail::FloatEnvironment environment(detail::Direction::nearest);
  std::array<double, at_once> values, inner, outer;
  std::array<Word, at_once> low, high;
  for (std::size_t begin = 0; begin < codes.size(); begin += at_once) {
    const std::size_t size = std::min(at_once, codes.size() - begin);
    const std::span<const Word> in = codes.subspan(begin, size);
    decode(format, in, std::span(values).first(size));
    for (std::size_t i = 0; i < size; ++i) {
      const Interval around = enclosure(function, values[i]);
      inner[i] = around.inner;
      outer[i] = around.outer;
    }
    for (std::size_t k = 0; k < options.size(); ++k) {
      if (!is_enclosed(options[k])) continue;
      RoundingOptions of_result = options[k];
      of_result.subnormals_are_zero = false;  // arguments are
      encode<double, Word>(format, std::span<const double>(inner).first(size), std::span(low).first(size), of_result);
      encode<double, Word>(format, std::span<const double>(outer).first(size), std::span(high).first(size), of_result);
      for (std::size_t i = 0; i < size; ++i) {
        const bool is_known = low[i] == high[i] && outer[i] == outer[i] && std::fabs(values[i]) < HUGE_VAL &&
                              !(options[k].subnormals_are_zero && format.is_subnormal(in[i] & format.code_mask()));
        outs[k][begin + i] = is_known ? low[i] : rounded(in[i], options[k]);
      }
    }
  }
}

#define ULPSCOPE_INSTANTIATE_APPLY(Word)                                                                     \
  template void apply(const UnaryFunction&, Format, std::span<const Word>, std::span<const RoundingOptions>, \
                      std::span<const std::span<Word>>);
ULPSCOPE_INSTANTIATE_APPLY(std::uint8_t)
ULPSCOPE_INSTANTIATE_APPLY(std::uint16_t)
ULPSCOPE_INSTANTIATE_APPLY(std::uint32_t)
ULPSCOPE_INSTANTIATE_APPLY(std::uint64_t)
#undef ULPSCOPE_INSTANTIATE_APPLY

}  // namespace ulpscope::emu
