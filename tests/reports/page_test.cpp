// SPDX-License-Identifier: Apache-2.0
// The page of a report: safe, complete, the same twice.
#include <openssl/evp.h>

#include <array>
#include <catch2/catch_test_macros.hpp>
#include <string_view>

#include "reports/page_html.hpp"
#include "tests/reports/html_check.hpp"
#include "tests/reports/sample_page.hpp"

using namespace ulpscope::reports;

namespace {

std::size_t count_of(const std::string& text, std::string_view word) {
  std::size_t count = 0;
  for (auto at = text.find(word); at != text.npos; at = text.find(word, at + 1)) ++count;
  return count;
}

bool holds(const std::string& text, std::string_view word) { return text.find(word) != text.npos; }

Page page_with(Block block) {
  return {.title = "t", .settings = "s", .command = "c", .blocks = {std::move(block)}, .sections = {}};
}

/// What is between two marks, the first time.
std::string between(const std::string& text, std::string_view from, std::string_view to) {
  const auto begin = text.find(from) + from.size();
  return text.substr(begin, text.find(to, begin) - begin);
}

std::string base64_sha256(const std::string& bytes) {
  std::array<unsigned char, 32> digest{};
  EVP_Digest(bytes.data(), bytes.size(), digest.data(), nullptr, EVP_sha256(), nullptr);
  constexpr std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t bit = 0; bit < 256; bit += 6) {
    unsigned six = 0;
    for (std::size_t i = bit; i < bit + 6; ++i) six = six * 2 + (i < 256 ? (digest[i / 8] >> (7 - i % 8)) & 1U : 0U);
    text += letters[six];
  }
  return text + "=";
}

}  // namespace

TEST_CASE("the page refers to nothing outside itself") {
  const auto html = to_html(sample_page());

  for (const auto* word :
       {"http:", "https:", "src=", "url(", "@import", "<link", "<img", "javascript", " style=", " onclick"}) {
    CAPTURE(word);
    CHECK_FALSE(holds(html, word));
  }
  CHECK(count_of(html, "href=") == count_of(html, "href=\"#tensor-"));
}

TEST_CASE("the page has one script, and its policy allows that one by its hash") {
  const auto html = to_html(sample_page());

  CHECK(count_of(html, "<script") == 1);
  CHECK(holds(html, "script-src 'sha256-" + base64_sha256(between(html, "<script>", "</script>")) + "'\">"));
}

TEST_CASE("every tag of the page that is opened is closed") {
  auto html = to_html(sample_page());
  html.erase(html.find("<script>"), html.find("</script>") - html.find("<script>"));
  html.erase(html.find("</script>"), 9);

  CHECK(first_unbalanced_tag(html) == "");
}

TEST_CASE("the same page gives the same bytes") { CHECK(to_html(sample_page()) == to_html(sample_page())); }

TEST_CASE("text from outside stays text wherever it is shown") {
  const std::string evil = "</script></style></title><b id='x' title=\"y\">&amp;\x01";
  Page page = sample_page();
  page.title = page.settings = page.command = evil;
  Section& section = page.sections[0];
  section.title = section.note = evil;
  std::get<FindingList>(section.blocks[1]).findings[0].sentence = evil;
  auto& histogram = std::get<Figure>(section.blocks[2]);
  histogram.title = histogram.caption = histogram.description = evil;
  std::get<ExponentHistogram>(histogram.data).formats[0].format = evil;
  std::get<ScaleWindow>(std::get<Figure>(section.blocks[3]).data).lines[0].format = evil;
  auto& map = std::get<HeatMap>(std::get<Figure>(page.blocks[1]).data);
  map.columns[0] = map.groups[0].name = map.groups[0].title = map.legend[0].words = evil;
  map.groups[0].rows[0] = {.name = evil, .title = evil, .link = evil, .cells = {{HeatMap::Shade::good, evil, evil}}};
  page.blocks.emplace_back(Table{.name = evil, .columns = {evil, "x"}, .rows = {{evil, 0.5}}});

  std::string html = to_html(page);
  for (const auto& [name, svg] : figure_files(page)) html += svg;

  CHECK(count_of(html, "</script") == 1);
  CHECK_FALSE(holds(html, "<b id"));
  CHECK_FALSE(holds(html, "\x01"));
  CHECK(count_of(html, "</style>") == 1);
  CHECK(count_of(text_of(html), "&amp;amp;") >= 12);
}

