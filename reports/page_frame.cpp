// SPDX-License-Identifier: Apache-2.0
// Head, footer and content security policy.
#include "reports/page_frame.hpp"

#include <fmt/format.h>

#include "reports/build_info.hpp"
#include "reports/escape.hpp"
#include "reports/page_script.hpp"
#include "reports/page_style.hpp"

namespace ulpscope::reports {
namespace {

std::string head(const std::string& title) {
  // The policy makes browsers enforce that the page loads nothing, and runs nothing but its own script.
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; script-src {}\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"generator\" content=\"ulpscope {}\">\n<title>{}</title>\n<style>{}</style>\n</head>\n",
      page_script_source(), version(), html_escaped(title), style_sheet());
}

std::string footer(const std::string& command) {
  std::string html = "<footer>\n";
  if (!command.empty()) {
    html += "<p>Reproduce with:</p>\n<pre><code>" + html_escaped(command) + "</code></pre>\n";
  }
  return html + "<p>Made by ulpscope " + html_escaped(version()) +
         ". All columns of the tables are in the CSV files of the same report, its provenance in "
         "manifest.json.</p>\n</footer>\n";
}

}  // namespace

std::string page_frame(const std::string& title, const std::string& settings, const std::string& main,
                       const std::string& command) {
  std::string html = head(title) + "<body>\n<header>\n<h1>" + html_escaped(title) + "</h1>\n";
  if (!settings.empty()) html += "<p>" + html_escaped(settings) + "</p>\n";
  return html + "</header>\n<main>\n" + main + "</main>\n" + footer(command) + "<script>" + page_script() +
         "</script>\n</body>\n</html>\n";
}

}  // namespace ulpscope::reports
