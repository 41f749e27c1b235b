// SPDX-License-Identifier: Apache-2.0
// Sorts a binade by where a format puts it: normal, subnormal, zero or overflow.
#include "studies/census/binade.hpp"

#include <algorithm>

namespace ulpscope::studies {
namespace {

using emu::Format;
using emu::Rounding;

Direction direction_of(Rounding rounding, Format format, bool negative) {
  switch (rounding) {
    case Rounding::nearest_away: return Direction::nearest_away;
    case Rounding::toward_zero: return Direction::down;
    case Rounding::upward: return negative ? Direction::down : Direction::up;
    case Rounding::downward: return negative ? Direction::up : Direction::down;
    case Rounding::to_odd: return Direction::to_odd;
    default: return format.fraction_bits > 0 ? Direction::nearest_even : Direction::nearest_away;
  }
}

/// The largest significand of the format's last binade that is not rounded beyond its largest finite number.
std::uint32_t most_in_range(Format format, Direction direction) {
  const int dropped = Binade::fraction_bits - format.fraction_bits;
  const emu::Code largest = (format.max_finite_code() & format.fraction_mask()) | (format.fraction_mask() + 1);
  if (dropped <= 0) return static_cast<std::uint32_t>(largest >> -dropped);
  const auto exact = static_cast<std::uint32_t>(largest << dropped);
  const std::uint32_t unit = std::uint32_t{1} << dropped;
  const bool odd = (largest & 1) != 0;
  switch (direction) {
    case Direction::nearest_even: return exact + unit / 2 - (odd ? 1 : 0);
    case Direction::nearest_away: return exact + unit / 2 - 1;
    case Direction::down: return exact + unit - 1;
    case Direction::up: return exact;
    case Direction::to_odd: return odd ? exact + unit - 1 : exact;
  }
  return exact;
}

/// Below the format's least normal number, `binades` of them.
Treatment treat_below(Format format, Direction direction, bool flushes, int binades) {
  if (!format.has_zero()) return {Fate::to_least};
  const int dropped = Binade::fraction_bits - format.fraction_bits + binades;
  const bool next = binades == 1;
  if (flushes && format.has_subnormals() && !next) return {Fate::to_zero, {}, true};
  if (dropped > Binade::fraction_bits + 1) {
    const bool up = direction == Direction::up || direction == Direction::to_odd;
    return {up ? Fate::to_least : Fate::to_zero, {}, true};
  }
  const bool flushed = flushes && format.has_subnormals();
  if (dropped <= 0) return {flushed ? Fate::to_zero : Fate::exact, {}, true};
  return {Fate::rounded, {dropped, direction, flushed}, true, next};
}

}  // namespace

Treatment treat(const ScaledFormat& to, const emu::RoundingOptions& options, int input_least, Binade binade) {
  const Format format = to.format;
  if (binade.exponent < input_least) return {format.has_zero() ? Fate::to_zero : Fate::to_least};
  if (binade.negative && !format.is_signed()) return {Fate::no_sign};

  const Direction direction = direction_of(options.rounding, format, binade.negative);
  const int exponent = binade.exponent + to.log2_scale;
  if (exponent > format.max_exponent()) return {Fate::overflow};
  if (exponent < format.min_exponent())
    return treat_below(format, direction, options.flush_subnormals, format.min_exponent() - exponent);

  Variant variant{Binade::fraction_bits - format.fraction_bits, direction};
  if (exponent == format.max_exponent()) variant.most = std::min(variant.most, most_in_range(format, direction));
  if (variant.dropped > 0) return {Fate::rounded, variant};
  if (!variant.overflows()) return {Fate::exact};
  return {Fate::rounded, {0, Direction::down, false, variant.most}};
}

}  // namespace ulpscope::studies
