// SPDX-License-Identifier: Apache-2.0
// Spans and dots on an axis: a panel is rows of one kind.
#include <algorithm>
#include <cmath>
#include <limits>

#include "emu/math.hpp"
#include "reports/draw.hpp"

namespace ulpscope::reports {
namespace {

using namespace detail;

constexpr double right = 12, top = 28, line_height = 20, span_height = 12;

double position(const Ranges& ranges, double value) { return ranges.axis == Ranges::Axis::log10 ? emu::log10(value) : value; }

bool drawable(const Ranges& ranges, double value) {
  return std::isfinite(value) && (ranges.axis == Ranges::Axis::linear || value > 0);
}

/// Of all panels.
Axis x_axis(const Ranges& ranges) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  const auto see = [&](double value) {
    if (drawable(ranges, value)) low = std::min(low, value), high = std::max(high, value);
  };
  for (const Ranges::Panel& panel : ranges.panels)
    for (const Ranges::Row& row : panel.rows) {
      for (const Ranges::Span& span : row.spans) see(span.low), see(span.high);
      for (const Ranges::Dot& dot : row.dots) see(dot.at);
    }
  for (const Ranges::Line& line : ranges.lines) see(line.at);
  if (low > high) low = 1, high = 10;
  if (ranges.axis == Ranges::Axis::log10) return log10_axis(low, high, 7);
  return linear_axis(low, high == low ? low + 1 : high, 9);
}

double name_margin(const Ranges& ranges) {
  std::vector<std::string> names;
  for (const Ranges::Panel& panel : ranges.panels)
    for (const Ranges::Row& row : panel.rows) names.push_back(row.name);
  return left_margin(names);
}

Drawing draw_panel(const Ranges& ranges, const Ranges::Panel& panel) {
  Axis x = x_axis(ranges);
  x.from = name_margin(ranges), x.to = drawing_width - right;
  const double bottom = top + line_height * static_cast<double>(panel.rows.size());
  Svg svg(drawing_width, static_cast<int>(bottom) + 38);
  svg.text({8, 16}, panel.title, {.strong = true});
  draw_grid(svg, x, {.from = bottom, .to = top});
  for (std::size_t i = 0; i < panel.rows.size(); ++i) {
    const Ranges::Row& row = panel.rows[i];
    const double middle = top + line_height * (static_cast<double>(i) + 0.5);
    svg.text({x.from - 6, middle + 4}, row.name, {.anchor = Svg::Anchor::end});
    for (const Ranges::Span& span : row.spans) {
      if (!drawable(ranges, span.low) || !drawable(ranges, span.high)) continue;
      const double from = x.at(position(ranges, span.low)), to = x.at(position(ranges, span.high));
      const bool thin = span.height == Ranges::Span::Height::thin;
      const double y = thin ? middle + span_height / 2 : middle - span_height / 2;
      svg.boxes(thin ? std::string_view("currentColor") : colour_of(span.tone).light,
                {{from, y, std::max(1.0, to - from), thin ? 2.0 : span_height, span.title}});
    }
    for (const Ranges::Dot& dot : row.dots)
      if (drawable(ranges, dot.at))
        svg.dots(palette::of_format(dot.colour).light, Svg::Shape::circle, 4,
                 {{{x.at(position(ranges, dot.at)), middle}, dot.title}});
  }
  for (const Ranges::Line& line : ranges.lines) {
    const double at = x.at(position(ranges, line.at));
    svg.curve({.colour = "currentColor", .width = 1.5, .dashes = "4 3"}, {{{at, top - 4}, {at, bottom}}}, line.name);
    svg.text({at - 4, top - 12}, line.name, {.anchor = at > drawing_width / 2.0 ? Svg::Anchor::end : Svg::Anchor::start});
  }
  svg.text({(x.from + x.to) / 2, bottom + 32}, ranges.x_label, {.anchor = Svg::Anchor::middle});
  return std::move(svg).finish();
}

Drawing draw_legend(const Ranges& ranges) {
  Svg svg(drawing_width, static_cast<int>(10 + line_height * static_cast<double>(ranges.legend.size())));
  for (std::size_t i = 0; i < ranges.legend.size(); ++i) {
    const double y = 6 + line_height * (static_cast<double>(i) + 0.5);
    if (std::holds_alternative<Ranges::Thin>(ranges.legend[i].mark))
      svg.boxes("currentColor", {{8, y, 24, 2}});
    else if (const Tone* const tone = std::get_if<Tone>(&ranges.legend[i].mark))
      svg.boxes(colour_of(*tone).light, {{8, y - span_height / 2, 24, span_height}});
    else
      svg.dots(palette::of_format(std::get<std::size_t>(ranges.legend[i].mark)).light, Svg::Shape::circle, 4, {{{20, y}, {}}});
    svg.text({40, y + 4}, ranges.legend[i].words);
  }
  return std::move(svg).finish();
}

}  // namespace

std::vector<Drawing> draw(const Ranges& ranges) {
  std::vector<Drawing> all;
  for (const Ranges::Panel& panel : ranges.panels)
    if (!panel.rows.empty()) all.push_back(draw_panel(ranges, panel));
  if (!all.empty() && !ranges.legend.empty()) all.push_back(draw_legend(ranges));
  return all;
}

}  // namespace ulpscope::reports
