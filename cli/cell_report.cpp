// SPDX-License-Identifier: Apache-2.0
// A study file's page of one cell.
#include "cli/cell_report.hpp"

#include <vector>

#include "cli/kept_parts.hpp"
#include "cli/output.hpp"
#include "reports/page_html.hpp"
#include "study_files/run.hpp"

namespace ulpscope::cli {

void write_cell_report(const CellReport& report, const studies::StudyResult& result, const Arguments& arguments) {
  const study_files::StudyOutput output{.name = report.name,
                                        .kind = report.kind,
                                        .request = report.request,
                                        .tables = result.tables,
                                        .findings = result.findings,
                                        .remarks = result.remarks,
                                        .outcome = result.outcome};
  const std::vector<std::string> made_by = undisturbed(arguments);
  reports::Page page = study_files::page_of(report.title, {output}, command_line(made_by));
  page.contents = reports::Page::Contents::none;
  std::vector<reports::Table> tables = result.tables;
  tables.push_back(reports::findings_table(result.findings));
  reports::write_page_report(report.directory, tables, page, {.arguments = made_by, .seed = report.seed});
  remark_report(report.directory);
}

}  // namespace ulpscope::cli
