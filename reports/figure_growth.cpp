// SPDX-License-Identifier: Apache-2.0
// Rows of panels with shared axes, as commands of gnuplot.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "emu/math.hpp"
#include "reports/growth.hpp"
#include "reports/palette.hpp"
#include "reports/render.hpp"

namespace ulpscope::reports {
namespace {

// In SVG units.
constexpr int width = 860, left = 58, right = 10, gap = 12, most_across = 4;
constexpr int title_height = 30, panel_title = 20, panel_height = 210, x_tics = 24, x_label = 34, legend_line = 19,
              row_gap = 22;
constexpr int legend_columns = 2, sample = 34;

int ceiling(std::size_t a, int b) { return (static_cast<int>(a) + b - 1) / b; }

/// Where the parts of one row of the figure are, from its top down.
struct Band {
  int top, lines;  ///< lines of panels
  static constexpr int line_height = panel_title + panel_height + x_tics;
  int panel_top(int line) const { return top + title_height + line * line_height + panel_title; }
  int legend_top() const { return top + title_height + lines * line_height + x_label; }
  int bottom(std::size_t entries) const { return legend_top() + ceiling(entries, legend_columns) * legend_line + row_gap; }
};

class Drawing {
 public:
  explicit Drawing(const Growth& growth) : growth_(growth), across_(std::min(most_across, ceiling(growth.panels.size(), 1))) {
    const int lines = ceiling(growth.panels.size(), across_);
    for (const Growth::Row& row : growth.rows) {
      bands_.push_back({height_, lines});
      height_ = bands_.back().bottom(row.lines.size());
    }
  }

  int height() const { return height_; }

  std::string commands() const {
    std::string out = fmt::format(
        "set multiplot\nset border 0\nset tics scale 0 nomirror\nset key off\nset grid xtics ytics lc rgb '{}' lt 1 lw 1\n{}",
        palette::grid.light, x_axis());
    for (std::size_t r = 0; r < bands_.size(); ++r) {
      out += legend(r);
      const auto [low, high] = range(growth_.rows[r]);
      out += fmt::format("set yrange [{}:{}]\n", shortest(low), shortest(high));
      for (std::size_t p = 0; p < growth_.panels.size(); ++p) {
        out += panel(r, p, y_tics(low, high));
        out += "unset label\nunset arrow\n";
      }
    }
    return out + "unset multiplot\n";
  }

 private:
  static double across(double x) { return x / width; }
  double up(double y) const { return 1 - y / height_; }

  std::string text(double x, double y, const std::string& words, const char* options) const {
    return fmt::format("set label {} at screen {:.5f},{:.5f} {}\n", gnuplot_string(words), across(x), up(y), options);
  }

  std::string x_axis() const {
    const double low = emu::log2(growth_.x.front()), high = emu::log2(growth_.x.back());
    std::string tics;
    const std::size_t step = 1 + (growth_.x.size() - 1) / 4;
    for (std::size_t i = 0; i < growth_.x.size(); i += step)
      tics += fmt::format("{}'{}' {}", i == 0 ? "" : ", ", shortest(growth_.x[i]), shortest(emu::log2(growth_.x[i])));
    const double margin = std::max(0.25, (high - low) / 25);
    return fmt::format("set xrange [{}:{}]\nset xtics ({})\n", shortest(low - margin), shortest(high + margin), tics);
  }

  /// Decimal logarithms that hold all points of a row.
  static std::pair<double, double> range(const Growth::Row& row) {
    double low = 1e300, high = 0;
    for (const Growth::Line& line : row.lines)
      for (const auto& points : line.y)
        for (const double y : points)
          if (y > 0 && std::isfinite(y)) low = std::min(low, y), high = std::max(high, y);
    if (high == 0) return {-1, 0};
    return {std::floor(emu::log10(low)) - 0.1, std::ceil(emu::log10(high)) + 0.1};
  }

