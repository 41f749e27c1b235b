// SPDX-License-Identifier: Apache-2.0
// The command `evidence`: runs the four measurements and writes their report.
#include <memory>
#include <optional>
#include <string_view>

#include "cli/command.hpp"
#include "cli/commands.hpp"
#include "cli/output.hpp"
#include "reports/page_html.hpp"
#include "verify/evidence/evidence_request.hpp"

namespace ulpscope::cli {
namespace {

struct Words {
  verify::EvidenceRequest request;
  std::string directory;
};

void run(const Words& words, const Arguments& arguments) {
  verify::EvidenceConfig config = verify::resolve_evidence(words.request);
  std::optional<ProgressLine> line;
  std::string_view present;
  config.progress = [&](std::string_view things, std::uint64_t done, std::uint64_t total) {
    if (things != present) line.emplace(std::string(present = things));
    line->show(done, total);
  };
  const verify::Evidence evidence = verify::gather(config);
  line.reset();
  std::vector<reports::Table> tables = verify::evidence_tables(evidence);
  tables.push_back(reports::findings_table(verify::evidence_findings(evidence)));
  reports::Page page = verify::evidence_page(evidence);
  page.command = command_line(arguments);
  reports::write_page_report(words.directory, tables, page, {arguments, config.seed, {}});
  remark_report(words.directory);
}

}  // namespace

void add_evidence(Command& app, const Arguments& arguments, int&) {
  auto words = std::make_shared<Words>();
  Command& command =
      *app.add_subcommand("evidence", "what the checks of verify are worth: false alarms, power, tight bounds, causes named");
  command.add_request(words->request);
  command.add_option("-o", words->directory, "the report: CSV files, index.html, figures, manifest.json")
      ->required()
      ->type_name("DIR");
  command.footer("Example: ulpscope evidence --products 1000 --plants 10 --k 1:256 -o evidence");
  command.callback([words, &arguments] { run(*words, arguments); });
}

}  // namespace ulpscope::cli
