// SPDX-License-Identifier: Apache-2.0
// Panels, axes and rectangles that several figures have.
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <string_view>

#include "reports/figures.hpp"
#include "reports/palette.hpp"
#include "reports/percent.hpp"
#include "reports/render.hpp"

namespace ulpscope::reports::detail {
namespace {

std::string margins(const Layout& layout, int top, int bottom) {
  const auto across = [](int x) { return static_cast<double>(x) / Layout::width; };
  const auto up = [&](int y) { return 1 - static_cast<double>(y) / layout.height(); };
  return fmt::format(
      "set lmargin at screen {:.5f}\nset rmargin at screen {:.5f}\nset tmargin at screen {:.5f}\n"
      "set bmargin at screen {:.5f}\n",
      across(layout.left), across(Layout::width - Layout::right), up(top), up(bottom));
}

}  // namespace

std::string upper_panel(const Layout& layout, double y_low, double y_high) {
  return margins(layout, Layout::top, Layout::top + Layout::panel) +
         fmt::format(
             "set border 0\nset grid xtics ytics lc rgb '{}' lt 1 lw 1\nset tics scale 0 nomirror\nset format x ''\n"
             "set yrange [{}:{}]\nset key off\n",
             palette::grid.light, shortest(y_low), shortest(y_high));
}

std::string lower_panel(const Layout& layout, const std::string& x_label) {
  const int begin = Layout::top + Layout::panel + Layout::gap;
  return margins(layout, begin, begin + layout.strips * Layout::strip) +
         fmt::format(
             "set format x '%g'\nunset grid\nunset ytics\nunset ylabel\nset label {} at graph 0.5, screen {:.5f} center\n"
             "set yrange [0:{}]\n",
             gnuplot_string(x_label), 10.0 / layout.height(), layout.strips);
}

std::string x_axis(double low, double high) {
  double step = 1;
  while ((high - low) / step > 16) step *= 2;
  return fmt::format("set xrange [{}:{}]\nset xtics {}\n", shortest(low), shortest(high), shortest(step));
}

/// 10^exponent, correctly rounded for exponents of at most 22.
double power_of_ten(int exponent) {
  double power = 1;
  for (int i = 0; i < std::abs(exponent); ++i) power *= 10;
  return exponent < 0 ? 1 / power : power;
}

// A tick's text is a format to gnuplot: its percent sign is doubled.
std::string decade_tics(double y_low, double y_high) {
  const int first = static_cast<int>(std::ceil(y_low));
  const int last = static_cast<int>(std::floor(y_high));
  const int step = 1 + (last - first) / 6;
  std::string tics;
  for (int decade = last; decade >= first; decade -= step) {
    tics += fmt::format("{}'{} %%' {}", tics.empty() ? "" : ", ", fmt::format("{:g}", power_of_ten(decade)), decade);
  }
  return "set ytics (" + tics + ")\n";
}

std::string rectangle(double x_low, double x_high, double y_low, double y_high) {
  return fmt::format("{0} {2} {0} {1} {2} {3}\n", shortest(x_low), shortest(x_high), shortest(y_low), shortest(y_high));
}

std::string rectangles_in(std::string_view colour, double opacity) {
  return fmt::format("'-' using 1:2:3:4:5:6 with boxxyerror lc rgb '{}' fs transparent solid {} noborder", colour, opacity);
}

bool fits(const Layout& layout, std::string_view text, double share_of_axis) {
  constexpr double units_per_letter = 7.5;
  return units_per_letter * static_cast<double>(text.size()) < share_of_axis * (Layout::width - layout.left - Layout::right);
}

}  // namespace ulpscope::reports::detail