  static std::string y_tics(double low, double high) {
    const int first = static_cast<int>(std::ceil(low)), last = static_cast<int>(std::floor(high));
    const int step = 1 + (last - first) / 9;
    std::string tics;
    for (int decade = last; decade >= first; decade -= step)
      tics += fmt::format("{}'{}' {}", tics.empty() ? "" : ", ", decade == 0 ? "1" : fmt::format("1e{}", decade), decade);
    return tics;
  }

  /// gnuplot's SVG terminal begins a new pen for another width or colour, not for other dashes alone.
  static std::string style(const Growth::Line& line) {
    const char* const pen = line.dash == Growth::Dash::solid    ? "lw 2 dt 1"
                            : line.dash == Growth::Dash::dashed ? "lw 2.01 dt (9,5)"
                                                                : "lw 2.02 dt (2,5)";
    return fmt::format("lc rgb '{}' {}", palette::of_format(line.colour).light, pen);
  }

  std::string legend(std::size_t r) const {
    const Growth::Row& row = growth_.rows[r];
    const Band& band = bands_[r];
    std::string out = text(left, band.top + 12, row.title, "left");
    out += text((left + width - right) / 2.0, band.legend_top() - 15, growth_.x_label, "center");
    const int each = ceiling(row.lines.size(), legend_columns);
    for (std::size_t i = 0; i < row.lines.size(); ++i) {
      const int column = static_cast<int>(i) / each, at = static_cast<int>(i) % each;
      const double x = left + column * (width - left - right) / static_cast<double>(legend_columns);
      const double y = band.legend_top() + (at + 0.5) * legend_line;
      out += fmt::format("set arrow from screen {:.5f},{:.5f} to screen {:.5f},{:.5f} nohead {}\n", across(x), up(y),
                         across(x + sample), up(y), style(row.lines[i]));
      out += text(x + sample + 8, y, row.lines[i].name, "left");
    }
    return out;
  }

  std::string panel(std::size_t r, std::size_t p, const std::string& tics) const {
    const int column = static_cast<int>(p) % across_, line = static_cast<int>(p) / across_;
    const double each = (width - left - right - (across_ - 1) * gap) / static_cast<double>(across_);
    const double x = left + column * (each + gap);
    const int top = bands_[r].panel_top(line);
    std::string out = fmt::format(
        "set lmargin at screen {:.5f}\nset rmargin at screen {:.5f}\nset tmargin at screen {:.5f}\nset bmargin at screen "
        "{:.5f}\n",
        across(x), across(x + each), up(top), up(top + panel_height));
    out += "set ytics (" + (column == 0 ? tics : blank(tics)) + ")\n";
    out += text(x + each / 2, top - 9, growth_.panels[p], "center");
    std::string plot = "plot NaN", data;
    for (const Growth::Line& curve : growth_.rows[r].lines) {
      const std::string points = points_of(curve.y[p]);
      if (points.empty()) continue;
      plot += ", '-' with lines " + style(curve);
      data += points + "e\n";
    }
    return out + plot + "\n" + data;
  }

  /// The same places without words.
  static std::string blank(const std::string& tics) {
    std::string out;
    bool inside = false;
    for (const char c : tics) {
      if (c == '\'') inside = !inside;
      if (!inside || c == '\'') out += c;
    }
    return out;
  }

  std::string points_of(const std::vector<double>& y) const {
    std::string out;
    for (std::size_t i = 0; i < y.size(); ++i) {
      const bool drawn = y[i] > 0 && std::isfinite(y[i]);
      if (drawn) out += fmt::format("{} {}\n", shortest(emu::log2(growth_.x[i])), shortest(emu::log10(y[i])));
      if (!drawn && !out.empty()) out += "\n";
    }
    return out;
  }

  const Growth& growth_;
  int across_;
  int height_ = 0;
  std::vector<Band> bands_;
};

}  // namespace

FigureScript growth_figure(const Growth& growth) {
  if (growth.x.empty() || growth.panels.empty() || growth.rows.empty()) return {};
  const Drawing drawing(growth);
  return {.width = width, .height = drawing.height(), .commands = drawing.commands(), .description = growth.description};
}

}  // namespace ulpscope::reports
