// SPDX-License-Identifier: Apache-2.0
// Curves of losses over scales, and below them a strip with the best scales of each format.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <span>

#include "emu/math.hpp"
#include "reports/figures.hpp"
#include "reports/palette.hpp"
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

/// Data lines of a curve; of a stretch of zeros only the first and the last point are kept.
std::string curve(std::span<const double> x, std::span<const double> percent, double lowest) {
  std::string data;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const bool none_before = i == 0 || percent[i - 1] == 0;
    const bool none_after = i + 1 == x.size() || percent[i + 1] == 0;
    if (percent[i] == 0 && none_before && none_after) continue;
    const double y = percent[i] == 0 ? lowest - zero_below_floor : std::max(lowest, emu::log10(percent[i]));
    data += fmt::format("{} {}\n", shortest(x[i]), shortest(y));
    if (percent[i] == 0 && none_after) data += '\n';
  }
  return data;
}

std::string curves(const ScaleWindow& window, double lowest) {
  std::string plot = "plot NaN";
  std::string inline_data;
  for (std::size_t i = 0; i < window.lines.size(); ++i) {
    const auto& line = window.lines[i];
    const auto draw_one = [&](const std::vector<double>& losses, int dash) {
      const auto data = curve(window.log2_scale, losses, lowest);
      if (data.empty()) return;
      plot += fmt::format(", '-' with lines lc rgb '{}' lw 2.2 dt {}", palette::of_format(i).light, dash);
      inline_data += data + "e\n";
    };
    draw_one(line.to_zero_percent, 1);
    draw_one(line.overflow_percent, 2);
  }
  return plot + '\n' + inline_data;
}

std::string label_of_best(const ScaleWindow& window, const Best& best) {
  const auto from = shortest(window.log2_scale[best.first]);
  const auto to = shortest(window.log2_scale[best.last]);
  const auto scales = from == to ? "2^" + from : "2^" + from + " to 2^" + to;
  return fmt::format("{}: {} % to zero", scales, percent_text(best.to_zero_percent));
}

std::string strips(const Layout& layout, const ScaleWindow& window, double x_low, double x_high) {
  std::string labels;
  std::string plot = "plot " + rectangles_in(palette::track.light, 1);
  std::string tracks;
  std::string bests;
  const auto n = window.lines.size();
  for (std::size_t i = 0; i < n; ++i) {
    const double bottom = static_cast<double>(n - 1 - i);
    const auto colour = palette::of_format(i).light;
    tracks += rectangle(x_low, x_high, bottom + 0.08, bottom + 0.92);
    labels += fmt::format("set label {} at graph -0.012,first {} right tc rgb '{}'\n", gnuplot_string(window.lines[i].format),
                          bottom + 0.5, colour);
    const auto best = best_scales(window.lines[i]);
    const auto text = best ? label_of_best(window, *best) : "every scale overflows";
    const double from = best ? std::max(x_low, window.log2_scale[best->first] - 0.5) : x_low;
    const double to = best ? std::min(x_high, window.log2_scale[best->last] + 0.5) : x_high;
    if (best) {
      plot += ", " + rectangles_in(colour, 0.3);
      bests += rectangle(from, to, bottom + 0.08, bottom + 0.92) + "e\n";
    }
    const bool inside = fits(layout, text, (to - from) / (x_high - x_low));
    const bool behind = fits(layout, text, (x_high - to) / (x_high - x_low));
    const double place = inside ? (from + to) / 2 : behind ? to : from;
    const auto alignment = inside ? "center" : behind ? "left offset 0.6,0" : "right offset -0.6,0";
    labels += fmt::format("set label {} at {},{} {} front\n", gnuplot_string(text), shortest(place), bottom + 0.5, alignment);
  }
  return labels + plot + '\n' + tracks + "e\n" + bests;
}

}  // namespace

FigureScript window_figure(const ScaleWindow& window) {
  if (window.log2_scale.empty() || window.lines.empty()) return {};
  const auto [low, high] = std::minmax_element(window.log2_scale.begin(), window.log2_scale.end());
  const double x_low = *low - 0.5;
  const double x_high = *high + 0.5;
  const double lowest = lowest_decade(window);
  const double floor = lowest - zero_below_floor;
  const Layout layout = layout_of(window.lines);
  FigureScript figure{.width = Layout::width, .height = layout.height(), .commands = {}, .description = {}};
  figure.commands = "set multiplot\n" + x_axis(x_low, x_high) + upper_panel(layout, floor - 0.1, y_ceiling) +
                    decade_tics(lowest, y_ceiling) + fmt::format("set ytics add ('0' {})\n", shortest(floor)) +
                    "set ylabel 'elements lost (log scale)'\n" + curves(window, lowest) +
                    lower_panel(layout, "log2 of the loss scale") + strips(layout, window, x_low, x_high) + "unset multiplot\n";
  figure.description = fmt::format(
      "Percentage of elements lost to zero and to overflow for loss scales from 2^{} to 2^{}; below "
      "it one strip per format with its best scales.",
      shortest(*low), shortest(*high));
  return figure;
}

}  // namespace ulpscope::reports
