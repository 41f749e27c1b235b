// SPDX-License-Identifier: Apache-2.0
// Chooses a window that suits all formats, and sends blocks through its kernels.
#include "studies/census/window.hpp"

#include <algorithm>

#include "emu/simd.hpp"

namespace ulpscope::studies {
namespace {

constexpr std::size_t most_formats = 8;  // beyond, numbers of one binade share more
constexpr int farthest_exponent = 60;    // reciprocals and remainders stay far inside the range of float
constexpr std::size_t many_outside = WindowBlock::size / 8;
constexpr int skipped_blocks = 31;

/// Whether all formats round this binade's significands to nearest even and keep it normal.
bool suits(const std::vector<ScaledFormat>& formats, const emu::RoundingOptions& options, int input_least, int exponent) {
  for (const bool negative : {false, true})
    for (const ScaledFormat& format : formats) {
      const Treatment t = treat(format, options, input_least, {negative, exponent});
      const Variant plain{t.variant.dropped, Direction::nearest_even};
      if (t.fate != Fate::rounded || t.below || t.variant != plain) return false;
      if (plain.dropped < WindowBlock::tail_bits || plain.dropped >= Binade::fraction_bits) return false;
    }
  return true;
}

}  // namespace

WindowSums::WindowSums(const std::vector<ScaledFormat>& formats, const emu::RoundingOptions& options, int input_least) {
  if (formats.empty() || formats.size() > most_formats || emu::simd_path() == emu::SimdPath::scalar) return;
  int least = -farthest_exponent, end = least;
  for (int exponent = least; exponent <= farthest_exponent; ++exponent) {
    if (!suits(formats, options, input_least, exponent)) continue;
    if (exponent != end) least = exponent;
    end = exponent + 1;
  }
  first_ = least;
  last_ = end - WindowBlock::binades;
  for (const ScaledFormat& format : formats) {
    const int dropped = Binade::fraction_bits - format.format.fraction_bits;
    const auto same = [&](const Format& f) { return f.dropped == dropped; };
    if (std::none_of(formats_.begin(), formats_.end(), same)) formats_.push_back({dropped, {}});
  }
}

void WindowSums::choose_window(std::uint32_t most) {
  const int exponent = static_cast<int>(most >> Binade::fraction_bits) - 127;
  const int wanted = std::clamp(exponent + 1 - WindowBlock::binades, first_, last_);
  if (window_ == wanted) blocks_to_skip_ = skipped_blocks;
  window_ = wanted;
}

std::optional<std::span<const float>> WindowSums::add(std::span<const float, WindowBlock::size> values, const float* next,
                                                      MagnitudeRange& range) {
  if (blocks_to_skip_ > 0) {
    --blocks_to_skip_;
    return std::nullopt;
  }
  if (!window_) choose_window(magnitude_range(values).most);
  block_.next = next;
  Totals& totals = totals_[*window_];
  totals.errors.resize(formats_.size());
  split_block(values, *window_, block_, totals.input);
  for (std::size_t i = 0; i < formats_.size(); ++i)
    add_block_errors(*window_, formats_[i].dropped, block_, totals.errors[i], formats_[i].relative);

  const std::span<const float> outside(block_.outside.data(), block_.outside_count);
  range = block_.range;
  range.include(magnitude_range(outside));
  if (outside.size() > many_outside) choose_window(range.most);
  return outside;
}

void WindowSums::merge(const WindowSums& other) {
  for (std::size_t i = 0; i < formats_.size(); ++i) {
    WindowRelative& to = formats_[i].relative;
    const WindowRelative& from = other.formats_[i].relative;
    to.inexact.merge(from.inexact);
    to.quotients.merge(from.quotients);
    to.quotient_count += from.quotient_count;
    to.largest_size = std::max(to.largest_size, from.largest_size);
    to.largest_in_binade = std::max(to.largest_in_binade, from.largest_in_binade);
    to.largest_quotient = std::max(to.largest_quotient, from.largest_quotient);
  }
  for (const auto& [window, from] : other.totals_) {
    Totals& to = totals_[window];
    to.errors.resize(formats_.size());
    to.input.count += from.input.count;
    to.input.tails += from.input.tails;
    to.input.heads_squared += from.input.heads_squared;
    to.input.heads_by_tails += from.input.heads_by_tails;
    to.input.tails_squared += from.input.tails_squared;
    for (std::size_t i = 0; i < formats_.size(); ++i) {
      to.errors[i].sizes += from.errors[i].sizes;
      to.errors[i].error_heads += from.errors[i].error_heads;
      to.errors[i].error_heads_squared += from.errors[i].error_heads_squared;
      to.errors[i].error_heads_by_tails += from.errors[i].error_heads_by_tails;
    }
  }
}

}  // namespace ulpscope::studies
