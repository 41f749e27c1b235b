// SPDX-License-Identifier: Apache-2.0
// The two figures of a tensor as gnuplot commands. Both are a panel over one strip for each format on the same x axis.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "reports/gnuplot.hpp"
#include "reports/page.hpp"

namespace ulpscope::reports {

/// Bars over binary exponents; strips with the regions of each format. Nothing finite and nonzero: no commands.
FigureScript histogram_figure(const ExponentHistogram& histogram);

/// Losses over loss scales; strips with the best scales of each format. No scales: no commands.
FigureScript window_figure(const ScaleWindow& window);

namespace detail {

/// Where things are, in SVG units.
struct Layout {
  static constexpr int width = 860, right = 16, top = 12, panel = 190, gap = 8, strip = 24, bottom = 50;
  int strips = 0;
  int left = 0;  ///< margin that holds the names of the formats
  int height() const { return top + panel + gap + strips * strip + bottom; }
};

/// With a strip for each line or range, and room for their names.
template <class Named>
Layout layout_of(const std::vector<Named>& formats) {
  constexpr int least = 132, units_per_letter = 8, gap_to_strip = 18;
  Layout layout{.strips = std::max(1, static_cast<int>(formats.size())), .left = least};
  for (const auto& named : formats) {
    layout.left = std::max(layout.left, gap_to_strip + units_per_letter * static_cast<int>(named.format.size()));
  }
  layout.left = std::min(layout.left, Layout::width / 2);
  return layout;
}

/// Commands that set up the upper panel; y is a decimal logarithm of percent.
std::string upper_panel(const Layout& layout, double y_low, double y_high);

/// Commands that set up the strips below it: strip i spans i to i + 1 upwards on y, the first at the top.
std::string lower_panel(const Layout& layout, const std::string& x_label);

/// Commands for the common x axis with a tick every 1, 2, 4, ... units.
std::string x_axis(double low, double high);

/// `set ytics` at whole decades of percent, `0.01 %`.
std::string decade_tics(double y_low, double y_high);

/// A rectangle as a data line of `with boxxyerror`.
std::string rectangle(double x_low, double x_high, double y_low, double y_high);

/// A plot of inline rectangles in one colour, as an argument of `plot`.
std::string rectangles_in(std::string_view colour, double opacity);

/// Whether a text fits into a stretch of the x axis, given as a share of it.
bool fits(const Layout& layout, std::string_view text, double share_of_axis);

}  // namespace detail
}  // namespace ulpscope::reports
