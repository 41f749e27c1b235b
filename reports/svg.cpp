// SPDX-License-Identifier: Apache-2.0
// SVG elements, as short as they can be written.
#include "reports/svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "reports/escape.hpp"
#include "reports/palette.hpp"

namespace ulpscope::reports {
namespace {

constexpr std::string_view fonts = "font-family=\"sans-serif\" font-size=\"12\"";
constexpr std::string_view ink = "#1c2025";  // of text in a file of its own; a page has its own

/// One decimal, without a zero behind the point: a tenth of a unit is less than a pixel.
std::string coordinate(double x) {
  std::string text = fmt::format("{:.1f}", x);
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text == "-0" ? "0" : text;
}

std::string tooltip(std::string_view words) {
  return words.empty() ? std::string() : "<title>" + html_escaped(words) + "</title>";
}

/// `<TAG ATTRIBUTES/>`, or with a tooltip in it.
std::string element(std::string_view tag, const std::string& attributes, std::string_view title) {
  if (title.empty()) return fmt::format("<{} {}/>", tag, attributes);
  return fmt::format("<{0} {1}>{2}</{0}>", tag, attributes, tooltip(title));
}

std::string stroke(const Svg::Pen& pen) {
  return fmt::format("fill=\"none\" stroke=\"{}\"{}{}", pen.colour,
                     pen.width == 1 ? std::string() : fmt::format(" stroke-width=\"{}\"", pen.width),
                     pen.dashes.empty() ? std::string() : fmt::format(" stroke-dasharray=\"{}\"", pen.dashes));
}

/// Points of a level stretch are not written but for its ends.
std::string polyline(const std::vector<Point>& points) {
  std::string path;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const std::string x = coordinate(points[i].x), y = coordinate(points[i].y);
    const bool level_before = i > 0 && coordinate(points[i - 1].y) == y;
    const bool level_after = i + 1 < points.size() && coordinate(points[i + 1].y) == y;
    if (level_before && level_after) continue;
    if (i == 0)
      path += "M" + x + " " + y;
    else if (level_before)
      path += "H" + x;
    else if (coordinate(points[i - 1].x) == x)
      path += "V" + y;
    else
      path += "L" + x + " " + y;
  }
  return path;
}

/// A mark around `p`, of about the same area whatever its shape.
std::string outline(Svg::Shape shape, Point p, double r) {
  const auto through = [&](std::initializer_list<Point> corners) {
    std::vector<Point> points;
    for (const Point& corner : corners) points.push_back({p.x + r * corner.x, p.y + r * corner.y});
    return polyline(points) + "z";
  };
  switch (shape) {
    case Svg::Shape::square: return through({{-.9, -.9}, {.9, -.9}, {.9, .9}, {-.9, .9}});
    case Svg::Shape::triangle: return through({{0, -1.3}, {1.2, .9}, {-1.2, .9}});
    case Svg::Shape::diamond: return through({{0, -1.35}, {1.35, 0}, {0, 1.35}, {-1.35, 0}});
    case Svg::Shape::cross:
      return through({{-1.2, -.7},
                      {-.7, -1.2},
                      {0, -.5},
                      {.7, -1.2},
                      {1.2, -.7},
                      {.5, 0},
                      {1.2, .7},
                      {.7, 1.2},
                      {0, .5},
                      {-.7, 1.2},
                      {-1.2, .7},
                      {-.5, 0}});
    case Svg::Shape::circle: break;
  }
  return {};
}

}  // namespace

void Svg::boxes(std::string_view colour, const std::vector<Box>& boxes, double opacity) {
  if (boxes.empty()) return;
  content_ +=
      fmt::format("<g fill=\"{}\"{}>", colour, opacity == 1 ? std::string() : fmt::format(" fill-opacity=\"{}\"", opacity));
  for (const Box& box : boxes)
    content_ += element("rect",
                        fmt::format("x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"", coordinate(box.x), coordinate(box.y),
                                    coordinate(box.width), coordinate(box.height)),
                        box.title);
  content_ += "</g>";
}

