// SPDX-License-Identifier: Apache-2.0
// The files of the report of a run.
#include "study_files/report.hpp"

#include <filesystem>

#include "reports/directory.hpp"
#include "reports/page_html.hpp"
#include "requests/built_in_file.hpp"
#include "requests/command_line.hpp"

namespace ulpscope::study_files {

void write_report(const std::string& directory, const std::vector<StudyOutput>& outputs, const ReportSource& source) {
  std::vector<reports::Table> tables;
  for (const StudyOutput& output : outputs) tables.insert(tables.end(), output.tables.begin(), output.tables.end());
  tables.push_back(reports::findings_table(findings_of(outputs)));
  const std::string title = std::filesystem::path(source.study).stem().string();
  reports::Page page = page_of(title, outputs, requests::command_line(source.arguments));
  page.settings = requests::leading_comment(source.text);
  reports::write_page_report(directory, tables, page, {.arguments = source.arguments, .texts = {{"study.toml", source.text}}});
}

}  // namespace ulpscope::study_files
