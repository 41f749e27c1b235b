// SPDX-License-Identifier: Apache-2.0
// The command `evidence`: runs the four measurements and writes their report.
#include <algorithm>
#include <memory>

#include "cli/command.hpp"
#include "cli/commands.hpp"
#include "cli/evidence_page.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "emu/bulk.hpp"
#include "emu/engines.hpp"
#include "emu/error.hpp"
#include "emu/exact_matmul.hpp"
#include "reports/directory.hpp"
#include "verify/audit/audit.hpp"
#include "verify/explain/explain_plants.hpp"

namespace ulpscope::cli {
namespace {

struct Words {
  CommonOptions common;
  std::string directory;
  std::size_t products = 100000;
  std::size_t plants = 1000;
  double false_alarm = 0.01;
  std::string lengths = "1:65536";
};

/// Every engine in every format that the exact product is fast for, and what the accumulation study adds to them.
std::vector<studies::Accumulation> all_accumulations() {
  constexpr int most_precision = emu::ExactMatrix::most_precision;
  std::vector<studies::Accumulation> all;
  for (const emu::EngineMode& mode : emu::engine_modes()) {
    if (mode.model.scales != emu::EngineScales::none || !emu::fits_float(mode.model.accumulator)) continue;
    for (const emu::Format in : mode.inputs)
      if (in.precision() <= most_precision)
        all.push_back(studies::find_accumulation(mode.engine, in, mode.model.accumulator, 0));
  }
  for (const studies::Accumulation& more : studies::standard_accumulations())
    if (std::find(all.begin(), all.end(), more) == all.end()) all.push_back(more);
  return all;
}

void run(const Words& words, const Arguments& arguments) {
  if (!(words.false_alarm > 0 && words.false_alarm < 1)) throw Error("--false-alarm: a probability between 0 and 1, e.g. 0.01");
  Evidence evidence;
  {
    ProgressLine progress;
    evidence.false_alarms = {.trials = words.products,
                             .false_alarm = words.false_alarm,
                             .seed = words.common.reading.seed,
                             .threads = words.common.threads,
                             .progress = progress.callback()};
    evidence.alarms = verify::false_alarms(evidence.false_alarms);
  }
  {
    ProgressLine progress;
    verify::TightnessConfig config;
    config.lengths = studies::parse_lengths(words.lengths);
    config.accumulations = all_accumulations();
    config.distributions.insert(config.distributions.end(), {"normal:0,1e-6", "cancelling"});
    config.shape = {8, 8};
    config.seed = words.common.reading.seed;
    config.threads = words.common.threads;
    config.progress = progress.callback();
    evidence.tightness = verify::tightness(config);
  }
  std::vector<verify::Rule> rules;
  for (const char* const rule : {"bound", "assert_close", "calc_diff:1e-3", "cosine:0.999", "sqnr:25", "matched_ratio"})
    rules.push_back(verify::parse_rule(rule));
  evidence.power = verify::power_table(rules, words.common.reading.seed, words.common.threads);
  evidence.plants = verify::explain_plants_table(words.plants, words.common.reading.seed);
  reports::write_report(words.directory, evidence_tables(evidence), evidence_page(evidence, arguments),
                        {arguments, words.common.reading.seed, {}});
  remark_report(words.directory);
}

}  // namespace

void add_evidence(Command& app, const Arguments& arguments, int&) {
  auto words = std::make_shared<Words>();
  Command& command =
      *app.add_subcommand("evidence", "what the checks of verify are worth: false alarms, power, tight bounds, causes named");
  command.add_option("-o", words->directory, "the report: CSV files, index.html, manifest.json")->required()->type_name("DIR");
  constexpr requests::WholeBounds counts{.most = 1'000'000'000};
  command.add_option("--products", words->products, "correct products to judge")->whole(counts)->capture_default_str();
  command.add_option("--plants", words->plants, "kernels with a planted cause, for explain to find")
      ->whole(counts)
      ->capture_default_str();
  command.add_option("--false-alarm", words->false_alarm, "stated for the probabilistic bound")
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
