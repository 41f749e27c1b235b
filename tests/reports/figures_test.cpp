// SPDX-License-Identifier: Apache-2.0
// Figures: what is drawn of data, and what is not.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <cmath>
#include <limits>
#include <set>
#include <string>

#include "emu/error.hpp"
#include "reports/draw.hpp"
#include "reports/percent.hpp"
#include "tests/reports/html_check.hpp"
#include "tests/reports/sample_page.hpp"

using namespace ulpscope::reports;

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

bool holds(const std::string& text, std::string_view word) { return text.find(word) != text.npos; }

std::size_t count_of(const std::string& text, std::string_view word) {
  std::size_t count = 0;
  for (auto at = text.find(word); at != text.npos; at = text.find(word, at + 1)) ++count;
  return count;
}

Growth sample_growth() {
  return {.x = {64, 128, 256, 512},
          .x_label = "K",
          .y_label = "error",
          .panels = {"normal:0,1", "uniform:0,1"},
          .lines = {{.name = "a <line>", .y = std::vector<std::vector<double>>(2, {1e-3, 0, 1e-2, infinite})},
                    {.name = "dashes",
                     .colour = 1,
                     .dash = Growth::Dash::dashed,
                     .marker = Growth::Marker::diamond,
                     .y = std::vector<std::vector<double>>(2, {1, 2, 3, 4})}}};
}

Steps sample_steps() {
  return {.axis = Steps::Axis::log2,
          .x_label = "step",
          .y_label = "scale",
          .lines = {{.name = "a <scaler>", .stairs = true, .x = {0, 1, 2, 3, 4}, .y = {4, 4, 0, 16, 8}}},
          .band = {.name = "safe", .x = {0, 1, 2, 3}, .low = {0, 0, 2, 0}, .high = {infinite, infinite, 8, std::nan("")}}};
}

Ranges sample_ranges() {
  return {.axis = Ranges::Axis::log10,
          .x_label = "share",
          .panels = {{"a panel", {{"row", {{0.01, 0.5, Tone::normal, "a span"}}, {{0.2, 0, "a dot"}, {0, 0, "not drawn"}}}}}},
          .lines = {{1, "the limit"}},
          .legend = {{Tone::normal, "spans"}, {std::size_t{0}, "dots"}}};
}

std::vector<Figure> sample_figures() {
  std::vector<Figure> figures;
  const Page page = sample_page();
  for (const auto& section : page.sections)
    for (const Block& block : section.blocks)
      if (const auto* const figure = std::get_if<Figure>(&block)) figures.push_back(*figure);
  figures.push_back(std::get<Figure>(page.blocks[1]));
  figures.push_back({.name = "growth", .title = "", .caption = "", .description = "", .data = sample_growth()});
  figures.push_back({.name = "steps", .title = "", .caption = "", .description = "", .data = sample_steps()});
  figures.push_back({.name = "ranges", .title = "", .caption = "", .description = "", .data = sample_ranges()});
  return figures;
}

std::string inlined(const Figure& figure) {
  std::string all;
  for (const Drawing& drawing : draw(figure)) all += inline_svg(drawing, "a \"figure\"");
  return all;
}

ScaleWindow window_of(std::vector<double> to_zero, std::vector<double> overflow) {
  return {.log2_scale = {0, 1, 2, 3},
          .lines = {{.format = "float16", .to_zero_percent = std::move(to_zero), .overflow_percent = std::move(overflow)}}};
}

std::string drawn(const auto& data) {
  std::string all;
  for (const Drawing& drawing : draw(data)) all += drawing.content;
  return all;
}

}  // namespace

TEST_CASE("figures can stand side by side in a page") {
  for (const Figure& figure : sample_figures()) {
    const std::string svg = inlined(figure);
    for (const auto* word : {" id=", "xmlns", "<defs", "url(", "'", "nan", "inf"}) {
      CAPTURE(word);
      CHECK_FALSE(holds(svg, word));
    }
    CHECK(first_unbalanced_tag(svg) == "");
    CHECK(svg.starts_with("<svg class=\"figure\" role=\"img\" aria-label=\"a &quot;figure&quot;\" viewBox="));
  }
}

TEST_CASE("no drawing is wider than a phone makes legible, and nothing is drawn outside of it") {
  for (const Figure& figure : sample_figures())
    for (const Drawing& drawing : draw(figure)) {
      CHECK(drawing.width == 480);
      for (const auto* attribute : {" x=\"", " cx=\""})
        for (auto at = drawing.content.find(attribute); at != std::string::npos; at = drawing.content.find(attribute, at + 1)) {
          const double x = std::strtod(drawing.content.c_str() + at + std::string_view(attribute).size(), nullptr);
          CHECK(x >= 0);
          CHECK(x <= 480);
        }
    }
}

