// SPDX-License-Identifier: Apache-2.0
#include "studies/accumulation.hpp"

#include <algorithm>
#include <memory>

#include "cli/accumulation_page.hpp"
#include "cli/command.hpp"
#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/rows.hpp"
#include "emu/catalogue.hpp"
#include "emu/engines.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"
#include "reports/directory.hpp"

namespace ulpscope::cli {
namespace {

using studies::Accumulation;

struct Words {
  CommonOptions common;
  std::vector<std::string> engines, in, acc{"float32"}, distributions;
  std::vector<std::size_t> promote{0};
  std::string lengths = "64:65536", shape = "32x32", directory;
  bool names_settings = false;  ///< --acc or --promote were given
};

std::vector<emu::Format> parsed(const std::vector<std::string>& words) {
  std::vector<emu::Format> out;
  for (const std::string& word : words) out.push_back(parse_format(word));
  return out;
}

/// The formats of the standard study that an engine takes, where none are asked for.
std::vector<emu::Format> formats_of(const std::string& engine, emu::Format acc) {
  std::vector<emu::Format> out;
  for (const emu::Format in : {emu::e4m3, emu::e5m2, emu::float16, emu::bfloat16, emu::tf32})
    for (const emu::EngineMode& mode : emu::engine_modes())
      if (mode.engine == engine && mode.model.accumulator == acc && mode.model.scales == emu::EngineScales::none &&
          (mode.inputs.empty() || std::find(mode.inputs.begin(), mode.inputs.end(), in) != mode.inputs.end())) {
        out.push_back(in);
        break;
      }
  if (out.empty()) out.push_back(emu::float16);  // of an engine of one's own; to any other that is a bad request
  return out;
}

/// Every engine with every format, accumulator and promotion asked for; without an engine, those of the standard study.
std::vector<Accumulation> accumulations_of(const Words& words) {
  const std::vector<emu::Format> in = parsed(words.in), acc = parsed(words.acc);
  std::vector<Accumulation> out;
  if (words.engines.empty()) {
    if (words.names_settings)
      throw Error("--acc and --promote need an --engine, e.g. --engine sm_90 --in e4m3 --promote 0,128");
    for (const Accumulation& standard : studies::standard_accumulations())
      if (in.empty() || std::find(in.begin(), in.end(), standard.in) != in.end()) out.push_back(standard);
    if (out.empty())
      throw Error("--in " + emu::format_name(in.front()) +
                  ": no engine of the standard study multiplies it; name one with --engine");
    return out;
  }
  for (const std::string& engine : words.engines)
    for (const emu::Format a : acc)
      for (const emu::Format f : in.empty() ? formats_of(engine, a) : in)
        for (const std::size_t promote : words.promote) out.push_back(studies::find_accumulation(engine, f, a, promote));
  return out;
}

void run(const Words& words, const Arguments& arguments) {
  studies::AccumulationConfig config;
  config.accumulations = accumulations_of(words);
  config.lengths = studies::parse_lengths(words.lengths);
  config.shape = studies::parse_output_shape(words.shape);
  if (!words.distributions.empty()) config.distributions = words.distributions;
  config.seed = words.common.seed;
  config.threads = words.common.threads;
  if (!words.directory.empty()) refuse_choice(words.common, words.directory);
  ProgressLine progress;
  config.progress = progress.callback();
  const auto rows = studies::accumulate(config);
  const reports::Table table = studies::accumulation_table(rows);
  if (words.directory.empty()) return print(table, words.common, 7);
  reports::write_report(words.directory, {table}, accumulation_page(rows, config, arguments), {arguments, config.seed, {}});
  remark(words.directory + "/index.html written");
}

}  // namespace

void add_accumulation(Command& app, const Arguments& arguments, int&) {
  auto words = std::make_shared<Words>();
  Command& command = *app.add_subcommand(
      "accumulation", "errors of matrix products by engine, input format, length of the sums and distribution");
  command.add_option("--engine", words->engines, "engines, e.g. sm_90 fma block:n=16,f=25,out=rz; default: the standard study")
      ->type_name("E...");
  command.add_option("--in", words->in, "formats of the operands; default: those of the standard study")
      ->delimiter(',')
      ->type_name("F,...");
  const auto names_setting = [words](const std::string&) { words->names_settings = true; };
  command.add_option("--acc", words->acc, "accumulators: float32, float16")
      ->delimiter(',')
      ->type_name("F,...")
      ->capture_default_str()
      ->each(names_setting);
  command.add_option("--promote", words->promote, "add to a float32 sum after every N products; 0: never")
      ->whole({.most = most_elements})
      ->delimiter(',')
      ->type_name("N,...")
      ->capture_default_str()
      ->each(names_setting);
  command.add_option("--k", words->lengths, "lengths of the sums: one, or LO, 2 LO, 4 LO, ... HI")
      ->type_name("LO:HI")
      ->capture_default_str();
  command
      .add_option("--distribution", words->distributions,
                  "of the operands; default: normal:0,1 studentt:3 uniform:0,1 lognormal:0,1")
      ->type_name("DISTRIBUTION...");
  command.add_option("--shape", words->shape, "outputs of each product")->type_name("MxN")->capture_default_str();
  command.add_option("--seed", words->common.seed, "key of the operands: A is drawn under it, B under the next")
      ->whole()
      ->capture_default_str();
  words->common.add_threads(command);
  words->common.add_output(command);
  command.add_option("-o", words->directory, "write a report: accumulation.csv, index.html, manifest.json")->type_name("DIR");
  command.footer("Example: ulpscope accumulation --engine sm_90 --in e4m3 --promote 0,128 --k 4096 --text");
  command.callback([words, &arguments] { run(*words, arguments); });
}

}  // namespace ulpscope::cli