void Svg::lines(const Pen& pen, const std::vector<std::pair<Point, Point>>& lines) {
  if (lines.empty()) return;
  std::string path;
  for (const auto& [a, b] : lines) path += polyline({a, b});
  content_ += element("path", stroke(pen) + " d=\"" + path + "\"", {});
}

void Svg::curve(const Pen& pen, const std::vector<std::vector<Point>>& pieces, std::string_view title) {
  std::string path;
  for (const auto& piece : pieces) path += polyline(piece);
  if (!path.empty()) content_ += element("path", stroke(pen) + " d=\"" + path + "\"", title);
}

void Svg::dots(std::string_view colour, Shape shape, double radius, const std::vector<Dot>& dots) {
  if (dots.empty()) return;
  content_ += fmt::format("<g fill=\"{}\">", colour);
  for (const Dot& dot : dots)
    content_ += shape == Shape::circle ? element("circle",
                                                 fmt::format("cx=\"{}\" cy=\"{}\" r=\"{}\"", coordinate(dot.at.x),
                                                             coordinate(dot.at.y), coordinate(radius)),
                                                 dot.title)
                                       : element("path", "d=\"" + outline(shape, dot.at, radius) + "\"", dot.title);
  content_ += "</g>";
}

void Svg::text(Point at, std::string_view words, const TextStyle& style) {
  if (words.empty()) return;
  constexpr std::array anchors{"", " text-anchor=\"middle\"", " text-anchor=\"end\""};
  content_ += fmt::format("<text x=\"{}\" y=\"{}\"{}{}{}>{}{}</text>", coordinate(at.x), coordinate(at.y),
                          anchors[static_cast<std::size_t>(style.anchor)],
                          style.colour.empty() ? std::string() : fmt::format(" fill=\"{}\"", style.colour),
                          style.strong ? " font-weight=\"bold\"" : "", html_escaped(words), tooltip(style.title));
}

void Svg::texts(Anchor anchor, const std::vector<Label>& labels) {
  constexpr std::array anchors{"<g>", "<g text-anchor=\"middle\">", "<g text-anchor=\"end\">"};
  std::string all;
  for (const Label& label : labels)
    if (!label.words.empty())
      all += fmt::format("<text x=\"{}\" y=\"{}\">{}</text>", coordinate(label.at.x), coordinate(label.at.y),
                         html_escaped(label.words));
  if (!all.empty()) content_ += anchors[static_cast<std::size_t>(anchor)] + all + "</g>";
}

void Svg::text(Point at, std::string_view words) { text(at, words, {}); }

std::string inline_svg(const Drawing& drawing, const std::string& description) {
  return fmt::format(
      "<svg class=\"figure\" role=\"img\" aria-label=\"{}\" viewBox=\"0 0 {} {}\" {} fill=\"currentColor\">{}</svg>\n",
      html_escaped(description), drawing.width, drawing.height, fonts, drawing.content);
}

std::string svg_document(const std::vector<Drawing>& drawings, const std::string& title, int across) {
  constexpr int gap = 16;
  std::string parts;
  int x = 0, y = 0, line_height = 0, width = 0;
  for (std::size_t i = 0; i < drawings.size(); ++i) {
    if (i > 0 && i % static_cast<std::size_t>(across) == 0) x = 0, y += line_height + gap, line_height = 0;
    const Drawing& drawing = drawings[i];
    parts += fmt::format("<svg x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\">{}</svg>\n", x, y, drawing.width, drawing.height,
                         drawing.content);
    width = std::max(width, x + drawing.width), line_height = std::max(line_height, drawing.height);
    x += drawing.width + gap;
  }
  const int height = y + line_height;
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" {2} fill=\"{3}\">\n"
      "<title>{4}</title>\n<rect width=\"{0}\" height=\"{1}\" fill=\"{6}\"/>\n{5}</svg>\n",
      width, height, fonts, ink, html_escaped(title), parts, palette::page.light);
}

}  // namespace ulpscope::reports
