// SPDX-License-Identifier: Apache-2.0
// The fast way for few formats: numbers of ten neighbouring binades, all in the normal range of every format, are rounded and
// summed where they stand. What lies outside goes to the binades (studies/census/binade_pass.hpp). Sums are exact, because a
// block is so short that doubles hold them; quotients are formed as in studies/census/binade_sums.hpp. So it does not matter
// which way a number takes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "studies/census/binade.hpp"
#include "studies/census/binade_kernels.hpp"
#include "studies/census/binade_sums.hpp"

namespace ulpscope::studies {

/// A block's numbers x, those outside of the window replaced by 0. x = head + tail, and the head has 12 bits.
struct WindowBlock {
  static constexpr std::size_t size = 1024;  ///< numbers of a block
  static constexpr int tail_bits = 12;       ///< bits of a tail at most
  static constexpr int binades = 10;         ///< that a window spans
  // The sum of squares of heads is a multiple of the least head's last bit squared, and this many times that at most.
  static_assert(2 * (binades - 1) + 2 * (Binade::fraction_bits + 1 - tail_bits) + 10 <= 53 && size == 1 << 10);

  /// Padded: arrays of 4 KiB alias modulo 4 KiB, and loads stall on earlier stores to other arrays.
  using Floats = std::array<float, size + 64>;
  alignas(64) Floats x;                  ///< the numbers
  alignas(64) Floats head;               ///< their upper parts
  alignas(64) Floats tail;               ///< what is left of them
  alignas(64) Floats magnitude;          ///< of x; outside of the window any number in it
  alignas(64) Floats reciprocal;         ///< 1 / x, to the nearest float
  alignas(64) Floats error_head;         ///< rounded - head, so that the error is this less the tail
  alignas(64) Floats error_size;         ///< |error|
  std::array<float, size + 16> outside;  ///< the numbers themselves; and what a vector writes behind them
  std::size_t outside_count;             ///< numbers outside of the window
  MagnitudeRange range;                  ///< of the numbers inside
  const float* next;                     ///< what will be split after this block, or any other block
};

/// Sums over the numbers inside of a window, in units of the product of the factors' last bits in its least binade.
struct WindowInput {
  std::uint64_t count = 0;  ///< numbers inside
  /// Of tails, and of squares and products of heads and tails.
  Int128 tails = 0, heads_squared = 0, heads_by_tails = 0, tails_squared = 0;
};
/// The same of the errors of one way to round.
struct WindowErrors {
  Int128 sizes = 0;                                          ///< of errors
  Int128 error_heads = 0;                                    ///< of rounded - head
  Int128 error_heads_squared = 0, error_heads_by_tails = 0;  ///< of their squares, and of their products with tails
};

/// What does not depend on the window.
struct WindowRelative {
  LaneSums inexact;                            ///< numbers that are not exact
  QuotientLanes quotients;                     ///< |error| / |x|
  std::uint64_t quotient_count = 0;            ///< how many of them were added
  float largest_size = 0;                      ///< the largest |error|
  std::int32_t largest_in_binade = INT32_MIN;  ///< |error| / 2^floor(log2|x|), as a float's code less that of 1
  double largest_quotient = 0;                 ///< the largest |error| / |x|
  std::uint32_t at_largest_quotient = 0;       ///< fraction bits
};

/// Splits a block: `window` is the exponent of the least binade.
void split_block(std::span<const float, WindowBlock::size> values, int window, WindowBlock& block, WindowInput& sums);
/// Rounds to nearest even, `dropped` bits less.
void add_block_errors(int window, int dropped, WindowBlock& block, WindowErrors& sums, WindowRelative& relative);

/// All blocks of a pass.
class WindowSums {
 public:
  /// The windows that suit all formats; none if there are no such, or if too many formats want too much.
  WindowSums(const std::vector<ScaledFormat>& formats, const emu::RoundingOptions& options, int input_least);

  /// Whether there is any window.
  bool enabled() const noexcept { return last_ >= first_; }
  /// What of `values` lies outside of the window, after the rest has been added; nothing if this block is better dealt out
  /// whole. `next`: the block that will follow, or any other.
  std::optional<std::span<const float>> add(std::span<const float, WindowBlock::size> values, const float* next,
                                            MagnitudeRange& range);
  /// Adds the sums of another of the same formats.
  void merge(const WindowSums& other);

  /// A way to round that one or more of the formats have in a window.
  struct Format {
    int dropped;              ///< bits off the 24 of float32
    WindowRelative relative;  ///< what does not depend on the window
  };
  /// What depends on the window.
  struct Totals {
    WindowInput input;                 ///< over its inputs
    std::vector<WindowErrors> errors;  ///< by format
  };
  /// The formats, told apart by their dropped bits.
  const std::vector<Format>& formats() const noexcept { return formats_; }
  /// By the exponent of the window's least binade.
  const std::map<int, Totals>& totals() const noexcept { return totals_; }

 private:
  void choose_window(std::uint32_t most);

  int first_ = 0, last_ = -1;  ///< exponents of the least binades of windows
  std::optional<int> window_;
  int blocks_to_skip_ = 0;
  std::vector<Format> formats_;
  std::map<int, Totals> totals_;
  WindowBlock block_;
};

}  // namespace ulpscope::studies