TEST_CASE("severity is said in words, of a finding whose threshold has a source") {
  const auto said = [](const std::string& source) {
    return to_html(page_with(FindingList{{{.what = "x",
                                           .where = "y",
                                           .value = 2.0,
                                           .threshold = 1.0,
                                           .source = source,
                                           .severity = Severity::bad,
                                           .sentence = "Much is lost."}}}));
  };

  CHECK(holds(said("chosen: here"), "<li class=\"bad\"><span class=\"mark\">✕ bad</span> <span>Much is lost.</span></li>"));
  CHECK(holds(said(""), "<li class=\"said\"><span></span> <span>Much is lost.</span></li>"));
}

TEST_CASE("a folded section is closed, and a link to it finds its place inside") {
  Page page = page_with(Prose{{"p"}});
  page.sections = {{.id = "outer",
                    .title = "o",
                    .fold = Section::Fold::closed,
                    .sections = {{.id = "inner", .title = "i", .fold = Section::Fold::closed, .blocks = {Prose{{"q"}}}}}}};

  const auto html = to_html(page);

  CHECK(holds(html, "<details class=\"group\"><summary><h2>o</h2></summary>\n<div id=\"outer\">\n<details class=\"item\">"));
  CHECK(holds(html, "<div id=\"inner\">\n<p>q</p>"));
  CHECK_FALSE(holds(html, "details open"));
}

TEST_CASE("a heat map is a table: short names lead to sections, whole ones and sentences are tooltips") {
  const auto html = to_html(sample_page());

  CHECK(holds(html,
              "<th scope=\"row\" title=\"run 7/step-1200.safetensors:layers.11.mlp.down_proj.weight.grad\"><a "
              "href=\"#tensor-1\">grad</a></th>"));
  CHECK(holds(html, "<td class=\"s2\" title=\"float8_e4m3fn holds all at 2^19\">2<sup>19</sup></td>"));
  CHECK(holds(html, "<span class=\"chip s2\"></span> mended"));
}

TEST_CASE("figures with a name are files, each an SVG document of its own") {
  const auto files = figure_files(sample_page());

  REQUIRE(files.size() == 4);
  CHECK(files[0].first == "heat_map.svg");
  CHECK(files[1].first == "tensor-1_exponents.svg");
  for (const auto& [name, svg] : files) {
    CHECK(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\" "));
    CHECK(first_unbalanced_tag(svg) == "");
    CHECK_FALSE(holds(svg, "currentColor"));
  }
}

TEST_CASE("a loss is never shown as 0 and a remainder never as 100 percent") {
  const auto html =
      to_html(page_with(Table{.name = "census",
                              .columns = {"format", "count", "exact", "rounded", "subnormal", "to_zero", "overflow"},
                              .rows = {{"float16", std::int64_t{1} << 40, (std::int64_t{1} << 40) - 1, std::int64_t{0},
                                        std::int64_t{0}, std::int64_t{1}, std::int64_t{0}}}}));

  CHECK(holds(html, "<td class=\"loss b-zero w0\">&lt;0.0001"));
  CHECK(holds(html, "<td class=\"b-kept w24\">&gt;99.99"));
}

TEST_CASE("what has nothing to draw is told, not drawn") {
  Page page = sample_page();
  auto& histogram = std::get<ExponentHistogram>(std::get<Figure>(page.sections[0].blocks[2]).data);
  histogram.counts.assign(histogram.counts.size(), 0);

  CHECK(holds(to_html(page), "There is nothing to draw."));
}
