// SPDX-License-Identifier: Apache-2.0
// The vector loops of a census element by element. Sums are formed in sixteen lanes whatever the length of a vector is: the
// bits depend on no instruction set.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "emu/format.hpp"
#include "studies/census/scaling.hpp"

namespace ulpscope::studies {

/// Neighbours under one scale.
struct ScaleRun {
  std::size_t begin, end;  ///< places in a block
  ElementScale scale;      ///< of each of them
};

/// Elements on their way, few enough to stay in the first cache, and zeros behind the last one.
struct InOrderBlock {
  static constexpr std::size_t size = 512;      ///< the most elements
  static constexpr std::size_t sum_lanes = 16;  ///< of the sums below
  /// One for each element.
  struct alignas(64) Numbers : std::array<double, size + sum_lanes> {};

  std::size_t count;  ///< of the elements
  Numbers x;          ///< inputs
  Numbers product;    ///< with their scales
  Numbers scaled;     ///< the same, or 0 where an input counts as zero
  Numbers value;      ///< what that was rounded to
  Numbers error;      ///< of `value` without its scale, against `x`
};

/// Elements that are floats at every step, all under one scale; at most InOrderBlock::size.
struct FloatBlock {
  std::span<const float> x;        ///< inputs
  std::span<const float> product;  ///< with the scale: the inputs themselves where it is 1
  std::span<const float> value;    ///< what these were rounded to
  ElementScale scale;              ///< its numerator and denominator are 0x1p-130 to 0x1p130

  /// Whether a scale is such a one, and a product with it what floats multiply to.
  static bool can_have(const ElementScale& scale) noexcept {
    const auto is_ordinary = [](double x) { return x >= 0x1p-130 && x <= 0x1p130; };
    return scale.divide == 1 && is_ordinary(scale.numerator) && is_ordinary(scale.denominator);
  }
};

/// How the elements of a tensor are multiplied and judged.
struct InOrderQuestion {
  bool in_float;       ///< products are rounded to float32
  double least_input;  ///< below it inputs count as zero
  double in_range;     ///< no magnitude up to this one overflows ...
  double beyond;       ///< ... and every greater one than this does
  double min_normal;   ///< of the format
  int min_exponent;    ///< of the format
  int fraction_bits;   ///< of the format
};

/// Sums by lanes: element i of a chunk is added to lane i mod 16.
struct alignas(64) InOrderSums {
  using Lanes = std::array<double, InOrderBlock::sum_lanes>;  ///< of one sum
  Lanes input{}, error{}, saturating_error{};                 ///< of squares
  Lanes signed_error{}, abs_error{}, rel_error{};             ///< of errors, their sizes, and these as shares of the inputs
};

/// What a plain block adds beside sums. Extremes are those of all that was added to it.
struct PlainCounts {
  std::uint64_t overflows = 0;                                ///< results that are the largest number for want of a greater one
  std::uint64_t zeros = 0;                                    ///< of the inputs
  std::uint64_t to_zero = 0;                                  ///< results that are 0
  std::uint64_t below_normal = 0;                             ///< results below the format's least normal number
  std::uint64_t exact = 0;                                    ///< normal results without error
  double max_abs = 0, max_rel = 0, max_ulp = 0, largest = 0;  ///< greatest errors and input
  double smallest;                                            ///< the least input but zeros
};

/// Fills x, product and scaled: with at most InOrderBlock::size values, all of them in a run.
void multiply(std::span<const float> values, std::span<const ScaleRun> runs, const InOrderQuestion& question,
              InOrderBlock& block);
/// The same of doubles.
void multiply(std::span<const double> values, std::span<const ScaleRun> runs, const InOrderQuestion& question,
              InOrderBlock& block);
/// Fills error, of what stands in value.
void unscale(std::span<const ScaleRun> runs, InOrderBlock& block);
/// Whether all inputs, products and results are finite, it is known which overflow, and the squares of inputs and errors are
/// ordinary (SquareSum).
bool is_plain(const InOrderBlock& block, const InOrderQuestion& question);
/// Adds a plain block, of a format whose values are floats.
void add_plain(const InOrderBlock& block, const InOrderQuestion& question, InOrderSums& sums, PlainCounts& counts);

/// Products of floats, rounded to floats.
void multiply(std::span<const float> values, float factor, std::span<float> products);
/// Whether all of these are finite, and none is greater: so it is with their inputs, and what they are rounded to. Where both
/// have a scale that FloatBlock::can_have(), no square is other than ordinary: all are multiples of 0x1p-462 below 0x1p389.
bool are_within(double most, std::span<const float> products);
/// Adds a block whose products are within what does not overflow. Precondition: no inputs count as zero
void add_plain(const FloatBlock& block, const InOrderQuestion& question, InOrderSums& sums, PlainCounts& counts);

/// The greatest magnitude as `fmaxf` finds it: a NaN is passed over, an infinity is not. Of no values 0.
float amax_of(std::span<const float> values);

}  // namespace ulpscope::studies
