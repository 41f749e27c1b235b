// SPDX-License-Identifier: Apache-2.0
// Writes the sample page, to be looked at.   usage: reports_sample FILE [NUMBER-OF-TENSORS]
#include <cstdlib>

#include "files/new_file.hpp"
#include "reports/page_html.hpp"
#include "tests/reports/sample_page.hpp"

int main(int count, char** arguments) {
  if (count < 2) return 2;
  auto page = ulpscope::reports::sample_page();
  const auto wanted = count > 2 ? std::strtoul(arguments[2], nullptr, 10) : page.sections.size();
  while (page.sections.size() < wanted) page.sections.push_back(page.sections[page.sections.size() % 3]);
  ulpscope::files::write_file(arguments[1], ulpscope::reports::to_html(page));
}
