// SPDX-License-Identifier: Apache-2.0
// The command `accumulation`.
#include <memory>

#include "cli/command.hpp"
#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/rows.hpp"
#include "reports/page_html.hpp"
#include "studies/accumulation/accumulation_page.hpp"
#include "studies/accumulation/accumulation_request.hpp"

namespace ulpscope::cli {
namespace {

struct Words {
  studies::AccumulationRequest request;
  CommonOptions common;
  std::string directory;
};

void run(const Words& words, const Arguments& arguments) {
  studies::AccumulationConfig config = studies::resolve(words.request);
  if (!words.directory.empty()) refuse_choice(words.common, "-o " + words.directory + ": a report holds");
  ProgressLine progress;
  config.progress = progress.callback();
  const auto rows = studies::accumulate(config);
  const reports::Table table = studies::accumulation_table(rows);
  if (words.directory.empty()) return print(table, words.common, 7);
  reports::Page page = studies::accumulation_page(rows, config);
  page.command = command_line(arguments);
  const reports::Table findings = reports::findings_table(studies::accumulation_findings(rows, config));
  reports::write_page_report(words.directory, {table, findings}, page, {arguments, config.seed, {}});
  remark_report(words.directory);
}

}  // namespace

void add_accumulation(Command& app, const Arguments& arguments, int&) {
  auto words = std::make_shared<Words>();
  Command& command = *app.add_subcommand(
      "accumulation", "errors of matrix products by engine, input format, length of the sums and distribution");
  command.add_request(words->request);
  words->common.add_output(command);
  command.add_written("-o", words->directory,
                      "write a report: accumulation.csv, findings.csv, index.html, figures, manifest.json", "DIR");
  command.footer("Example: ulpscope accumulation --engine sm_90 --in e4m3 --promote 0,128 --k 4096 --text");
  command.callback([words, &arguments] { run(*words, arguments); });
}

}  // namespace ulpscope::cli
