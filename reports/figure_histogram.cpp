// SPDX-License-Identifier: Apache-2.0
// Bars over binary exponents, and under them a strip for each format: what it does to a value of that magnitude.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "emu/math.hpp"
#include "reports/draw.hpp"
#include "reports/percent.hpp"
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

std::string_view label_that_fits(const Region& region, double width) {
  for (const auto label : {region.label, region.short_label})
    if (text_width(label) + 2 < width) return label;
  return {};
}

constexpr double top = 8, panel = 150, gap = 8, strip = 20, right = 8;

/// The bars, and the axis of their shares.
void draw_bars(Svg& svg, const ExponentHistogram& histogram, const Axis& x) {
  const auto& counts = histogram.counts;
  const double all = total(histogram);
  const auto most = *std::max_element(counts.begin(), counts.end());
  auto least = most;
  for (const auto count : counts) least = count > 0 ? std::min(least, count) : least;
  const auto log_share = [&](std::uint64_t count) { return emu::log10(100 * static_cast<double>(count) / all); };
  Axis y{.low = std::floor(log_share(least) - 0.3), .high = log_share(most) + 0.12, .from = top + panel, .to = top};
  y.ticks = percent_ticks(y);
  draw_grid(svg, x, y, {.x = false});
  // Gaps between hundreds of bars would be narrower than a pixel.
  const double space = x.high - x.low > 120 ? 0 : 0.06;
  std::vector<Box> bars;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == 0) continue;
    const int exponent = histogram.first_exponent + static_cast<int>(i);
    const double left = x.at(exponent + space), high = y.at(log_share(counts[i]));
    bars.push_back(
        {left, high, x.at(exponent + 1 - space) - left, y.from - high,
         fmt::format("2^{} to 2^{}: {} %, {} element{}", exponent, exponent + 1,
                     percent_text(100 * static_cast<double>(counts[i]) / all), counts[i], counts[i] == 1 ? "" : "s")});
  }
  svg.boxes(palette::bars.light, bars);
}

void draw_strips(Svg& svg, const ExponentHistogram& histogram, const Axis& x) {
  std::array<std::vector<Box>, 4> boxes;
  const Span seen{x.low, x.high};
  for (std::size_t i = 0; i < histogram.formats.size(); ++i) {
    const auto parts = regions(histogram.formats[i], seen);
    for (std::size_t part = 0; part < parts.size(); ++part) {
      const auto& [low, high] = parts[part].where;
      if (high <= low) continue;
      boxes[part].push_back({x.at(low), top + panel + gap + strip * static_cast<double>(i) + 1, x.at(high) - x.at(low),
                             strip - 2,
                             fmt::format("{}: {}{}{}", histogram.formats[i].format, parts[part].label,
                                         low > seen.low ? " from 2^" + short_number(low) : std::string(),
                                         high < seen.high ? " up to 2^" + short_number(high) : std::string())});
    }
  }
  const auto colours = regions({}, seen);
  for (std::size_t part = 0; part < boxes.size(); ++part) svg.boxes(colours[part].colour.light, boxes[part]);
  std::vector<Svg::Label> names, labels;
  for (std::size_t i = 0; i < histogram.formats.size(); ++i) {
    const double middle = top + panel + gap + strip * (static_cast<double>(i) + 0.5) + 4;
    names.push_back({{x.from - 6, middle}, histogram.formats[i].format});
    for (const Region& region : regions(histogram.formats[i], seen)) {
      const auto& [low, high] = region.where;
      labels.push_back({{(x.at(low) + x.at(high)) / 2, middle}, std::string(label_that_fits(region, x.at(high) - x.at(low)))});
    }
  }
  svg.texts(Svg::Anchor::end, names);
  svg.texts(Svg::Anchor::middle, labels);
}

}  // namespace

std::vector<Drawing> draw(const ExponentHistogram& histogram) {
  const auto occupied = [](std::uint64_t count) { return count > 0; };
  if (std::none_of(histogram.counts.begin(), histogram.counts.end(), occupied)) return {};
  const Span seen = visible(histogram);
  std::vector<std::string> names;
  for (const auto& format : histogram.formats) names.push_back(format.format);
  Axis x = whole_axis(seen.low, seen.high, 12);
  x.from = left_margin(names), x.to = drawing_width - right;
  const double bottom = top + panel + gap + strip * static_cast<double>(histogram.formats.size());
  Svg svg(drawing_width, static_cast<int>(bottom) + 36);
  draw_bars(svg, histogram, x);
  draw_strips(svg, histogram, x);
  draw_ticks(svg, x, bottom + 14);
  svg.text({(x.from + x.to) / 2, bottom + 30}, "log2 |x|", {.anchor = Svg::Anchor::middle});
  return {std::move(svg).finish()};
}

}  // namespace ulpscope::reports
