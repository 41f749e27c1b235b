// SPDX-License-Identifier: Apache-2.0
// Figures as drawings. A figure is one drawing, or panels that stand beside each other where there is room, and its legend.
#pragma once

#include <string>
#include <vector>

#include "reports/axis.hpp"
#include "reports/figure.hpp"
#include "reports/palette.hpp"
#include "reports/svg.hpp"

namespace ulpscope::reports {

/// None of a figure that has nothing to show. A heat map's are those of its file: a page shows it as a table. @throws
/// ulpscope::Error that names the figure where no axis can show its numbers
std::vector<Drawing> draw(const Figure& figure);

///@{
/// Of one kind of figure.
std::vector<Drawing> draw(const ExponentHistogram& histogram);
std::vector<Drawing> draw(const ScaleWindow& window);
std::vector<Drawing> draw(const Growth& growth);
std::vector<Drawing> draw(const Steps& steps);
std::vector<Drawing> draw(const HeatMap& map);
std::vector<Drawing> draw(const Ranges& ranges);
///@}

namespace detail {

/// All drawings are so wide: about a phone, and half a page.
inline constexpr int drawing_width = 480;

constexpr Colour colour_of(Tone tone) {
  switch (tone) {
    case Tone::plain: return palette::bars;
    case Tone::normal: return palette::normal;
    case Tone::subnormal: return palette::subnormal;
    case Tone::becomes_zero: return palette::becomes_zero;
    case Tone::overflow: return palette::overflow;
    case Tone::other: break;
  }
  return palette::track;
}

/// The grid of two axes, and the words of their ticks: those of x below, those of y at the left, if they are wanted.
struct GridWords {
  bool x = true, y = true;
};
void draw_grid(Svg& svg, const Axis& x, const Axis& y, GridWords words = {});

/// The words of the ticks of x.
void draw_ticks(Svg& svg, const Axis& x, double y);

/// Ticks at whole decades of an axis of decimal logarithms of percent: `0.01 %`.
std::vector<Tick> percent_ticks(const Axis& axis);

/// Units at the left that the longest of these names takes, and ticks of percent at the least.
double left_margin(const std::vector<std::string>& names);

/// With at most one decimal.
std::string short_number(double value);

}  // namespace detail
}  // namespace ulpscope::reports
