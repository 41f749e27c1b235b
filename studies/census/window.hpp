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
  static constexpr std::size_t size = 1024;
  static constexpr int tail_bits = 12;
  static constexpr int binades = 10;
  // The sum of squares of heads is a multiple of the least head's last bit squared, and this many times that at most.
  static_assert(2 * (binades - 1) + 2 * (Binade::fraction_bits + 1 - tail_bits) + 10 <= 53 && size == 1 << 10);

  /// Some elements more, lest equal places have equal low address bits, which makes loads wait for stores to other arrays.
  using Floats = std::array<float, size + 64>;
  alignas(64) Floats x, head, tail;
  alignas(64) Floats magnitude;  ///< of x; outside of the window any number in it
  alignas(64) Floats reciprocal;
  alignas(64) Floats error_head;  ///< rounded - head, so that the error is this less the tail
  alignas(64) Floats error_size;
  std::array<float, size + 16> outside;  ///< the numbers themselves; and what a vector writes behind them
  std::size_t outside_count;
  MagnitudeRange range;  ///< of the numbers inside
  const float* next;     ///< what will be split after this block, or any other block
};

/// Sums over the numbers inside of a window, in units of the product of the factors' last bits in its least binade.
struct WindowInput {
  std::uint64_t count = 0;
  Int128 tails = 0, heads_squared = 0, heads_by_tails = 0, tails_squared = 0;
};
struct WindowErrors {
  Int128 sizes = 0;  ///< of errors
  Int128 error_heads = 0;
  Int128 error_heads_squared = 0, error_heads_by_tails = 0;
};

/// What does not depend on the window.
struct WindowRelative {
  LaneSums inexact;
  QuotientLanes quotients;
  std::uint64_t quotient_count = 0;
  float largest_size = 0;
  std::int32_t largest_in_binade = INT32_MIN;  ///< |error| / 2^floor(log2|x|), as a float's code less that of 1
  double largest_quotient = 0;
  std::uint32_t at_largest_quotient = 0;  ///< fraction bits
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

  bool enabled() const noexcept { return last_ >= first_; }
  /// What of `values` lies outside of the window, after the rest has been added; nothing if this block is better dealt out
  /// whole. `next`: the block that will follow, or any other.
  std::optional<std::span<const float>> add(std::span<const float, WindowBlock::size> values, const float* next,
                                            MagnitudeRange& range);
  void merge(const WindowSums& other);

  struct Format {
    int dropped;
    WindowRelative relative;
  };
  struct Totals {
    WindowInput input;
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