TEST_CASE("every colour of a figure has a dark counterpart") {
  for (const Figure& figure : sample_figures()) {
    if (std::holds_alternative<HeatMap>(figure.data)) continue;  // a page shows it as a table
    const std::string svg = inlined(figure);
    for (auto at = svg.find("=\"#"); at != svg.npos; at = svg.find("=\"#", at + 1)) {
      const auto colour = std::string_view(svg).substr(at + 2, 7);
      const auto is_it = [&](const Colour& known) { return known.light == colour; };
      INFO(colour);
      CHECK((std::any_of(palette::shared.begin(), palette::shared.end(), is_it) ||
             std::any_of(palette::formats.begin(), palette::formats.end(), is_it)));
    }
  }
}

TEST_CASE("every kind of dash is drawn in its own way") {
  std::set<std::string> dashes;
  for (int dash = 0; dash <= static_cast<int>(Growth::Dash::dash_dot_dotted); ++dash) {
    Growth growth = sample_growth();
    growth.lines = {growth.lines.back()};
    growth.lines.front().dash = static_cast<Growth::Dash>(dash);
    const std::string svg = draw(growth).front().content, word = "stroke-dasharray=\"";
    const auto at = svg.find(word);
    dashes.insert(at == svg.npos ? "" : svg.substr(at, svg.find('"', at + word.size()) - at));
  }
  CHECK(dashes.size() == 6);
}

TEST_CASE("every mark has a tooltip") {
  const std::string histogram = drawn(std::get<ExponentHistogram>(sample_figures()[0].data));
  CHECK(count_of(histogram, "<rect") == count_of(histogram, "<title>"));

  const std::string window = drawn(window_of({9, 2, 2, 0}, {0, 0, 0, 1}));
  CHECK(holds(window, "<title>float16, lost to zero: 9 % at 2^0, none at 2^3</title>"));
  CHECK(holds(window, "<title>float16, lost to overflow: none at 2^0, 1 % at 2^3</title>"));

  const std::string growth = draw(sample_growth()).front().content;
  CHECK(holds(growth, "<title>a &lt;line&gt;: 0.01 at 256</title>"));
  CHECK(holds(growth, "<title>dashes: 3 at 256</title>"));

  const std::string ranges = drawn(sample_ranges());
  for (const auto* words : {"<title>a span</title>", "<title>a dot</title>", "<title>the limit</title>"})
    CHECK(holds(ranges, words));
  CHECK_FALSE(holds(ranges, "not drawn"));
}

TEST_CASE("the strips name the formats and what becomes of an element") {
  const auto figures = sample_figures();

  for (const auto* word : {"float8_e4m3fn", "becomes zero", "subnormal", "normal", "log2 |x|"})
    CHECK(holds(inlined(figures[0]), word));
  CHECK(holds(inlined(figures[2]), "overflow"));
}

TEST_CASE("the best scales lose nothing to overflow and least to zero") {
  CHECK(holds(drawn(window_of({9, 2, 2, 0}, {0, 0, 0, 1})), ">2^1 to 2^2: 2 % to zero<"));
  CHECK(holds(drawn(window_of({9, 5, 2, 0}, {0, 0, 1, 1})), ">2^1: 5 % to zero<"));
  CHECK(holds(drawn(window_of({9, 0, 0, 0}, {0, 0, 1, 1})), ">2^1: nothing lost<"));
  CHECK(holds(drawn(window_of({0, 0, 0, 0}, {1, 1, 1, 1})), ">every scale overflows<"));
  CHECK(holds(drawn(window_of({1, 1e-9, 1, 1}, {0, 0, 0, 0})), ">2^1: &lt;0.0001 % to zero<"));
}

TEST_CASE("the words of a strip stay on the strip") {
  for (std::size_t best = 0; best < 24; ++best)
    for (std::size_t wide = 1; best + wide <= 24; ++wide) {
      ScaleWindow window{.log2_scale = {}, .lines = {{.format = "float16", .to_zero_percent = {}, .overflow_percent = {}}}};
      for (std::size_t k = 0; k < 24; ++k) {
        window.log2_scale.push_back(static_cast<double>(k));
        window.lines[0].to_zero_percent.push_back(k >= best && k < best + wide ? 12.3 : 50);
        window.lines[0].overflow_percent.push_back(0);
      }
      const std::string svg = drawn(window);
      const auto words = svg.find(" % to zero</text>");
      REQUIRE(words != svg.npos);
      const std::string element = svg.substr(svg.rfind("<text", words), words + 10 - svg.rfind("<text", words));
      const double x = std::strtod(element.c_str() + element.find("x=\"") + 3, nullptr);
      const double width = text_width(element.substr(element.find('>') + 1));
      const double left = holds(element, "\"middle\"") ? x - width / 2 : holds(element, "\"end\"") ? x - width : x;
      CAPTURE(best, wide, element);
      CHECK(left >= 59);  // of the figure's plot
      CHECK(left + width <= 481);
    }
}

