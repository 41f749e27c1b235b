// SPDX-License-Identifier: Apache-2.0
// Curves over a size: a panel for each way the operands were drawn, and a legend.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "emu/math.hpp"
#include "reports/draw.hpp"
#include "reports/render.hpp"

namespace ulpscope::reports {
namespace {

using namespace detail;

constexpr double left = 52, right = 18, top = 26, panel_height = 210, legend_line = 20;

Svg::Shape shape_of(Growth::Marker marker) { return static_cast<Svg::Shape>(marker); }
static_assert(static_cast<int>(Growth::Marker::cross) == static_cast<int>(Svg::Shape::cross));

/// On either axis.
bool drawn(double value) { return value > 0 && std::isfinite(value); }

Svg::Pen pen_of(const Growth::Line& line) {
  constexpr std::string_view dashes[] = {"", "8 4", "2 4", "8 3 2 3", "16 4", "8 3 2 3 2 3"};
  return {.colour = palette::of_format(line.colour).light, .width = 1.6, .dashes = dashes[static_cast<int>(line.dash)]};
}

/// Of all panels, so that they can be compared.
Axis y_axis(const Growth& growth) {
  double low = std::numeric_limits<double>::infinity(), high = 0;
  for (const Growth::Line& line : growth.lines)
    for (const auto& points : line.y)
      for (const double y : points)
        if (drawn(y)) low = std::min(low, y), high = std::max(high, y);
  return high == 0 ? log10_axis(0.1, 1, 8) : log10_axis(low, high, 8);
}

Axis x_axis(const Growth& growth) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const double x : growth.x)
    if (drawn(x)) low = std::min(low, emu::log2(x)), high = std::max(high, emu::log2(x));
  const double margin = std::max(0.25, (high - low) / 40);
  Axis axis{.low = low - margin, .high = high + margin, .from = left, .to = drawing_width - right};
  const std::size_t step = 1 + (growth.x.size() - 1) / 6;
  for (std::size_t i = 0; i < growth.x.size(); i += step)
    if (drawn(growth.x[i])) axis.ticks.push_back({emu::log2(growth.x[i]), shortest(growth.x[i])});
  return axis;
}

/// What is not drawn breaks a curve.
std::vector<std::vector<Point>> pieces(const Growth& growth, const std::vector<double>& values, const Axis& x, const Axis& y) {
  std::vector<std::vector<Point>> all(1);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (drawn(values[i]) && drawn(growth.x[i]))
      all.back().push_back({x.at(emu::log2(growth.x[i])), y.at(emu::log10(values[i]))});
    else if (!all.back().empty())
      all.emplace_back();
  }
  std::erase_if(all, [](const auto& piece) { return piece.size() < 2; });
  return all;
}

Drawing panel(const Growth& growth, std::size_t index) {
  const Axis x = x_axis(growth);
  Axis y = y_axis(growth);
  y.from = top + panel_height, y.to = top;
  Svg svg(drawing_width, static_cast<int>(top + panel_height) + 36);
  svg.text({x.from, 16}, growth.panels[index], {.strong = true});
  svg.text({x.to, 16}, growth.y_label, {.anchor = Svg::Anchor::end});
  draw_grid(svg, x, y);
  for (const Growth::Line& line : growth.lines) {
    const std::vector<double>& values = line.y[index];
    svg.curve(pen_of(line), pieces(growth, values, x, y), line.name);
    std::vector<Svg::Dot> dots;
    for (std::size_t i = 0; i < values.size(); ++i)
      if (drawn(values[i]) && drawn(growth.x[i]))
        dots.push_back({{x.at(emu::log2(growth.x[i])), y.at(emu::log10(values[i]))},
                        fmt::format("{}: {:.3g} at {}", line.name, values[i], shortest(growth.x[i]))});
    svg.dots(palette::of_format(line.colour).light, shape_of(line.marker), line.dash == Growth::Dash::dotted ? 2.2 : 3, dots);
  }
  svg.text({(x.from + x.to) / 2, y.from + 31}, growth.x_label, {.anchor = Svg::Anchor::middle});
  return std::move(svg).finish();
}

Drawing legend(const Growth& growth) {
  constexpr double sample = 40;
  Svg svg(drawing_width, static_cast<int>(10 + legend_line * static_cast<double>(growth.lines.size())));
  for (std::size_t i = 0; i < growth.lines.size(); ++i) {
    const Growth::Line& line = growth.lines[i];
    const double y = 8 + legend_line * (static_cast<double>(i) + 0.5);
    svg.curve(pen_of(line), {{{8, y}, {8 + sample, y}}}, {});
    svg.dots(palette::of_format(line.colour).light, shape_of(line.marker), line.dash == Growth::Dash::dotted ? 2.2 : 3,
             {{{8 + sample / 2, y}, {}}});
    svg.text({16 + sample, y + 4}, line.name);
  }
  return std::move(svg).finish();
}

}  // namespace

std::vector<Drawing> draw(const Growth& growth) {
  if (std::none_of(growth.x.begin(), growth.x.end(), drawn) || growth.lines.empty()) return {};
  std::vector<Drawing> all;
  for (std::size_t i = 0; i < growth.panels.size(); ++i) all.push_back(panel(growth, i));
  if (!all.empty()) all.push_back(legend(growth));
  return all;
}

}  // namespace ulpscope::reports
