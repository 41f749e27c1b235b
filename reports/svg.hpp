// SPDX-License-Identifier: Apache-2.0
// A drawing as SVG: marks with tooltips, coordinates with one decimal, so that it is small and the same bytes everywhere.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ulpscope::reports {

/// A place, in units of the drawing.
struct Point {
  double x = 0, y = 0;  ///< from the left, from the top
};

/// A rectangle.
struct Box {
  double x = 0, y = 0, width = 0, height = 0;  ///< its upper left corner and its extents, in units of the drawing
  std::string title = {};                      ///< tooltip
};

/// A finished drawing: the content of an svg element.
struct Drawing {
  int width = 0, height = 0;  ///< extents, in its own units
  std::string content;        ///< elements of SVG
};

/// A drawing in the making.
class Svg {
 public:
  /// Which end of a text stands at its place.
  enum class Anchor : std::uint8_t { start, middle, end };
  /// How a text looks.
  struct TextStyle {
    Anchor anchor = Anchor::start;  ///< the end at its place
    std::string_view colour = {};   ///< none: that of the text around
    bool strong = false;            ///< bold
    std::string_view title = {};    ///< tooltip
  };
  /// How a line looks.
  struct Pen {
    std::string_view colour;       ///< `#rrggbb`
    double width = 1;              ///< in units of the drawing
    std::string_view dashes = {};  ///< as stroke-dasharray
  };
  /// The shape of a dot.
  enum class Shape : std::uint8_t { circle, square, triangle, diamond, cross };
  /// A mark at a place.
  struct Dot {
    Point at;           ///< its middle
    std::string title;  ///< tooltip
  };

  /// Of these extents, in units of its own.
  Svg(int width, int height) : width_(width), height_(height) {}

  /// Filled rectangles.
  void boxes(std::string_view colour, const std::vector<Box>& boxes, double opacity = 1);
  /// Lines without tooltips: the grid.
  void lines(const Pen& pen, const std::vector<std::pair<Point, Point>>& lines);
  /// One mark of one or several polylines.
  void curve(const Pen& pen, const std::vector<std::vector<Point>>& pieces, std::string_view title);
  /// Marks of one colour and shape.
  void dots(std::string_view colour, Shape shape, double radius, const std::vector<Dot>& dots);
  /// One line of text.
  void text(Point at, std::string_view words, const TextStyle& style);
  /// The same, plain.
  void text(Point at, std::string_view words);
  /// A text and its place.
  struct Label {
    Point at;           ///< of its anchor
    std::string words;  ///< the text
  };
  /// Several of one anchor.
  void texts(Anchor anchor, const std::vector<Label>& labels);

  /// The drawing; nothing can be added then.
  Drawing finish() && { return {width_, height_, std::move(content_)}; }

 private:
  int width_, height_;
  std::string content_;
};

/// Units of text of this drawing's size, about: for what must fit.
constexpr double text_width(std::string_view words) { return 7.4 * static_cast<double>(words.size()); }

/// For a page: no namespace, and the colours of the text around it.
std::string inline_svg(const Drawing& drawing, const std::string& description);

/// A file of its own of all drawings, `across` beside each other.
std::string svg_document(const std::vector<Drawing>& drawings, const std::string& title, int across);

}  // namespace ulpscope::reports