TEST_CASE("curves of growth have a panel for each distribution and a legend, and what is no positive number is a gap") {
  const auto drawings = draw(sample_growth());

  REQUIRE(drawings.size() == 3);
  CHECK(count_of(drawings[0].content, "<circle") == 2);
  CHECK(holds(drawings[1].content, "uniform:0,1"));
  CHECK(holds(drawings[2].content, "a &lt;line&gt;"));
  CHECK(holds(drawings[2].content, "stroke-dasharray"));
  CHECK(draw(Growth{}).empty());
  CHECK(draw(Growth{.x = {64}, .x_label = "", .y_label = "", .panels = {"p"}, .lines = {{.name = "n", .y = {{0}}}}}).size() ==
        2);
}

TEST_CASE("curves over steps are stairs, with gaps where there is no place, and a band behind them") {
  const auto drawings = draw(sample_steps());
  REQUIRE(drawings.size() == 2);
  // From 2^1, the band's lower end, to 2^4: level at 2^2, a gap at zero, then down from 2^4.
  const std::string& panel = drawings[0].content;
  CHECK(holds(panel, "2^1</text>"));
  CHECK(holds(panel, "2^4</text>"));
  CHECK(count_of(panel, "<rect") == 2);  // steps 0 and 1 in one, step 2; none behind step 3
  const auto curve = panel.substr(panel.find("d=\"M", panel.find("stroke-width=\"1.6\"")));
  CHECK(count_of(curve.substr(0, curve.find('>')), "M") == 2);
  CHECK(holds(panel, "a &lt;scaler&gt;: 8 at the end"));
  CHECK(holds(drawings[1].content, "safe"));
  CHECK(draw(Steps{}).empty());
  CHECK(draw(Steps{.lines = {{.name = "nothing has a place", .x = {0, 1}, .y = {0, -1}}}}).size() == 2);
}

TEST_CASE("a long curve is as short as the drawing, and keeps its extremes") {
  Steps steps{.axis = Steps::Axis::linear, .lines = {{.name = "long", .x = {}, .y = {}}}};
  for (int i = 0; i < 100000; ++i) {
    steps.lines[0].x.push_back(i);
    steps.lines[0].y.push_back(i == 54321 ? 40 : i == 77777 ? -40 : i % 2);
  }
  const std::string panel = draw(steps)[0].content;
  CHECK(panel.size() < 40000);
  const std::string curve = panel.substr(panel.find("stroke-width=\"1.6\""));
  CHECK(holds(curve, " 26"));   // the top of the drawing: 40
  CHECK(holds(curve, " 256"));  // its foot: -40
}

TEST_CASE("the ticks of a logarithmic axis cover its data and are few") {
  for (const double least : {1e-300, 3e-9, 0.02, 0.97, 1.0, 7e4})
    for (const double factor : {1.0, 1.01, 2.0, 30.0, 1e3, 1e7, 1e15}) {
      const Axis axis = log10_axis(least, least * factor, 8);
      CAPTURE(least, factor);
      CHECK(axis.ticks.front().at <= std::log10(least) + 1e-9);
      CHECK(axis.ticks.back().at >= std::log10(least * factor) - 1e-9);
      CHECK(axis.ticks.size() >= 2);
      CHECK(axis.ticks.size() <= 10);
      CHECK(axis.low < axis.high);
    }
}

TEST_CASE("an axis whose ticks are too near to count ends") {
  const Axis axis = linear_axis(0x1p60, 0x1p60 + 512, 9);
  CHECK(axis.ticks.size() <= 11);
}

TEST_CASE("a linear axis has ticks at round numbers, and ends at those that are near") {
  const Axis shares = linear_axis(0.0003, 0.98, 9);
  CHECK(shares.ticks.front().text == "0");
  CHECK(shares.ticks.back().text == "1");
  CHECK(shares.ticks.size() == 6);
  const Axis scales = linear_axis(-40.5, 40.5, 9);
  CHECK(scales.low == -40.5);
  CHECK(scales.ticks.front().text == "-40");
  CHECK(scales.ticks.size() == 9);
}

