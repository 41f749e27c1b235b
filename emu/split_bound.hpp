// SPDX-License-Identifier: Apache-2.0
// How far an element of a split product can be from the exact one, as emu/engine_bound.hpp has it: with P the sum of |a||b|
// over the products of the element and of |c|, |computed - exact| <= relative P + absolute.
//
// Parts. Let p be the parts' significand bits and x be from 1 to 2. A first part that is rounded to nearest leaves at most
// 2^-p, one that is cut off less than 2^(1-p). What is left is below 2^(E + 1) or is that power of two, which is a part; to
// nearest E falls by p + 1 with each part, else by p. So part i > 0 is at most s_i = 2^(E_i + 1), the first at most s_0 = 1 +
// 2^-p (1 if it is cut off), and all n leave at most r = 2^(E_(n-1) - p), twice that less 2^-23 if the last is cut off, and
// nothing where p bits go from E_(n-1) to the last one of float32. Of what lies below the parts' least number each part may
// lose half of that number, h; a last part that is cut off, all of it. With x and y split the products that are formed leave
//   |x y - sum over pairs of x_i y_j| <= (sum over other pairs of s_i s_j + r (2 + r)) |x||y| + terms with h.
// The pairs that are formed are a sum of numbers of the parts' format on the engine, whose P is at most the sum of s_i s_j
// times ours: engine_bound() says the rest. Where all pairs but the last are added first, what is lost of their sum counts by
// its own size.
//
// Slices. With e and f the exponents of the greatest magnitudes and S slices, what is cut off a number is below 2^(e + 2 - 7
// S), of its sign. The slices after the m-th and what is cut off are below 2^(e + 2 - 7 m), slice 1 below 2^(e + 1), slice i
// below 2^(e + 9 - 7 i). What a product loses is the sum over i of slice i of a times what follows slice S + 1 - i of b, and
// what is cut off a times b: below 2^(e + f + 3 - 7 S) (1 + 2 (S - 1) + 1) = S 2^(e + f + 4 - 7 S). S (S + 1) / 2 exact sums
// are added in float64, each partial sum at most P: slices have the number's sign.
//
// Residues. Integers are trunc(x 2^t), with t the greatest for which 4^t |x|^2 <= q = (P' - 1) / 2, P' the product of the
// moduli, |x| the norm of the line: 2^-t < 2 |x| / sqrt(q), but for the roundings of the norm and of q, 2^-50 of it. Of a
// product |a| 2^-t(b) + |b| 2^-t(a) is lost at most, hence 4 K |x||y| / sqrt(q) <= 4 K sqrt(K) of the greatest magnitudes'
// product by Cauchy and Schwarz, and one rounding.
#pragma once

#include <cstddef>
#include <optional>

#include "emu/engine_bound.hpp"
#include "emu/split_product.hpp"

namespace ulpscope::emu {

/// The bound for a sum of `k` products. Of `chain` count has_c, largest_a and largest_b (where they are not given, those of
/// float32, which leave nothing of a bound of slices and residues), epilogue and largest_scale; the others must not be set. It
/// holds where no part overflows and no operand has an infinity or NaN, and for parts as engine_bound() does. Nothing where the
/// engine has no bound.
std::optional<ErrorBound> split_bound(const SplitProduct& split, std::size_t k, const Chain& chain = {});

}  // namespace ulpscope::emu
