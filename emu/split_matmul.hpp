// SPDX-License-Identifier: Apache-2.0
// Whole matrix products of wide numbers that are made of products of narrower ones (emu/split_product.hpp): every bit as the
// scheme says, whatever the number of threads and the SIMD path.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "emu/engine_matmul.hpp"
#include "emu/split_product.hpp"

namespace ulpscope::emu {

/// The parts of numbers, greatest first: part p of values[i] at [p][i]. Each is what the ones before it leave, rounded to the
/// parts' format; what is left is exact in float32. Of an infinity all parts after the first are NaN, and so they are of a
/// finite number whose first part overflows (bfloat16: of 2^128 - 2^119 and beyond; then the second is an infinity of the other
/// sign).
std::vector<std::vector<float>> split_into_parts(const SplitProduct& split, std::span<const float> values);

/// The slices of a line of numbers of Ozaki scheme I: x is the sum over s of slices[s][i] * 2^(exponent + 2 - 7 (s + 1)) and of
/// less than 2^(exponent + 2 - 7 count), of x's sign, that are cut off.
struct Slices {
  std::vector<std::vector<std::int8_t>> values;  ///< [slice][i], of -127 to 127, with the number's sign
  int exponent = 0;                              ///< of the greatest magnitude; 0 where all are zeros
};
/// `line` is finite.
Slices split_into_slices(int count, std::span<const double> line);

/// The integers of a line of numbers of Ozaki scheme II, as remainders: trunc(x * 2^exponent) modulo ozaki_moduli()[m], of
/// -m/2 to (m - 1)/2.
struct Residues {
  std::vector<std::vector<std::int16_t>> values;  ///< [modulus][i]
  int exponent = 0;                               ///< of the power of two that multiplies all
};
/// `line` is finite. The exponent is the greatest t - e with 4^t S <= (P - 1) / 2, P the product of the moduli (rounded down to
/// a double), e the exponent of the greatest magnitude and S the sum of (|x| 2^-e)^2, rounded up to a double: what |x| 2^-e has
/// below 2^-1074 is rounded up before.
Residues split_into_residues(int moduli, std::span<const double> line);

/// D = alpha * (C + A * B), or alpha * A * B + beta * C, as EngineMatmul has them; `problem.engine` plays no part. The sum over
/// K is that of the scheme: of parts in float32, begun with +0; of slices in float64; of residues exact, rounded once to
/// float64. C joins it by one addition; alpha and beta follow as in EngineMatmul, in Float for parts and else in float64.
///
/// An element of D is NaN where a row of A or a column of B that is split into slices or residues has an infinity or a NaN.
/// @throws Error where shapes do not fit; where there are scales, `promote` or `split_k`; where parts are to be made of
/// operands that float32 does not hold; where K has more products than sums of integers take (most_integer_products)
///@{
void split_matmul(const SplitProduct& split, const EngineMatmul<float>& problem, std::span<float> d);
void split_matmul(const SplitProduct& split, const EngineMatmul<double>& problem, std::span<double> d);
///@}

}  // namespace ulpscope::emu
