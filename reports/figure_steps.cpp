// SPDX-License-Identifier: Apache-2.0
// Curves over steps: as many points of each as the drawing can show, and a band behind them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "emu/math.hpp"
#include "reports/draw.hpp"
#include "reports/render.hpp"

namespace ulpscope::reports {
namespace {

using namespace detail;

constexpr double left = 56, right = 18, top = 26, panel_height = 230, legend_line = 20;

/// A value on the axis; none where it has no place.
std::optional<double> placed(Steps::Axis axis, double value) {
  if (!std::isfinite(value) || (axis != Steps::Axis::linear && value <= 0)) return std::nullopt;
  if (axis == Steps::Axis::linear) return value;
  return axis == Steps::Axis::log2 ? emu::log2(value) : emu::log10(value);
}

/// The least and the greatest of the numbers that it is told.
struct Extent {
  double low = std::numeric_limits<double>::infinity(), high = -low;

  void add(double value) { low = std::min(low, value), high = std::max(high, value); }
  bool empty() const { return low > high; }
};

Extent extent_of_steps(const Steps& steps) {
  Extent extent;
  for (const Steps::Line& line : steps.lines)
    for (const double x : line.x)
      if (std::isfinite(x)) extent.add(x);
  return extent;
}

/// Of the curves, and of the ends of the band that are within a few binades or decades of them.
Axis y_axis(const Steps& steps) {
  Extent extent;
  for (const Steps::Line& line : steps.lines)
    for (const double y : line.y)
      if (const auto at = placed(steps.axis, y)) extent.add(*at);
  if (extent.empty()) extent.add(0), extent.add(1);
  const double reach = steps.axis == Steps::Axis::log2 ? 6 : steps.axis == Steps::Axis::log10 ? 1 : 0;
  const Extent curves = extent;
  for (const auto* const ends : {&steps.band.low, &steps.band.high})
    for (const double y : *ends)
      if (const auto at = placed(steps.axis, y)) extent.add(std::clamp(*at, curves.low - reach, curves.high + reach));
  if (extent.low == extent.high) extent.low -= 1, extent.high += 1;
  switch (steps.axis) {
    case Steps::Axis::linear: return linear_axis(extent.low, extent.high, 8);
    case Steps::Axis::log10: {
      using Real = std::numeric_limits<double>;
      const auto ten_to = [](double x) { return std::clamp(emu::exp(x * 2.302585092994046), Real::denorm_min(), Real::max()); };
      return log10_axis(ten_to(extent.low), ten_to(extent.high), 8);
    }
    case Steps::Axis::log2: break;
  }
  Axis axis = whole_axis(std::floor(extent.low), std::ceil(extent.high), 8);
  for (Tick& tick : axis.ticks) tick.text = "2^" + tick.text;
  return axis;
}

/// Of the points that share a column of the drawing the first, the lowest, the highest and the last.
std::vector<Point> thinned(const std::vector<Point>& points) {
  constexpr std::size_t kept = 4;
  std::vector<Point> all;
  for (std::size_t begin = 0, end = 0; begin < points.size(); begin = end) {
    do ++end;
    while (end < points.size() && std::floor(points[end].x) == std::floor(points[begin].x));
    if (end - begin <= kept) {
      all.insert(all.end(), points.begin() + static_cast<std::ptrdiff_t>(begin),
                 points.begin() + static_cast<std::ptrdiff_t>(end));
      continue;
    }
    std::vector<std::size_t> places{begin, begin, begin, end - 1};
    for (std::size_t i = begin; i < end; ++i) {
      if (points[i].y < points[places[1]].y) places[1] = i;
      if (points[i].y > points[places[2]].y) places[2] = i;
    }
    std::sort(places.begin(), places.end());
    places.erase(std::unique(places.begin(), places.end()), places.end());
    for (const std::size_t i : places) all.push_back(points[i]);
  }
  return all;
}

std::vector<std::vector<Point>> pieces(const Steps& steps, const Steps::Line& line, const Axis& x, const Axis& y) {
  std::vector<std::vector<Point>> all(1);
  for (std::size_t i = 0; i < line.x.size(); ++i) {
    const auto at = placed(steps.axis, line.y[i]);
    if (!std::isfinite(line.x[i])) continue;
    if (!at) {
      if (!all.back().empty()) all.emplace_back();
      continue;
    }
    const Point point{x.at(line.x[i]), y.at(*at)};
    if (line.stairs && !all.back().empty()) all.back().push_back({point.x, all.back().back().y});
    all.back().push_back(point);
  }
  std::erase_if(all, [](const auto& piece) { return piece.empty(); });
  for (auto& piece : all) {
    if (piece.size() == 1) piece.push_back({piece.front().x + 1, piece.front().y});
    piece = thinned(piece);
  }
  return all;
}

/// Where an end of the band is drawn; infinite ones at the edge.
double edge(const Steps& steps, const Axis& y, double value) {
  if (value == std::numeric_limits<double>::infinity()) return y.to;
  const auto at = placed(steps.axis, value);
  return at ? std::clamp(y.at(*at), y.to, y.from) : y.from;
}

/// Columns of the same height are one box.
std::vector<Box> band_of(const Steps& steps, const Axis& x, const Axis& y, double last_step) {
  const Steps::Band& band = steps.band;
  std::vector<Box> boxes;
  for (std::size_t i = 0; i < band.x.size(); ++i) {
    if (std::isnan(band.low[i]) || std::isnan(band.high[i]) || band.low[i] > band.high[i]) continue;
    const double from = x.at(band.x[i]), to = x.at(i + 1 < band.x.size() ? band.x[i + 1] : last_step);
    if (!std::isfinite(from) || !std::isfinite(to)) continue;
    const double upper = edge(steps, y, band.high[i]), lower = edge(steps, y, band.low[i]);
    if (lower <= upper) continue;
    if (!boxes.empty()) {
      Box& last = boxes.back();
      const bool same = last.y == upper && last.height == lower - upper && last.x + last.width >= from - 0.01;
      const bool unseen = to - last.x < 1 && last.x + last.width >= from - 0.01;  // within one unit: what is safe at every step
      if (unseen) {
        const double bottom = std::min(last.y + last.height, lower);
        last.y = std::max(last.y, upper), last.height = std::max(0.0, bottom - last.y);
      }
      if (same || unseen) {
        last.width = to - last.x;
        continue;
      }
    }
    boxes.push_back({from, upper, to - from, lower - upper, {}});
  }
  std::erase_if(boxes, [](const Box& box) { return box.height == 0; });
  return boxes;
}

Drawing panel(const Steps& steps) {
  const Extent extent = extent_of_steps(steps);
  Axis x = linear_axis(extent.low, std::max(extent.high, extent.low + 1), 6);
  x.from = left, x.to = drawing_width - right;
  Axis y = y_axis(steps);
  y.from = top + panel_height, y.to = top;
  Svg svg(drawing_width, static_cast<int>(top + panel_height) + 36);
  svg.text({x.from, 16}, steps.y_label, {});
  if (const auto boxes = band_of(steps, x, y, extent.high); !boxes.empty()) svg.boxes(palette::normal.light, boxes, 0.6);
  draw_grid(svg, x, y);
  for (const Steps::Line& line : steps.lines)
    svg.curve({.colour = palette::of_format(line.colour).light, .width = 1.6}, pieces(steps, line, x, y),
              line.name + (line.y.empty() ? "" : ": " + fmt::format("{:.4g}", line.y.back()) + " at the end"));
  svg.text({(x.from + x.to) / 2, y.from + 31}, steps.x_label, {.anchor = Svg::Anchor::middle});
  return std::move(svg).finish();
}

Drawing legend(const Steps& steps) {
  constexpr double sample = 40;
  const bool band = !steps.band.name.empty();
  const auto listed = std::count_if(steps.lines.begin(), steps.lines.end(), [](const auto& line) { return line.listed; });
  Svg svg(drawing_width, static_cast<int>(10 + legend_line * static_cast<double>(listed + (band ? 1 : 0))));
  double y = 8 + legend_line / 2;
  if (band) {
    svg.boxes(palette::normal.light, {{8, y - 6, sample, 12, {}}}, 0.6);
    svg.text({16 + sample, y + 4}, steps.band.name);
    y += legend_line;
  }
  for (const Steps::Line& line : steps.lines) {
    if (!line.listed) continue;
    svg.curve({.colour = palette::of_format(line.colour).light, .width = 1.6}, {{{8, y}, {8 + sample, y}}}, {});
    svg.text({16 + sample, y + 4}, line.name);
    y += legend_line;
  }
  return std::move(svg).finish();
}

}  // namespace

std::vector<Drawing> draw(const Steps& steps) {
  if (extent_of_steps(steps).empty()) return {};
  return {panel(steps), legend(steps)};
}

}  // namespace ulpscope::reports
