// SPDX-License-Identifier: Apache-2.0
// Figures: what gnuplot is asked for, and what becomes of its answer.
#include "reports/figures.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <limits>

#include "reports/growth.hpp"
#include "reports/palette.hpp"
#include "reports/percent.hpp"
#include "reports/svg_document.hpp"
#include "tests/reports/html_check.hpp"
#include "tests/reports/sample_page.hpp"

using namespace ulpscope::reports;

namespace {

bool holds(const std::string& text, std::string_view word) { return text.find(word) != text.npos; }

std::vector<FigureScript> sample_figures() {
  std::vector<FigureScript> scripts;
  for (const auto& section : sample_page().sections) {
    scripts.push_back(histogram_figure(section.histograms[0]));
    scripts.push_back(window_figure(section.windows[0]));
  }
  return scripts;
}

void skip_without_gnuplot(const Drawings& drawings) {
  if (holds(drawings.problem, "not installed")) SKIP(drawings.problem);
}

ScaleWindow window_of(std::vector<double> to_zero, std::vector<double> overflow) {
  return {.title = "t",
          .log2_scale = {0, 1, 2, 3},
          .lines = {{.format = "float16", .to_zero_percent = std::move(to_zero), .overflow_percent = std::move(overflow)}}};
}

}  // namespace

TEST_CASE("gnuplot draws every figure, and the same one twice") {
  const auto first = draw(sample_figures());
  skip_without_gnuplot(first);
  const auto second = draw(sample_figures());

  CHECK(first.problem == "");
  REQUIRE(first.svgs.size() == 6);
  CHECK(first.svgs == second.svgs);
}

TEST_CASE("figures can stand side by side in a page") {
  const auto drawings = draw(sample_figures());
  skip_without_gnuplot(drawings);

  for (const auto& svg : drawings.svgs) {
    for (const auto* word : {" id=", "xmlns", "<defs", "<title", "url(", "gnuplot", "'", "black", "rgb("})
      CHECK_FALSE(holds(svg, word));
    CHECK(first_unbalanced_tag(svg) == "");
    CHECK(svg.starts_with("<svg class=\"figure\" role=\"img\" aria-label=\""));
  }
}

TEST_CASE("a figure as a file brings its namespace, its background and its dark colours") {
  const auto drawings = draw({window_figure(window_of({1, 0, 0, 0}, {0, 0, 0, 1}))});
  skip_without_gnuplot(drawings);

  const auto document = svg_document(drawings.svgs.at(0));

  CHECK(document.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"figure\""));
  CHECK(first_unbalanced_tag(document) == "");
  for (const auto colour : {palette::page.light, palette::page.dark, palette::ink.light, palette::of_format(0).dark})
    CHECK(holds(document, colour));
  CHECK(document.ends_with(drawings.svgs.at(0).substr(drawings.svgs.at(0).find('>') + 1) + "\n"));
}

TEST_CASE("every colour that gnuplot draws has a dark counterpart") {
  const auto drawings = draw(sample_figures());
  skip_without_gnuplot(drawings);

  for (const auto& svg : drawings.svgs) {
    for (auto at = svg.find("=\"#"); at != svg.npos; at = svg.find("=\"#", at + 1)) {
      const auto colour = std::string_view(svg).substr(at + 2, 7);
      const auto is_it = [&](const Colour& known) { return known.light == colour; };
      INFO(colour);
      CHECK((std::any_of(palette::shared.begin(), palette::shared.end(), is_it) ||
             std::any_of(palette::formats.begin(), palette::formats.end(), is_it)));
    }
  }
}

TEST_CASE("the strips name the formats and what becomes of an element") {
  const auto drawings = draw(sample_figures());
  skip_without_gnuplot(drawings);

  for (const auto* word : {"float8_e4m3fn", "becomes zero", "subnormal", "normal", "log2 |x|"})
    CHECK(holds(drawings.svgs[0], word));
  CHECK(holds(drawings.svgs[2], "overflow"));
}

TEST_CASE("the best scales lose nothing to overflow and least to zero") {
  CHECK(holds(window_figure(window_of({9, 2, 2, 0}, {0, 0, 0, 1})).commands, "'2^1 to 2^2: 2 % to zero'"));
  CHECK(holds(window_figure(window_of({9, 5, 2, 0}, {0, 0, 1, 1})).commands, "'2^1: 5 % to zero'"));
  CHECK(holds(window_figure(window_of({0, 0, 0, 0}, {1, 1, 1, 1})).commands, "'every scale overflows'"));
}

TEST_CASE("the smallest losses are escaped on their way through gnuplot") {
  const auto drawings = draw({window_figure(window_of({1, 1e-9, 1, 1}, {0, 0, 0, 0}))});
  skip_without_gnuplot(drawings);

  CHECK(holds(drawings.svgs[0], "2^1: &lt;0.0001 % to zero"));
}

TEST_CASE("a script that gnuplot refuses is a problem with its words") {
  const auto drawings = draw({{.width = 100, .height = 100, .commands = "plot nonsense(x)\n", .description = ""}});
  skip_without_gnuplot(drawings);

  CHECK(drawings.svgs.empty());
  CHECK(holds(drawings.problem, "undefined"));
}

TEST_CASE("no text can leave its quotes in a gnuplot script") {
  CHECK(gnuplot_string("float8_e4m3fn") == "'float8_e4m3fn'");
  for (const char c : gnuplot_string("'; system \"id\"\n`x`\\ $a @b").substr(1)) {
    if (c != '\'') CHECK(std::string_view("\"\n`\\$@").find(c) == std::string_view::npos);
  }
  CHECK(gnuplot_string("a'b") == "'a?b'");
}

TEST_CASE("curves of growth keep their names, dashes and gaps") {
  constexpr double infinite = std::numeric_limits<double>::infinity();
  const Growth growth{
      .x = {64, 128, 256, 512},
      .x_label = "K",
      .panels = {"normal:0,1", "uniform:0,1", "p3", "p4", "p5"},
      .rows = {{.title = "a row",
                .lines = {{.name = "line $x", .y = std::vector<std::vector<double>>(5, {1e-3, 0, 1e-2, infinite})},
                          {.name = "dashes",
                           .dash = Growth::Dash::dashed,
                           .y = std::vector<std::vector<double>>(5, {1, 2, 3, 4})}}}},
      .description = "words"};
  const auto one = draw({growth_figure(growth)});
  skip_without_gnuplot(one);

  CHECK(growth_figure({}).commands.empty());
  REQUIRE(one.problem == "");
  for (const auto* word : {"a row", "normal:0,1", "p5", "line ?x", "dashes", "stroke-dasharray", "1e-3"})
    CHECK(holds(one.svgs[0], word));
  CHECK(first_unbalanced_tag(one.svgs[0]) == "");
}

TEST_CASE("curves without a single point are a figure still") {
  const auto drawings = draw({growth_figure({.x = {64},
                                             .x_label = "K",
                                             .panels = {"p"},
                                             .rows = {{.title = "r", .lines = {{.name = "n", .y = {{0}}}}}},
                                             .description = ""})});
  skip_without_gnuplot(drawings);

  CHECK(drawings.problem == "");
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
