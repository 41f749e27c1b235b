// SPDX-License-Identifier: Apache-2.0
// A drawing as SVG: marks with tooltips, coordinates with one decimal, so that it is small and the same bytes everywhere.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ulpscope::reports {

struct Point {
  double x = 0, y = 0;
};

struct Box {
  double x = 0, y = 0, width = 0, height = 0;
  std::string title = {};  ///< tooltip
};

/// A finished drawing: what is between <svg> and </svg>.
struct Drawing {
  int width = 0, height = 0;
  std::string content;
};

class Svg {
 public:
  enum class Anchor : std::uint8_t { start, middle, end };
  struct TextStyle {
    Anchor anchor = Anchor::start;
    std::string_view colour = {};  ///< none: that of the text around
    bool strong = false;
    std::string_view title = {};
  };
  struct Pen {
    std::string_view colour;
    double width = 1;
    std::string_view dashes = {};  ///< as stroke-dasharray
  };
  enum class Shape : std::uint8_t { circle, square, triangle, diamond, cross };
  struct Dot {
    Point at;
    std::string title;
  };

  Svg(int width, int height) : width_(width), height_(height) {}

  void boxes(std::string_view colour, const std::vector<Box>& boxes, double opacity = 1);
  /// Lines without tooltips: the grid.
  void lines(const Pen& pen, const std::vector<std::pair<Point, Point>>& lines);
  /// One mark of one or several polylines.
  void curve(const Pen& pen, const std::vector<std::vector<Point>>& pieces, std::string_view title);
  void dots(std::string_view colour, Shape shape, double radius, const std::vector<Dot>& dots);
  void text(Point at, std::string_view words, const TextStyle& style);
  void text(Point at, std::string_view words);
  struct Label {
    Point at;
    std::string words;
  };
  /// Several of one anchor.
  void texts(Anchor anchor, const std::vector<Label>& labels);

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
