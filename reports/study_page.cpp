// SPDX-License-Identifier: Apache-2.0
// Sentences, a figure and a table in the common frame.
#include "reports/study_page.hpp"

#include "reports/error_table.hpp"
#include "reports/escape.hpp"
#include "reports/page_frame.hpp"

namespace ulpscope::reports {
namespace {

std::string figure_html(const StudyPage& page) {
  if (page.figure.commands.empty()) return {};
  const Drawings drawings = draw({page.figure});
  const std::string drawing = drawings.problem.empty()
                                  ? "<div class=\"scroll\">" + drawings.svgs.front() + "</div>\n"
                                  : "<p class=\"note\">This figure is missing: " + html_escaped(drawings.problem) + "</p>\n";
  return "<figure>\n<figcaption><strong>" + html_escaped(page.figure_title) + "</strong> " + html_escaped(page.figure_caption) +
         "</figcaption>\n" + drawing + "</figure>\n";
}

}  // namespace

std::string to_html(const StudyPage& page) {
  std::string main = "<ul class=\"seen\">\n";
  for (const std::string& sentence : page.sentences) main += "<li>" + html_escaped(sentence) + "</li>\n";
  main += "</ul>\n" + figure_html(page) + error_table(page.table);
  return page_frame(page.title, page.settings, main, page.command);
}

}  // namespace ulpscope::reports
