// SPDX-License-Identifier: Apache-2.0
// The page in a real browser, where one is installed.
#include <catch2/catch_test_macros.hpp>

#include "files/new_file.hpp"
#include "reports/page_html.hpp"
#include "tests/reports/sample_page.hpp"
#include "tests/reports/shell.hpp"
#include "tests/reports/temporary_directory.hpp"

using namespace ulpscope::reports;

namespace {

bool is_installed(const std::string& program) { return exit_code_of("command -v " + program + " > /dev/null 2>&1") == 0; }

struct Loaded {
  int status = 0;
  std::string dom;
  std::string log;
};

Loaded load(const TemporaryDirectory& directory, const std::string& file) {
  const auto command =
      "timeout 100 chromium --headless --no-sandbox --disable-gpu --disable-background-networking "
      "--enable-logging=stderr --user-data-dir=" +
      directory.file("profile") + " --dump-dom file://" + file + " > " + directory.file("dom") + " 2> " + directory.file("log");
  const int status = exit_code_of(command);
  return {status, bytes_of(directory.file("dom")), bytes_of(directory.file("log"))};
}

}  // namespace

TEST_CASE("the page opens in Chromium with all its sentences and no console message") {
  if (!is_installed("chromium")) SKIP("chromium is not installed");
  const TemporaryDirectory directory;
  const auto page = sample_page();
  ulpscope::files::write_file(directory.file("index.html"), to_html(page));

  const auto loaded = load(directory, directory.file("index.html"));

  REQUIRE(loaded.status == 0);
  for (const auto& section : page.sections) {
    for (const auto& finding : std::get<FindingList>(section.blocks[1]).findings)
      CHECK(loaded.dom.find(finding.sentence) != std::string::npos);
  }
  CHECK(loaded.log.find("CONSOLE") == std::string::npos);
}

TEST_CASE("the page's script is the one that its policy allows: it runs in Chromium") {
  if (!is_installed("chromium")) SKIP("chromium is not installed");
  const TemporaryDirectory directory;
  Page page = sample_page();
  Table table{.name = "t", .columns = {"x"}, .rows = {}};
  for (std::int64_t i = 0; i < 20; ++i) table.rows.push_back({i});
  page.blocks.emplace_back(table);
  ulpscope::files::write_file(directory.file("index.html"), to_html(page));

  const auto loaded = load(directory, directory.file("index.html"));

  CHECK(loaded.dom.find("type=\"search\"") != std::string::npos);
  CHECK(loaded.dom.find("class=\"sorts\"") != std::string::npos);
  CHECK(loaded.log.find("CONSOLE") == std::string::npos);
}

TEST_CASE("a click on a column's head sorts its rows by value, and words in the filter hide rows") {
  if (!is_installed("chromium")) SKIP("chromium is not installed");
  const TemporaryDirectory directory;
  Table table{.name = "t", .columns = {"name", "x"}, .rows = {}};
  for (int i = 0; i < 20; ++i) table.rows.push_back({"row-" + std::to_string(i), (i * 7 % 20) * 0.5});
  auto html = to_html({.title = "t", .settings = "", .command = "", .blocks = {table}, .sections = {}});
  // Without the policy, so that a second script may play the reader.
  const auto policy = html.find("<meta http-equiv");
  html.erase(policy, html.find('\n', policy) - policy);
  html.insert(html.find("</body>"), R"(<script>
    document.querySelectorAll("th")[1].click();
    document.querySelectorAll("th")[1].click();
    const box = document.querySelector("input");
    box.value = "ROW-1";
    box.dispatchEvent(new Event("input"));
    const rows = [...document.querySelectorAll("tbody tr")];
    document.title = rows.filter(r => !r.hidden).map(r => r.cells[1].textContent).join(" ");
    </script>)");
  ulpscope::files::write_file(directory.file("index.html"), html);

  const auto loaded = load(directory, directory.file("index.html"));

  // Rows 1 and 10 to 19 hold 3.5 and 5, 8.5, 2, 5.5, 9, 2.5, 6, 9.5, 3, 6.5.
  CHECK(loaded.dom.find("<title>9.5 9 8.5 6.5 6 5.5 5 3.5 3 2.5 2</title>") != std::string::npos);
}

TEST_CASE("a console message would be seen") {
  if (!is_installed("chromium")) SKIP("chromium is not installed");
  const TemporaryDirectory directory;
  auto html = to_html(sample_page());
  html.insert(html.find("</body>"), "<script>1</script>");
  ulpscope::files::write_file(directory.file("index.html"), html);

  CHECK(load(directory, directory.file("index.html")).log.find("CONSOLE") != std::string::npos);
}
