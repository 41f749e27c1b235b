// SPDX-License-Identifier: Apache-2.0
// Axes whose ticks cover their data, and where a value is on them.
#pragma once

#include <string>
#include <vector>

namespace ulpscope::reports {

/// A mark of an axis.
struct Tick {
  double at;         ///< in the axis' own unit
  std::string text;  ///< what stands beside it
};

/// A stretch of numbers laid on a stretch of the drawing.
struct Axis {
  double low = 0, high = 1;      ///< of the logarithm, on a logarithmic axis
  double from = 0, to = 1;       ///< where these are drawn
  std::vector<Tick> ticks = {};  ///< ascending

  /// Where a number is drawn.
  double at(double value) const { return from + (value - low) / (high - low) * (to - from); }
};

/// Of decimal logarithms: from a tick at or below `least` to one at or above `most`, both positive; about `most_ticks` of them.
/// @throws ulpscope::Error where they are not, or not finite
Axis log10_axis(double least, double most, int most_ticks);

/// From `low` to `high`, or to a tick that is near: ticks at multiples of 1, 2 or 5 times a power of ten, about `most_ticks`.
/// @throws ulpscope::Error unless high - low is finite and at least 1e-300
Axis linear_axis(double low, double high, int most_ticks);

/// Of binary exponents or other whole numbers from `low` to `high`: ticks at multiples of 1, 2, 4, ... `most_ticks` at most.
/// @throws ulpscope::Error where they are beyond 2^30
Axis whole_axis(double low, double high, int most_ticks);

/// A number on an axis: `0.002`, `1e-7`.
std::string tick_text(double value);

}  // namespace ulpscope::reports
