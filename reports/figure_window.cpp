// SPDX-License-Identifier: Apache-2.0
// Losses over loss scales, and under them a strip for each format: its best scales.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "emu/math.hpp"
#include "reports/draw.hpp"
#include "reports/percent.hpp"
#include "reports/render.hpp"

namespace ulpscope::reports {
namespace {

using namespace detail;

constexpr double y_ceiling = 2.15;        // log10 of percent, a little above 100 %
constexpr double deepest_decade = -6;     // one in 10^8 elements
constexpr double zero_below_floor = 0.8;  // the line of 0 % lies this many decades below the lowest decade

/// The scales that lose nothing to overflow and least to zero: first and last place in log2_scale.
struct Best {
  std::size_t first = 0;
  std::size_t last = 0;
  double to_zero_percent = std::numeric_limits<double>::infinity();
};

std::optional<Best> best_scales(const ScaleWindow::Line& line) {
  Best best;
  for (std::size_t i = 0; i < line.to_zero_percent.size(); ++i) {
    if (line.overflow_percent[i] > 0 || line.to_zero_percent[i] > best.to_zero_percent) continue;
    if (line.to_zero_percent[i] < best.to_zero_percent) best = {i, i, line.to_zero_percent[i]};
    best.last = i;
  }
  if (std::isinf(best.to_zero_percent)) return std::nullopt;
  return best;
}

double lowest_decade(const ScaleWindow& window) {
  double least = 0.1;
  for (const auto& line : window.lines) {
    for (const auto* losses : {&line.to_zero_percent, &line.overflow_percent}) {
      for (const double percent : *losses) least = percent > 0 ? std::min(least, percent) : least;
    }
  }
  return std::max(deepest_decade, std::floor(emu::log10(least)));
}

/// A curve in pieces; stretches of zeros are left out but for the points where they begin and end.
std::vector<std::vector<Point>> pieces(const Axis& x, const Axis& y, const std::vector<double>& log2_scale,
                                       const std::vector<double>& percent, double lowest) {
  std::vector<std::vector<Point>> all(1);
  for (std::size_t i = 0; i < log2_scale.size(); ++i) {
    const bool none_before = i == 0 || percent[i - 1] == 0;
    const bool none_after = i + 1 == log2_scale.size() || percent[i + 1] == 0;
    if (percent[i] == 0 && none_before && none_after) continue;
    const double log = percent[i] == 0 ? lowest - zero_below_floor : std::max(lowest, emu::log10(percent[i]));
    all.back().push_back({x.at(log2_scale[i]), y.at(log)});
    if (percent[i] == 0 && none_after) all.emplace_back();
  }
  return all;
}

/// `float16, lost to zero: 61 % at 2^-10, 3 % at 2^0, none at 2^24`.
std::string summary(const ScaleWindow& window, const ScaleWindow::Line& line, std::string_view fate,
                    const std::vector<double>& percent) {
  std::string text = line.format + ", " + std::string(fate) + ":";
  std::vector<std::size_t> places{0};
  const auto one = std::find(window.log2_scale.begin(), window.log2_scale.end(), 0.0);
  if (one != window.log2_scale.begin() && one != window.log2_scale.end() && one + 1 != window.log2_scale.end())
    places.push_back(static_cast<std::size_t>(one - window.log2_scale.begin()));
  if (percent.size() > 1) places.push_back(percent.size() - 1);
  for (const std::size_t i : places)
    text += fmt::format("{} {} at 2^{}", i == 0 ? "" : ",", percent[i] == 0 ? "none" : percent_text(percent[i]) + " %",
                        shortest(window.log2_scale[i]));
  return text;
}

constexpr double top = 8, panel = 150, gap = 8, strip = 20, right = 8;

void draw_curves(Svg& svg, const ScaleWindow& window, const Axis& x) {
  const double lowest = lowest_decade(window), floor = lowest - zero_below_floor;
  Axis y{.low = floor - 0.1, .high = y_ceiling, .from = top + panel, .to = top};
  y.ticks = percent_ticks({.low = lowest, .high = y_ceiling});
  y.ticks.push_back({floor, "none"});
  draw_grid(svg, x, y, {.x = false});
  for (std::size_t i = 0; i < window.lines.size(); ++i) {
    const auto& line = window.lines[i];
    const auto colour = palette::of_format(i).light;
    svg.curve({.colour = colour, .width = 2}, pieces(x, y, window.log2_scale, line.to_zero_percent, lowest),
              summary(window, line, "lost to zero", line.to_zero_percent));
    svg.curve({.colour = colour, .width = 2, .dashes = "7 4"}, pieces(x, y, window.log2_scale, line.overflow_percent, lowest),
              summary(window, line, "lost to overflow", line.overflow_percent));
  }
}

std::string label_of_best(const ScaleWindow& window, const Best& best) {
  const auto from = shortest(window.log2_scale[best.first]);
  const auto to = shortest(window.log2_scale[best.last]);
  const auto scales = from == to ? "2^" + from : "2^" + from + " to 2^" + to;
  if (best.to_zero_percent == 0) return scales + ": nothing lost";
  return fmt::format("{}: {} % to zero", scales, percent_text(best.to_zero_percent));
}

void draw_strips(Svg& svg, const ScaleWindow& window, const Axis& x) {
  std::vector<Box> tracks;
  const auto top_of = [](std::size_t i) { return top + panel + gap + strip * static_cast<double>(i) + 1; };
  for (std::size_t i = 0; i < window.lines.size(); ++i) tracks.push_back({x.from, top_of(i), x.to - x.from, strip - 2});
  svg.boxes(palette::track.light, tracks);
  for (std::size_t i = 0; i < window.lines.size(); ++i) {
    const auto colour = palette::of_format(i).light;
    const double words_at = top_of(i) + strip / 2 + 3;
    svg.text({x.from - 6, words_at}, window.lines[i].format, {.anchor = Svg::Anchor::end, .colour = colour});
    const auto best = best_scales(window.lines[i]);
    const auto text = best ? label_of_best(window, *best) : "every scale overflows";
    const double from = best ? x.at(std::max(x.low, window.log2_scale[best->first] - 0.5)) : x.from;
    const double to = best ? x.at(std::min(x.high, window.log2_scale[best->last] + 0.5)) : x.to;
    if (best) svg.boxes(colour, {{from, top_of(i), to - from, strip - 2, window.lines[i].format + ": " + text}}, 0.3);
    const double width = text_width(text);
    if (width < to - from)
      svg.text({(from + to) / 2, words_at}, text, {.anchor = Svg::Anchor::middle});
    else if (width + 6 < x.to - to)
      svg.text({to + 6, words_at}, text);
    else if (width + 6 < from - x.from)
      svg.text({from - 6, words_at}, text, {.anchor = Svg::Anchor::end});
    else  // across the strip's end
      svg.text({std::max(x.from, std::min(to + 6, x.to - width)), words_at}, text);
  }
}

}  // namespace

std::vector<Drawing> draw(const ScaleWindow& window) {
  if (window.log2_scale.empty() || window.lines.empty()) return {};
  const auto [low, high] = std::minmax_element(window.log2_scale.begin(), window.log2_scale.end());
  std::vector<std::string> names;
  for (const auto& line : window.lines) names.push_back(line.format);
  Axis x = whole_axis(*low - 0.5, *high + 0.5, 12);
  x.from = left_margin(names), x.to = drawing_width - right;
  const double bottom = top + panel + gap + strip * static_cast<double>(window.lines.size());
  Svg svg(drawing_width, static_cast<int>(bottom) + 36);
  draw_curves(svg, window, x);
  draw_strips(svg, window, x);
  draw_ticks(svg, x, bottom + 14);
  svg.text({(x.from + x.to) / 2, bottom + 30}, "log2 of the loss scale", {.anchor = Svg::Anchor::middle});
  return {std::move(svg).finish()};
}

}  // namespace ulpscope::reports
