// SPDX-License-Identifier: Apache-2.0
// The arithmetic a kernel declares for its intermediate results, and what it says about rounding errors.
// Bounds: N. J. Higham, "Accuracy and Stability of Numerical Algorithms", 2nd ed., chapters 3 and 4; docs/verify-operations.md.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "emu/bits.hpp"
#include "emu/catalogue.hpp"
#include "emu/decode.hpp"
#include "emu/format.hpp"
#include "emu/rounding.hpp"

namespace ulpscope::verify {

/// What is declared of the operations inside of a kernel.
struct KernelArithmetic {
  emu::Format format = emu::float32;                 ///< of every intermediate result
  emu::Rounding sums = emu::Rounding::nearest_even;  ///< of additions; matrix engines cut toward zero
  std::uint64_t depth = 0;                           ///< additions that a term meets at most; 0: any order of them
  /// Error of exp, a division, a square root and the like, in ulp of `format`; 0 stands for a correct rounding. Two is the
  /// documented maximum of expf (CUDA C++ Programming Guide, "Mathematical Functions", table of single-precision functions).
  double function_ulp = 2;
  /// What is added to it whatever the size of the result, as polynomials for erf are rated.
  double function_abs = 0;
};

/// Half an ulp of 1: a result in the normal range, rounded to nearest, is within unit * |result|.
inline double unit(emu::Format format) { return emu::power_of_two(-format.precision()); }
/// The same for additions: twice as much where they do not round to nearest.
double sum_unit(const KernelArithmetic& arithmetic);
/// What underflow adds to the error of one operation. In formats with the exponents of float32 a result below the least normal
/// may be flushed to zero, as GPUs do; in others half the least spacing.
inline double underflow(emu::Format format) {
  if (!format.has_zero()) return emu::power_of_two(format.min_exponent());
  const bool may_flush = format.exponent_bits >= emu::float32.exponent_bits || !format.has_subnormals();
  return emu::power_of_two(may_flush ? format.min_exponent() : format.min_spacing_exponent() - 1);
}
/// The greatest finite number.
inline double largest(emu::Format format) {
  return format == emu::float32 ? static_cast<double>(std::numeric_limits<float>::max()) : emu::max_finite(format);
}

/// n u / (1 - n u): what n roundings of unit u do to a result at most. Infinite from n u = 1 on.
double gamma(double n, double u);
/// Of a sum of n terms, each of which may carry one rounding of its own: |computed - exact| <= this * sum of |term|, whatever
/// the order within `depth`.
double sum_relative(const KernelArithmetic& arithmetic, std::uint64_t terms);
/// Relative error of one function or division.
double function_relative(const KernelArithmetic& arithmetic);

/// Of a function whose value is y.
double function_error(const KernelArithmetic& arithmetic, double y);

/// Upper bounds are computed in float64 from fewer than 2^22 nonnegative terms: relative errors below 2^-30, made up for here.
constexpr double loosened(double bound) { return bound * (1 + 0x1p-30); }

/// `float32 sums of 4096 terms in any order, u = 2^-24, gamma = 0.000244`.
std::string words_of_sum(const KernelArithmetic& arithmetic, std::uint64_t terms);
/// `exp, division and roots to 2 ulp`.
std::string words_of_functions(const KernelArithmetic& arithmetic);

}  // namespace ulpscope::verify
