// SPDX-License-Identifier: Apache-2.0
// The sentences of an audit as paragraphs, its tables as tables.
#include "verify/audit/audit_page.hpp"

#include <sstream>

#include "verify/audit/audit_text.hpp"

namespace ulpscope::verify {

reports::Page audit_page(const std::string& heading, const AuditResult& result) {
  reports::Prose sentences;
  std::istringstream lines(audit_sentences(result));
  for (std::string line; std::getline(lines, line);)
    if (!line.empty()) sentences.paragraphs.push_back(line);
  reports::Page page{.title = "Can these checks fail?", .settings = {}, .command = {}, .blocks = {}, .sections = {}};
  page.blocks = {reports::Code{heading.substr(0, heading.find_last_not_of('\n') + 1)}, sentences, audit_summary(result)};
  page.sections = {
      {.id = "outputs", .title = "All outputs", .fold = reports::Section::Fold::closed, .blocks = {audit_table(result)}}};
  return page;
}

}  // namespace ulpscope::verify
