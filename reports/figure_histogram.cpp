// SPDX-License-Identifier: Apache-2.0
// Bars over exponents, and below them a strip of regions for each format.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "emu/math.hpp"
#include "reports/figures.hpp"
#include "reports/palette.hpp"
#include "reports/render.hpp"

namespace ulpscope::reports {
namespace {

using namespace detail;

struct Span {
  double low = 0;
  double high = 0;
};

/// A stretch of a format's strip.
struct Region {
  std::string_view label;
  std::string_view short_label;
  Colour colour;
  Span where;
};

double total(const ExponentHistogram& histogram) {
  auto sum = static_cast<double>(histogram.zeros + histogram.nonfinite);
  for (const auto count : histogram.counts) sum += static_cast<double>(count);
  return sum;
}

/// Where the elements are, widened to the borders of formats that are near enough to matter.
Span visible(const ExponentHistogram& histogram) {
  const auto occupied = [](std::uint64_t count) { return count > 0; };
  const auto& counts = histogram.counts;
  const auto first = std::find_if(counts.begin(), counts.end(), occupied);
  const auto last = std::find_if(counts.rbegin(), counts.rend(), occupied).base();
  const Span data{histogram.first_exponent + static_cast<double>(first - counts.begin()),
                  histogram.first_exponent + static_cast<double>(last - counts.begin())};
  const double reach = std::max(8.0, 0.4 * (data.high - data.low));
  Span span{data.low - 2, data.high + 2};
  for (const auto& format : histogram.formats) {
    for (const double border : {double(format.zero_below_log2), double(format.min_normal_log2), format.overflow_log2}) {
      if (border < data.low && data.low - border <= reach) span.low = std::min(span.low, std::floor(border) - 2);
      if (border > data.high && border - data.high <= reach) span.high = std::max(span.high, std::ceil(border) + 2);
    }
  }
  return span;
}

std::array<Region, 4> regions(const ExponentHistogram::Range& format, Span seen) {
  const double zero = std::clamp<double>(format.zero_below_log2, seen.low, seen.high);
  const double normal = std::clamp<double>(format.min_normal_log2, zero, seen.high);
  const double overflow = std::clamp<double>(format.overflow_log2, normal, seen.high);
  return {{{"becomes zero", "zero", palette::becomes_zero, {seen.low, zero}},
           {"subnormal", "sub.", palette::subnormal, {zero, normal}},
           {"normal", "", palette::normal, {normal, overflow}},
           {"overflow", "over", palette::overflow, {overflow, seen.high}}}};
}

std::string_view label_that_fits(const Layout& layout, const Region& region, Span seen) {
  for (const auto label : {region.label, region.short_label}) {
    if (fits(layout, label, (region.where.high - region.where.low) / (seen.high - seen.low))) return label;
  }
  return {};
}

std::string bars(const ExponentHistogram& histogram, double floor, double all, Span seen) {
  // Gaps between hundreds of bars would be narrower than a pixel.
  const double gap = seen.high - seen.low > 120 ? 0 : 0.06;
  std::string data;
  for (std::size_t i = 0; i < histogram.counts.size(); ++i) {
    if (histogram.counts[i] == 0) continue;
    const double left = histogram.first_exponent + static_cast<double>(i);
    const double height = emu::log10(100 * static_cast<double>(histogram.counts[i]) / all);
    data += rectangle(left + gap, left + 1 - gap, floor, height);
  }
  return data;
}

std::string strips(const Layout& layout, const ExponentHistogram& histogram, Span seen) {
  std::string labels;
  std::array<std::string, 4> data;
  const auto n = histogram.formats.size();
  for (std::size_t i = 0; i < n; ++i) {
    const double bottom = static_cast<double>(n - 1 - i);
    labels +=
        fmt::format("set label {} at graph -0.012,first {} right\n", gnuplot_string(histogram.formats[i].format), bottom + 0.5);
    const auto parts = regions(histogram.formats[i], seen);
    for (std::size_t part = 0; part < parts.size(); ++part) {
      const auto& where = parts[part].where;
      if (where.high <= where.low) continue;
      data[part] += rectangle(where.low, where.high, bottom + 0.08, bottom + 0.92);
      const auto label = label_that_fits(layout, parts[part], seen);
      labels +=
          fmt::format("set label '{}' at {},{} center front\n", label, shortest((where.low + where.high) / 2), bottom + 0.5);
    }
  }
  std::string plot = "plot NaN";
  std::string inline_data;
  const auto parts = regions({}, seen);
  for (std::size_t part = 0; part < parts.size(); ++part) {
    if (data[part].empty()) continue;
    plot += ", " + rectangles_in(parts[part].colour.light, 1);
    inline_data += data[part] + "e\n";
  }
  return labels + plot + '\n' + inline_data;
}

}  // namespace

FigureScript histogram_figure(const ExponentHistogram& histogram) {
  const auto& counts = histogram.counts;
  const auto most = counts.empty() ? 0 : *std::max_element(counts.begin(), counts.end());
  if (most == 0) return {};
  auto least = most;
  for (const auto count : counts) least = count > 0 ? std::min(least, count) : least;
  const double all = total(histogram);
  const double floor = std::floor(emu::log10(100 * static_cast<double>(least) / all) - 0.3);
  const double ceiling = emu::log10(100 * static_cast<double>(most) / all) + 0.12;
  const Layout layout = layout_of(histogram.formats);
  const Span seen = visible(histogram);
  FigureScript figure{.width = Layout::width, .height = layout.height(), .commands = {}, .description = {}};
  figure.commands = "set multiplot\n" + x_axis(seen.low, seen.high) + upper_panel(layout, floor, ceiling) +
                    decade_tics(floor, ceiling) + "set ylabel 'share of elements (log scale)' offset 0,0\nplot " +
                    rectangles_in(palette::bars.light, 1) + '\n' + bars(histogram, floor, all, seen) + "e\n" +
                    lower_panel(layout, "log2 |x|") + strips(layout, histogram, seen) + "unset multiplot\n";
  figure.description = fmt::format(
      "Share of elements by binary exponent, from 2^{} to 2^{}; below it one strip per format with "
      "the ranges that become zero, are subnormal, normal, or overflow.",
      shortest(seen.low), shortest(seen.high));
  return figure;
}

}  // namespace ulpscope::reports
