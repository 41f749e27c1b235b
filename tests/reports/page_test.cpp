// SPDX-License-Identifier: Apache-2.0
#include "reports/page.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <string_view>

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

Page page_of(std::size_t tensors) {
  Page page{.title = "t", .settings = "s", .command = "c", .sections = {}};
  for (std::size_t i = 0; i < tensors; ++i) {
    const auto severity = i < 2 ? Verdict::Severity::bad : Verdict::Severity::good;
    page.sections.push_back({.tensor = "tensor " + std::to_string(i),
                             .facts = "facts",
                             .verdicts = {{severity, "said."}},
                             .histograms = {},
                             .windows = {},
                             .errors = {}});
  }
  return page;
}

/// No program is found while this lives.
class EmptyPath {
 public:
  EmptyPath() : before_(std::getenv("PATH")) { ::setenv("PATH", "/nonexistent", 1); }
  ~EmptyPath() { ::setenv("PATH", before_.c_str(), 1); }
  EmptyPath(const EmptyPath&) = delete;
  EmptyPath& operator=(const EmptyPath&) = delete;

 private:
  std::string before_;
};

}  // namespace

TEST_CASE("the page refers to nothing outside itself and runs nothing") {
  const auto html = to_html(sample_page());

  for (const auto* word : {"http:", "https:", "src=", "url(", "@import", "<script", "<link", "<img", "javascript", " style="}) {
    CAPTURE(word);
    CHECK_FALSE(holds(html, word));
  }
  CHECK(count_of(html, "href=") == count_of(html, "href=\"#tensor-"));
}

TEST_CASE("every tag of the page that is opened is closed") {
  CHECK(first_unbalanced_tag(to_html(sample_page())) == "");
  CHECK(first_unbalanced_tag(to_html(page_of(60))) == "");
  CHECK(first_unbalanced_tag(to_html({})) == "");
}

TEST_CASE("the same page gives the same bytes") { CHECK(to_html(sample_page()) == to_html(sample_page())); }

TEST_CASE("text from outside stays text wherever it is shown") {
  const std::string evil = "</script></style></title><b id='x' title=\"y\">&amp;\x01";
  Page page = sample_page();
  page.title = page.settings = page.command = evil;
  auto& section = page.sections[0];
  section.tensor = section.facts = section.verdicts[0].text = evil;
  section.histograms[0].title = section.windows[0].title = evil;
  section.histograms[0].formats[0].format = section.windows[0].lines[0].format = evil + "\nquit\n`id`";
  section.errors.rows[0][0] = section.errors.rows[0][1] = evil;
  page.sections[1].errors = {.name = evil, .columns = {evil, "x"}, .rows = {{evil, 0.5}}};

  const auto html = to_html(page);

  CHECK_FALSE(holds(html, "</script"));
  CHECK_FALSE(holds(html, "<b id"));
  CHECK_FALSE(holds(html, "\x01"));
  CHECK(count_of(html, "</style>") == 1);
  CHECK(count_of(html, "</title>") == 1);
  CHECK(first_unbalanced_tag(html) == "");
  CHECK(count_of(text_of(html), "&amp;amp;") >= 8);
}

TEST_CASE("severity is said in words, worst first of each tensor") {
  const auto html = to_html(sample_page());

  CHECK(holds(html, "3 tensors: 1 bad, 1 warning, 1 good"));
  CHECK(holds(html, "✕ bad</span> <a href=\"#tensor-1\">"));
  CHECK(holds(html, "! warning</span> <a href=\"#tensor-2\">"));
  CHECK(holds(html, "✓ good</span> <a href=\"#tensor-3\">"));
}

TEST_CASE("of many tensors only the worst are open") {
  const auto few = to_html(page_of(20));
  const auto many = to_html(page_of(60));

  CHECK(count_of(few, "<details") == 0);
  CHECK(count_of(many, "<details") == 60);
  CHECK(count_of(many, "\" open>") == 3);
  CHECK(count_of(many, "id=\"tensor-") == 60);
}

TEST_CASE("without gnuplot the page says so in each figure's place") {
  const EmptyPath no_programs;

  const auto html = to_html(sample_page());

  CHECK(count_of(html, "gnuplot is not installed") == 6);
  CHECK(holds(html, "apt-get install gnuplot-nox"));
  CHECK(first_unbalanced_tag(html) == "");
}

TEST_CASE("a loss is never shown as 0 and a remainder never as 100 percent") {
  Page page = page_of(1);
  page.sections[0].errors = {.name = "census",
                             .columns = {"format", "count", "exact", "rounded", "subnormal", "to_zero", "overflow"},
                             .rows = {{"float16", std::int64_t{1} << 40, (std::int64_t{1} << 40) - 1, std::int64_t{0},
                                       std::int64_t{0}, std::int64_t{1}, std::int64_t{0}}}};

  const auto html = to_html(page);

  CHECK(holds(html, "<td class=\"loss b-zero w0\">&lt;0.0001"));
  CHECK(holds(html, "<td class=\"b-kept w24\">&gt;99.99"));
}

TEST_CASE("a tensor with nothing to draw is told, not drawn") {
  Page page = sample_page();
  auto& histogram = page.sections[0].histograms[0];
  histogram.counts.assign(histogram.counts.size(), 0);

  CHECK(holds(to_html(page), "There is no finite nonzero element to draw."));
}
