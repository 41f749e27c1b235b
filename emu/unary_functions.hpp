// SPDX-License-Identifier: Apache-2.0
// Functions of one number by their names, and of whole spans of codes: each result is that of emu/elementary.hpp in every bit,
// at a hundredth of its time. Host only.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

#include "emu/arithmetic.hpp"
#include "emu/format.hpp"
#include "emu/rounding.hpp"

namespace ulpscope::emu {

/// What is known of the magnitude of a value.
struct MagnitudeBounds {
  double above = -1;                                       ///< it is greater; negative: nothing is known
  double below = std::numeric_limits<double>::infinity();  ///< it is less; infinite: nothing is known
  bool is_finite = true;                                   ///< it is no pole's
};

/// A function of one number, rounded once to its format.
struct UnaryFunction {
  std::string_view name;  ///< `exp`, `gelu_tanh`, `rcp`, `round_to_int`, ...
  /// Of a format, a code, rounding options and random bits, as in emu/elementary.hpp and emu/arithmetic.hpp.
  Result (*rounded)(Format, Code, const RoundingOptions&, std::uint32_t);
  /// The same of doubles, within 4 ulp of the exact value or 4 of the least spacing; null where `rounded` is as quick.
  double (*quick)(double);
  /// Of a finite number that is not zero: numbers of a format that the value comes close to without reaching them, so that no
  /// interval around `quick` leaves it open on which side of them it is. Null where there are none.
  MagnitudeBounds (*bounds)(double) = nullptr;
};

/// All of them, elementary functions first.
std::span<const UnaryFunction> unary_functions();

/// outs[k][i] = function.rounded(format, codes[i], options[k], 0).code. Bits of a code above the format are ignored.
///
/// Where an interval around the quick value rounds to one code, that is the one (A. Ziv, "Fast evaluation of elementary
/// mathematical functions with correctly rounded last bit", ACM TOMS 17 (1991)); elsewhere, for formats that float does not
/// hold, and for stochastic rounding, `rounded` is called. Word: std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t, of
/// no fewer bits than a code. Precondition: as many outs as options, all of the size of codes, which none of them overlaps.
template <class Word>
void apply(const UnaryFunction& function, Format format, std::span<const Word> codes, std::span<const RoundingOptions> options,
           std::span<const std::span<Word>> outs);

}  // namespace ulpscope::emu
