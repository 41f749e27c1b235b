// SPDX-License-Identifier: Apache-2.0
// The command `evidence`: runs the four measurements, or asks public checks, and writes a report.
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "cli/command.hpp"
#include "cli/commands.hpp"
#include "cli/output.hpp"
#include "emu/error.hpp"
#include "reports/page_html.hpp"
#include "verify/evidence/evidence_request.hpp"

namespace ulpscope::cli {
namespace {

struct Words {
  verify::EvidenceRequest request;
  std::string directory;
  CommonOptions common;
};

void print_text(const std::vector<verify::PublicResult>& results, const CommonOptions& common) {
  std::string sentences = verify::public_sentence(results) + "\n";
  for (const reports::Finding& finding : verify::public_findings(results)) sentences += finding.sentence + "\n";
  print(sentences + "\n");
  CommonOptions all = common;
  all.where.clear(), all.sort.clear(), all.rows = "all";
  print(verify::public_mutants(results), all, 1);
  print("\n");
  print(verify::public_summary(results), common, 1);
}

void run_public(const Words& words, const Arguments& arguments) {
  verify::PublicConfig config = verify::resolve_public(words.request);
  std::vector<verify::PublicResult> results;
  {
    ProgressLine progress("checks");
    config.progress = progress.callback();
    results = verify::ask_public_checks(config);
  }
  std::vector<reports::Table> tables = verify::public_tables(results);
  if (words.directory.empty()) {
    if (rendering_of(words.common) == Rendering::text) return print_text(results, words.common);
    return print(tables.front(), words.common, 1);
  }
  const std::vector<verify::KernelVerdict> kernels = verify::judge_written_kernels(config.sample.seed, config.threads);
  std::vector<reports::Finding> findings = verify::public_findings(results);
  for (reports::Finding& finding : verify::kernels_findings(kernels)) findings.push_back(std::move(finding));
  tables.push_back(verify::kernels_table(kernels));
  tables.push_back(reports::findings_table(findings));
  reports::Page page = verify::public_page(results, kernels, config);
  page.command = command_line(arguments);
  reports::write_page_report(words.directory, tables, page, {arguments, config.sample.seed, {}});
  remark_report(words.directory);
}

void run(const Words& words, const Arguments& arguments) {
  if (words.request.public_checks) return run_public(words, arguments);
  if (words.directory.empty())
    throw Error("evidence: give -o DIR, where the report is to lie; --public alone prints a table, too");
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
  command.add_written("-o", words->directory, "the report: CSV files, index.html, figures, manifest.json", "DIR");
  words->common.add_output(command);
  command.footer("Example: ulpscope evidence --products 1000 --plants 10 --k 1:256 -o evidence");
  command.callback([words, &arguments] { run(*words, arguments); });
}

}  // namespace ulpscope::cli
