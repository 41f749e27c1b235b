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
  /// Where one format is normal, subnormal, zero, overflowing.
  struct Range {
    std::string format;    ///< its name
    int zero_below_log2;   ///< magnitudes below 2^this become zero (half the least positive value)
    int min_normal_log2;   ///< below: subnormal
    double overflow_log2;  ///< above: overflow (log2 of the threshold)
  };
  int first_exponent = 0;             ///< of counts[0]
  std::vector<std::uint64_t> counts;  ///< elements with floor(log2|x|) = first_exponent + i
  std::uint64_t zeros = 0;            ///< elements that are 0
  std::uint64_t nonfinite = 0;        ///< infinities and NaNs
  std::vector<Range> formats;         ///< a strip each, below the bars
};

/// The loss-scale window: shares of elements lost to zero and to overflow by log2 scale, one line per format.
struct ScaleWindow {
  /// What one format loses.
  struct Line {
    std::string format;  ///< its name
    /// By scale.
    std::vector<double> to_zero_percent, overflow_percent;  ///< as long as log2_scale
  };
  std::vector<double> log2_scale;  ///< ascending
  std::vector<Line> lines;         ///< one a format
};

/// How quantities grow with a size: curves in panels that share their axes, both logarithmic.
struct Growth {
  /// How a curve is drawn.
  enum class Dash : std::uint8_t { solid, dashed, dotted, dash_dotted, long_dashed, dash_dot_dotted };
  /// The marks of a curve.
  enum class Marker : std::uint8_t { circle, square, triangle, diamond, cross };
  /// One curve in all panels.
  struct Line {
    std::string name;                    ///< in the legend
    std::size_t colour = 0;              ///< as palette::of_format()
    Dash dash = Dash::solid;             ///< of the line
    Marker marker = Marker::circle;      ///< at each point
    std::vector<std::vector<double>> y;  ///< by panel, then as `x`; what is not a positive number is not drawn
  };
  std::vector<double> x;            ///< positive, ascending
  std::string x_label, y_label;     ///< words of the axes
  std::vector<std::string> panels;  ///< titles
  std::vector<Line> lines;          ///< in the order of the legend
};

/// Quantities over the steps of a run: curves, and a band behind them.
struct Steps {
  /// How numbers lie on the axis at the left; that of the steps is linear.
  enum class Axis : std::uint8_t { linear, log10, log2 };
  /// One curve.
  struct Line {
    std::string name;         ///< in the legend
    std::size_t colour = 0;   ///< as palette::of_format()
    bool stairs = false;      ///< a value holds until the next one
    bool listed = true;       ///< in the legend
    std::vector<double> x{};  ///< ascending; what is not finite is not drawn
    std::vector<double> y{};  ///< as x; what has no place on the axis is not drawn
  };
  /// Values from `low` to `high` are safe; infinite ends reach the edge of the drawing, and where one is NaN there is no band.
  struct Band {
    std::string name;                        ///< in the legend; empty: there is none
    std::vector<double> x{}, low{}, high{};  ///< by step
  };
  Axis axis = Axis::log10;           ///< of the values
  std::string x_label{}, y_label{};  ///< words of the axes
  std::vector<Line> lines{};         ///< in the order of the legend
  Band band{};                       ///< behind them
};

/// A table of coloured cells: rows in groups, a group beside another where there is room.
struct HeatMap {
  /// What a cell says, as a colour.
  enum class Shade : std::uint8_t { none, good, mended, reduced, slight, marked, severe };
  /// One coloured cell.
  struct Cell {
    Shade shade = Shade::none;  ///< its colour
    std::string text;           ///< a few letters
    std::string title;          ///< the whole of it
  };
  /// A row of cells.
  struct Row {
    std::string name, title;  ///< short, and whole
    std::string link;         ///< the id of a section, or nothing
    std::vector<Cell> cells;  ///< as many as columns
  };
  /// Rows that belong together.
  struct Group {
    std::string name, title;  ///< short, and whole
    std::vector<Row> rows;    ///< in their order
  };
  /// What a shade means.
  struct Entry {
    Shade shade;        ///< the colour
    std::string words;  ///< beside it
  };
  std::vector<std::string> columns;  ///< their heads
  std::vector<Entry> legend;         ///< of the shades that occur
  std::vector<Group> groups;         ///< in their order
};

/// Spans and dots on one axis, a row each, in panels.
struct Ranges {
  /// How numbers lie on the axis.
  enum class Axis : std::uint8_t { linear, log10 };
  /// A stretch of the axis.
  struct Span {
    double low = 0, high = 0;  ///< its ends
    Tone tone = Tone::plain;   ///< its colour
    std::string title;         ///< tooltip
    /// How much of the row it fills.
    enum class Height : std::uint8_t { row, thin } height = Height::row;  ///< thin: at the row's foot
  };
  /// A number on the axis.
  struct Dot {
    double at = 0;           ///< the number
    std::size_t colour = 0;  ///< as palette::of_format()
    std::string title;       ///< tooltip
  };
  /// What stands at one height.
  struct Row {
    std::string name;         ///< at the left
    std::vector<Span> spans;  ///< behind the dots
    std::vector<Dot> dots;    ///< on top
  };
  /// Rows on an axis of their own.
  struct Panel {
    std::string title;      ///< above it
    std::vector<Row> rows;  ///< from the top
  };
  /// A line across all rows.
  struct Line {
    double at;         ///< where
    std::string name;  ///< in the legend
  };
  /// Stands for thin spans in the legend.
  struct Thin {};
  /// Of the legend: a tone, thin spans, or the colour of dots.
  struct Entry {
    std::variant<Tone, Thin, std::size_t> mark;  ///< what is explained
    std::string words;                           ///< its meaning
  };
  Axis axis = Axis::linear;   ///< of all panels
  std::string x_label;        ///< words of the axis
  std::vector<Panel> panels;  ///< in their order
  std::vector<Line> lines;    ///< across all panels
  std::vector<Entry> legend;  ///< in its order
};

/// A figure with its words.
struct Figure {
  std::string name;            ///< stem of its file, NAME.svg; empty: it has none
  std::string title, caption;  ///< above and below it
  std::string description;     ///< in words, for those who do not see it
  std::variant<ExponentHistogram, ScaleWindow, Growth, Steps, HeatMap, Ranges> data;  ///< what it shows
};

}  // namespace ulpscope::reports
