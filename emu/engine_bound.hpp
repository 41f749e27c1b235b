// SPDX-License-Identifier: Apache-2.0
// How far an element of a matrix product can be from the exact one, whatever the operands are: by the arithmetic of an engine,
// or by declared arithmetic where there is none. With P the sum of |a||b| over the products of the element, their scales
// included, and of |c|,
//   |computed - exact| <= relative P + absolute,
// where computed is the sum before the last rounding to the output format, and nothing overflows on the way (no partial sum of
// |a||b| in any order reaches the accumulator's range, which is so where P (1 + relative) + absolute does not).
//
// The losses are counted one by one and added up; each is relative to a magnitude that is at most P (1 + g), g what roundings
// before it can have added. An alignment of n terms keeps F bits below the greatest exponent e, and 2^e is at most the greatest
// magnitude: each term loses less than 2^-F of that, one less where the greatest has no bits further down. A rounding loses at
// most u, 2^-p to nearest and 2^(1-p) else, p the significand bits. What is lost is passed on unchanged: additions are exact
// apart from these. Losses of a step among its own products count once for all of K, those of the running sum once for each
// step. To nearest, N roundings have (1 + u)^N <= 1 / (1 - N u): a chain of N has Higham's gamma_N = N u / (1 - N u) (Accuracy
// and Stability of Numerical Algorithms, 2nd ed., 3.1 and 4.2). Toward zero no magnitude grows: N u. Nothing depends on which
// product stands where: the bounds hold for every order of the products.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "emu/catalogue.hpp"
#include "emu/engine.hpp"
#include "emu/format.hpp"
#include "emu/product_rounding.hpp"
#include "emu/rounding.hpp"

namespace ulpscope::emu {

/// A bound, and what random errors leave of it.
struct ErrorBound {
  double relative;  ///< times P; infinite where N u reaches 1 and no bound is left
  double absolute;  ///< in units of the result: underflow, flushed subnormals, exponents of subnormals
  /// Under the model of `probable`: the expected part of the losses, and the root of the sum of squares of the others.
  double mean_relative, random_relative;
  /// `losses` in a row, each at most `unit` of the running sum: their product is `relative` without growth.
  double losses, unit;

  /// The greatest error of an element whose sum of magnitudes is P; of P = 0 only `absolute`, even where `relative` is
  /// infinite.
  constexpr double allowed(double magnitude) const noexcept {
    return magnitude > 0 ? relative * magnitude + absolute : absolute;
  }
};

/// What P is made of. An alignment goes by exponents, and a subnormal operand has that of the least normal number, which is
/// greater than its magnitude.
enum class Magnitudes : std::uint8_t {
  as_they_are,
  /// Nonzero operands (and the engine's scales) below their format's least normal number count as that number.
  floored,
};

/// What is around an engine's steps.
struct Chain {
  std::size_t promote = 0;  ///< products of a part; 0: all. Parts are sums from 0, added in float32 (float64 for float64)
  std::size_t split_k = 1;  ///< number of chains of equal length, added likewise
  bool has_c = false;       ///< c takes part, in the chain or after it
  /// Scales that the engine does not apply: products that share two of them, whose sum is multiplied by their product in the
  /// format in which parts are added. 0: there are none. k or more: two scales for all.
  std::size_t scale_products = 0;
  double largest_scale =
      1;  ///< of the products of two such scales, all of which are normal numbers of that format; times alpha
  /// Roundings in that format that follow the sum: by alpha, by a scale of all of a tensor, of beta c. P has them as factors.
  std::size_t epilogue = 0;

  Magnitudes magnitudes = Magnitudes::as_they_are;  ///< what P is made of
  /// No |a|, |b| is greater (scales not included); the formats' greatest numbers where not given. They bound what subnormal
  /// operands lose, and are not used where there are none.
  double largest_a = std::numeric_limits<double>::infinity(), largest_b = std::numeric_limits<double>::infinity();
  Format scale_format = float8_e8m0fnu;  ///< of the scales that the engine applies
};

/// The bound for a sum of `k` products of numbers of `a` and `b` on an engine. Of each part's steps the order is free, and so
/// is the order in which parts are added.
///
/// Nothing where c does not enter exactly once, where the last stage leaves several sums, where stages round sums of scaled
/// groups (what they lose is multiplied by a scale of unknown size), where an unrounded sum without exponent has c for a term,
/// and where a window drops unrounded sums. No engine with a name and none that parse_engine makes is of these kinds.
std::optional<ErrorBound> engine_bound(const Engine& engine, Format a, Format b, std::size_t k, const Chain& chain = {});

/// In which order terms are added.
enum class SumOrder : std::uint8_t {
  any,         ///< whatever the order and the tree
  sequential,  ///< one after another
  pairwise,    ///< halves first, as in Higham, 4.2: ceil(log2 n) additions in a row
};

/// IEEE arithmetic that is declared, no engine being known.
struct DeclaredSum {
  Format a, b;                                 ///< formats of the operands
  Format accumulator = float32;                ///< what products and sums are rounded to
  Products products = Products::rounded;       ///< whether a product is rounded before it is added
  Rounding rounding = Rounding::nearest_even;  ///< of every operation: nearest_even or toward_zero
  SumOrder order = SumOrder::any;              ///< in which products are added
  /// Products of a block, whose sum joins the sum of blocks, both in `order` and in the accumulator's format. 0: no blocks.
  std::size_t block = 0;
  bool flushes_subnormals = false;  ///< of products and sums
  bool zeroes_subnormals = false;   ///< of operands
};

/// The bound for `k` products in declared arithmetic. `chain` as for an engine; parts are added to nearest.
ErrorBound any_order_bound(const DeclaredSum& sum, std::size_t k, const Chain& chain = {});

/// The relative allowance that errors stay within with probability 1 - `false_alarm`, never above `bound.relative`:
///   min(relative, mean_relative + lambda random_relative), lambda = sqrt(2 ln(2 / false_alarm)).
/// Where `relative` is 1 or more it is `relative`: sums that long can stagnate, terms being below half a unit of the sum, and
/// the errors then have one sign (Connolly, Higham and Mary, 2021, section 1). Sums of uniform numbers in float16 do.
///
/// The model: roundings to nearest (and stochastic ones) are errors of mean zero given all before them (Higham and Mary, SIAM
/// J. Sci. Comput. 41 (2019), A2815; Connolly, Higham and Mary, SIAM J. Sci. Comput. 43 (2021), A566). Cuts and directed
/// roundings lose half a unit in the mean, and a part of mean zero that is at most half a unit. By Hoeffding's and Azuma's
/// inequality a sum of such errors, each at most c_i, exceeds lambda sqrt(sum c_i^2) with a probability of at most 2
/// exp(-lambda^2 / 2). The magnitudes that errors are relative to grow by less than random growth of lambda = 12 (a probability
/// below 10^-30 each). It is a model: constant operands, whose cuts all lose the same, need not obey it. The deterministic
/// bound always holds.
///
/// `false_alarm` is that of one element: for a whole output, divide by the number of its elements. `absolute` is added as it
/// is.
double probable(const ErrorBound& bound, double false_alarm);

/// Why the bound says nothing, in one line that ends with what would say something; empty where it says something. It says
/// nothing where `relative` reaches 1: no exact element exceeds P, and an output of all zeros would pass.
std::string worthless(const ErrorBound& bound);

}  // namespace ulpscope::emu
