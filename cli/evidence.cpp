// SPDX-License-Identifier: Apache-2.0
// The command `evidence`: runs the four measurements and writes their report.
#include "verify/evidence/evidence.hpp"

#include <memory>
#include <optional>
#include <string_view>

#include "cli/command.hpp"
#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "emu/error.hpp"
#include "reports/page_html.hpp"

namespace ulpscope::cli {
namespace {

struct Words {
  CommonOptions common;
  std::string directory, lengths = "1:65536";
  verify::EvidenceConfig config;
};

void run(const Words& words, const Arguments& arguments) {
  verify::EvidenceConfig config = words.config;
  if (!(config.false_alarm > 0 && config.false_alarm < 1))
    throw Error("--false-alarm: a probability between 0 and 1, e.g. 0.01");
  config.lengths = studies::parse_lengths(words.lengths);
  config.seed = words.common.reading.seed;
  config.threads = words.common.threads;
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
  command.add_option("-o", words->directory, "the report: CSV files, index.html, figures, manifest.json")
      ->required()
      ->type_name("DIR");
  constexpr requests::WholeBounds counts{.most = 1'000'000'000};
  command.add_option("--products", words->config.products, "correct products to judge")->whole(counts)->capture_default_str();
  command.add_option("--plants", words->config.plants, "kernels with a planted cause, for explain to find")
      ->whole(counts)
      ->capture_default_str();
  command.add_option("--false-alarm", words->config.false_alarm, "stated for the probabilistic bound")
      ->real({0, 1})
      ->capture_default_str();
  command.add_option("--k", words->lengths, "lengths of sums whose errors are held against the bound")
      ->type_name("LO:HI")
      ->capture_default_str();
  command.add_option("--seed", words->common.reading.seed, "key of all operands")->whole()->capture_default_str();
  words->common.add_threads(command);
  command.footer("Example: ulpscope evidence --products 1000 --plants 10 --k 1:256 -o evidence");
  command.callback([words, &arguments] { run(*words, arguments); });
}

}  // namespace ulpscope::cli
