// SPDX-License-Identifier: Apache-2.0
// What figures show, as data: nothing here knows how it is drawn. reports/draw.hpp draws it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace ulpscope::reports {

/// What a colour means, the same in every figure of every page.
enum class Tone : std::uint8_t { plain, normal, subnormal, becomes_zero, overflow, other };

/// One bar chart of how many elements have each binary exponent, with a format's ranges marked.
struct ExponentHistogram {
  struct Range {  ///< where one format is normal, subnormal, zero, overflowing
    std::string format;
    int zero_below_log2;   ///< magnitudes below 2^this become zero (half the least positive value)
    int min_normal_log2;   ///< below: subnormal
    double overflow_log2;  ///< above: overflow (log2 of the threshold)
  };
  int first_exponent = 0;             ///< of counts[0]
  std::vector<std::uint64_t> counts;  ///< elements with floor(log2|x|) = first_exponent + i
  std::uint64_t zeros = 0;
  std::uint64_t nonfinite = 0;
  std::vector<Range> formats;
};

/// The loss-scale window: shares of elements lost to zero and to overflow by log2 scale, one line per format.
struct ScaleWindow {
  struct Line {
    std::string format;
    std::vector<double> to_zero_percent, overflow_percent;  ///< as long as log2_scale
  };
  std::vector<double> log2_scale;
  std::vector<Line> lines;
};

/// How quantities grow with a size: curves in panels that share their axes, both logarithmic.
struct Growth {
  enum class Dash : std::uint8_t { solid, dashed, dotted };
  enum class Marker : std::uint8_t { circle, square, triangle, diamond, cross };
  struct Line {
    std::string name;
    std::size_t colour = 0;  ///< as palette::of_format()
    Dash dash = Dash::solid;
    Marker marker = Marker::circle;
    std::vector<std::vector<double>> y;  ///< by panel, then as `x`; what is not a positive number is not drawn
  };
  std::vector<double> x;  ///< positive, ascending
  std::string x_label, y_label;
  std::vector<std::string> panels;  ///< titles
  std::vector<Line> lines;
};

/// A table of coloured cells: rows in groups, a group beside another where there is room.
struct HeatMap {
  enum class Shade : std::uint8_t { none, good, mended, reduced, slight, marked, severe };
  struct Cell {
    Shade shade = Shade::none;
    std::string text;   ///< a few letters
    std::string title;  ///< the whole of it
  };
  struct Row {
    std::string name, title;  ///< short, and whole
    std::string link;         ///< the id of a section, or nothing
    std::vector<Cell> cells;
  };
  struct Group {
    std::string name, title;
    std::vector<Row> rows;
  };
  struct Entry {
    Shade shade;
    std::string words;
  };
  std::vector<std::string> columns;
  std::vector<Entry> legend;
  std::vector<Group> groups;
};

/// Spans and dots on one axis, a row each, in panels.
struct Ranges {
  enum class Axis : std::uint8_t { linear, log10 };
  struct Span {
    double low = 0, high = 0;
    Tone tone = Tone::plain;
    std::string title;
    enum class Height : std::uint8_t { row, thin } height = Height::row;  ///< thin: at the row's foot
  };
  struct Dot {
    double at = 0;
    std::size_t colour = 0;  ///< as palette::of_format()
    std::string title;
  };
  struct Row {
    std::string name;
    std::vector<Span> spans;
    std::vector<Dot> dots;
  };
  struct Panel {
    std::string title;
    std::vector<Row> rows;
  };
  struct Line {  ///< across all rows
    double at;
    std::string name;
  };
  struct Thin {};
  struct Entry {  ///< of the legend: a tone, thin spans, or the colour of dots
    std::variant<Tone, Thin, std::size_t> mark;
    std::string words;
  };
  Axis axis = Axis::linear;
  std::string x_label;
  std::vector<Panel> panels;
  std::vector<Line> lines;
  std::vector<Entry> legend;
};

struct Figure {
  std::string name;  ///< stem of its file, NAME.svg; empty: it has none
  std::string title, caption;
  std::string description;  ///< in words, for those who do not see it
  std::variant<ExponentHistogram, ScaleWindow, Growth, HeatMap, Ranges> data;
};

}  // namespace ulpscope::reports
