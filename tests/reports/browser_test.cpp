// SPDX-License-Identifier: Apache-2.0
// The page in a real browser, where one is installed.
#include <catch2/catch_test_macros.hpp>
#include <cstdlib>

#include "reports/directory.hpp"
#include "tests/reports/sample_page.hpp"
#include "tests/reports/temporary_directory.hpp"

using namespace ulpscope::reports;

namespace {

bool is_installed(const std::string& program) {
  return std::system(("command -v " + program + " > /dev/null 2>&1").c_str()) == 0;
}

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
  const int status = std::system(command.c_str());
  return {status, bytes_of(directory.file("dom")), bytes_of(directory.file("log"))};
}

}  // namespace

TEST_CASE("the page opens in Chromium with all its sentences and no console message") {
  if (!is_installed("chromium")) SKIP("chromium is not installed");
  const TemporaryDirectory directory;
  const auto page = sample_page();
  write_file(directory.file("index.html"), to_html(page));

  const auto loaded = load(directory, directory.file("index.html"));

  REQUIRE(loaded.status == 0);
  for (const auto& section : page.sections) {
    for (const auto& verdict : section.verdicts) CHECK(loaded.dom.find(verdict.text) != std::string::npos);
  }
  CHECK(loaded.log.find("CONSOLE") == std::string::npos);
}

TEST_CASE("a console message would be seen") {
  if (!is_installed("chromium")) SKIP("chromium is not installed");
  const TemporaryDirectory directory;
  auto html = to_html(sample_page());
  html.insert(html.find("</body>"), "<script>1</script>");
  write_file(directory.file("index.html"), html);

  CHECK(load(directory, directory.file("index.html")).log.find("CONSOLE") != std::string::npos);
}