TEST_CASE("an axis that no number is on is refused") {
  const double most = std::numeric_limits<double>::max();
  CHECK_THROWS_AS(linear_axis(0, infinite, 6), ulpscope::Error);
  CHECK_THROWS_AS(linear_axis(-infinite, 1, 6), ulpscope::Error);
  CHECK_THROWS_AS(linear_axis(std::nan(""), 1, 6), ulpscope::Error);
  CHECK_THROWS_AS(linear_axis(-most, most, 6), ulpscope::Error);
  CHECK_THROWS_AS(linear_axis(1e20, 1e20 + 1, 6), ulpscope::Error);  // one number
  CHECK_THROWS_AS(linear_axis(0, 5e-324, 6), ulpscope::Error);
  CHECK_THROWS_AS(log10_axis(0, 1, 6), ulpscope::Error);
  CHECK_THROWS_AS(log10_axis(1, infinite, 6), ulpscope::Error);
  CHECK_THROWS_AS(log10_axis(std::nan(""), 1, 6), ulpscope::Error);
  CHECK_THROWS_AS(whole_axis(0, 0x1p31, 6), ulpscope::Error);
  CHECK_THROWS_AS(whole_axis(std::nan(""), 1, 6), ulpscope::Error);
  Figure figure;
  figure.name = "loss", figure.data = ScaleWindow{.log2_scale = {infinite}, .lines = {{"e4m3", {0}, {0}}}};
  CHECK_THROWS_WITH(draw(figure), "figure 'loss': no axis can show numbers from inf to inf");
}

TEST_CASE("an axis reaches from the least to the greatest number of double") {
  const double least = std::numeric_limits<double>::denorm_min(), most = std::numeric_limits<double>::max();
  const Axis all = log10_axis(least, most, 8);
  CHECK(all.ticks.back().text == "1e309");
  CHECK(all.ticks.size() <= 10);
  for (const double end : {least, 1e-305, 1e305, most}) {
    CAPTURE(end);
    const Axis axis = log10_axis(end, end, 8);
    CHECK(std::isfinite(axis.low));
    CHECK(axis.low <= std::log10(end));
    CHECK(axis.high >= std::log10(end));
    CHECK(axis.low < axis.high);
  }
  CHECK(linear_axis(0, most, 6).ticks.size() <= 7);
  CHECK(linear_axis(1e300, std::nextafter(1e300, most), 6).ticks.size() <= 7);
  CHECK(whole_axis(-0x1p30, 0x1p30, 12).ticks.size() <= 13);
}

TEST_CASE("points without a place on the axis are not drawn, and others are") {
  const auto with_step = [](double step) {
    Steps steps{.axis = Steps::Axis::log10, .lines = {{.name = "loss", .x = {0, step, 2, 3}, .y = {1, 2, 3, 4}}}};
    return draw(steps)[0].content;
  };
  const Steps others{.axis = Steps::Axis::log10, .lines = {{.name = "loss", .x = {0, 2, 3}, .y = {1, 3, 4}}}};
  for (const double step : {infinite, -infinite, std::nan("")}) CHECK(with_step(step) == draw(others)[0].content);

  Steps nowhere = others;
  nowhere.lines[0].x = {infinite, infinite, std::nan("")};
  CHECK(draw(nowhere).empty());

  Steps extremes = others;
  extremes.lines[0].y = {std::numeric_limits<double>::denorm_min(), 1, std::numeric_limits<double>::max()};
  CHECK(!holds(draw(extremes)[0].content, "nan"));
  CHECK(!holds(draw(extremes)[0].content, "inf"));

  Growth growth = sample_growth();
  growth.x[1] = std::nan("");
  CHECK(!holds(draw(growth)[0].content, "nan"));
  growth.x.assign(4, infinite);
  CHECK(draw(growth).empty());
}

TEST_CASE("ticks are short numbers") {
  CHECK(tick_text(0) == "0");
  CHECK(tick_text(0.002) == "0.002");
  CHECK(tick_text(1e-7) == "1e-7");
  CHECK(tick_text(2e-12) == "2e-12");
  CHECK(tick_text(50000) == "50000");
  CHECK(tick_text(1e6) == "1e6");
  CHECK(tick_text(1e15) == "1e15");
}

TEST_CASE("percentages have three digits and honest ends") {
  CHECK(percent_text(0) == "0");
  CHECK(percent_text(1e-9) == "<0.0001");
  CHECK(percent_text(0.000123) == "0.000123");
  CHECK(percent_text(3.956) == "3.96");
  CHECK(percent_text(50) == "50");
  CHECK(percent_text(86.64) == "86.6");
  CHECK(percent_text(99.94) == "99.94");
  CHECK(percent_text(99.9999) == ">99.99");
  CHECK(percent_text(100) == "100");
}
