// SPDX-License-Identifier: Apache-2.0
// Magnitudes of floats and doubles as integers, which are ordered as they are: loops over them are vectors on every processor,
// which loops over std::max of floats, where NaN takes part, are not.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>

#include "emu/bits.hpp"

namespace ulpscope::emu {

/// What holds the magnitude of a Float.
template <class Float>
using MagnitudeWord = std::conditional_t<sizeof(Float) == sizeof(float), std::int32_t, std::int64_t>;

/// The magnitude of x; those of NaNs are above that of infinity.
template <class Float>
constexpr MagnitudeWord<Float> magnitude_word(Float x) noexcept {
  return detail::bit_cast<MagnitudeWord<Float>>(x) & std::numeric_limits<MagnitudeWord<Float>>::max();
}

/// The magnitude of infinity.
template <class Float>
inline constexpr MagnitudeWord<Float> infinite_magnitude = magnitude_word(std::numeric_limits<Float>::infinity());

/// The greatest magnitude among numbers, as that number: NaNs are passed over; 0 of none.
template <class Float>
Float greatest_magnitude(std::span<const Float> values) noexcept {
  MagnitudeWord<Float> greatest = 0;
  for (const Float x : values) {
    const MagnitudeWord<Float> word = magnitude_word(x), known = word > infinite_magnitude<Float> ? 0 : word;
    greatest = known > greatest ? known : greatest;
  }
  return detail::bit_cast<Float>(greatest);
}

/// Whether all of them are finite.
template <class Float>
bool all_finite(std::span<const Float> values) noexcept {
  MagnitudeWord<Float> others = 0;
  for (const Float x : values) others |= magnitude_word(x) >= infinite_magnitude<Float> ? 1 : 0;
  return others == 0;
}

}  // namespace ulpscope::emu
