// SPDX-License-Identifier: Apache-2.0
// What the drawings share.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "emu/error.hpp"
#include "reports/draw.hpp"

namespace ulpscope::reports {
namespace detail {

void draw_grid(Svg& svg, const Axis& x, const Axis& y, GridWords words) {
  std::vector<std::pair<Point, Point>> lines;
  for (const Tick& tick : x.ticks) lines.push_back({{x.at(tick.at), y.from}, {x.at(tick.at), y.to}});
  for (const Tick& tick : y.ticks) lines.push_back({{x.from, y.at(tick.at)}, {x.to, y.at(tick.at)}});
  svg.lines({.colour = palette::grid.light}, lines);
  if (words.x) draw_ticks(svg, x, y.from + 15);
  if (!words.y) return;
  std::vector<Svg::Label> labels;
  for (const Tick& tick : y.ticks) labels.push_back({{x.from - 6, y.at(tick.at) + 4}, tick.text});
  svg.texts(Svg::Anchor::end, labels);
}

void draw_ticks(Svg& svg, const Axis& x, double y) {
  std::vector<Svg::Label> labels;
  for (const Tick& tick : x.ticks) labels.push_back({{x.at(tick.at), y}, tick.text});
  svg.texts(Svg::Anchor::middle, labels);
}

std::vector<Tick> percent_ticks(const Axis& axis) {
  const int first = static_cast<int>(std::ceil(axis.low)), last = static_cast<int>(std::floor(axis.high));
  const int step = 1 + (last - first) / 6;
  std::vector<Tick> ticks;
  for (int decade = last; decade >= first; decade -= step) {
    double power = 1;
    for (int i = 0; i < std::abs(decade); ++i) power *= 10;
    ticks.push_back({static_cast<double>(decade), tick_text(decade < 0 ? 1 / power : power) + " %"});
  }
  return ticks;
}

double left_margin(const std::vector<std::string>& names) {
  constexpr double least = 60;
  double most = least;
  for (const std::string& name : names) most = std::max(most, text_width(name) + 12);
  return std::min(most, drawing_width / 2.0);
}

std::string short_number(double value) {
  const std::string text = fmt::format("{:.1f}", value);
  return text.ends_with(".0") ? text.substr(0, text.size() - 2) : text;
}

}  // namespace detail

std::vector<Drawing> draw(const Figure& figure) {
  try {
    return std::visit([](const auto& data) { return draw(data); }, figure.data);
  } catch (const Error& wrong) {
    throw Error("figure '" + figure.name + "': " + wrong.what());
  }
}

}  // namespace ulpscope::reports
