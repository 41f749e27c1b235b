// SPDX-License-Identifier: Apache-2.0
// The command `engines`: every field of an engine as words of a table.
#include "emu/engines.hpp"

#include <algorithm>
#include <memory>

#include "cli/command.hpp"
#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"
#include "emu/split_product.hpp"
#include "emu/suggestions.hpp"
#include "studies/probe/probe_variants.hpp"
#include "studies/probe/sentences.hpp"

namespace ulpscope::cli {
namespace {

struct Engines {
  CommonOptions common;
  std::vector<std::string> names;
};

std::string operands(const emu::EngineMode& mode) {
  std::string words;
  for (const emu::Format format : mode.inputs) words += (words.empty() ? "" : "|") + emu::format_name(format);
  return words.empty() ? "any" : words;
}

/// A word for each aligned stage, with c's own where it has some: `24/31+24` is 24 bits, then 31 for the sums and 24 for c.
std::string fraction_bits(const emu::Engine& engine) {
  std::string words;
  for (int i = 0; i < engine.stage_count; ++i) {
    const emu::Stage& stage = engine.stages[static_cast<std::size_t>(i)];
    if (stage.summing != emu::Summing::aligned) continue;
    words += (words.empty() ? "" : "/") + std::to_string(stage.fraction_bits);
    if (stage.addend_fraction_bits >= 0) words += "+" + std::to_string(stage.addend_fraction_bits);
  }
  return words;
}

/// What `word` says of each stage for which it says something.
template <class Word>
std::string of_stages(const emu::Engine& engine, Word word) {
  std::string words;
  for (int i = 0; i < engine.stage_count; ++i) {
    const std::string one(word(engine.stages[static_cast<std::size_t>(i)]));
    if (!one.empty()) words += (words.empty() ? "" : "/") + one;
  }
  return words;
}

std::string cut(const emu::Stage& stage) {
  if (stage.summing != emu::Summing::aligned) return "";
  return stage.cut == emu::Cut::downward ? "downward" : "toward_zero";
}

std::string rounding(const emu::Stage& stage) { return stage.rounded ? std::string(name_of(stage.rounding)) : ""; }

std::string subnormals(const emu::Engine& engine) {
  const bool inputs = engine.subnormal_inputs_are_zero, c = engine.subnormal_addend_is_zero;
  const bool results = engine.subnormal_results_are_zero;
  if (inputs && c && results) return "zero";
  if (!inputs && !c && !results) return "kept";
  std::string words;
  for (const auto& [zero, what] : {std::pair(inputs, "a and b"), std::pair(c, "c"), std::pair(results, "results")})
    if (zero) words += (words.empty() ? "" : ", ") + std::string(what);
  return words + " zero";
}

std::string scales(const emu::EngineMode& mode) {
  const emu::Engine& engine = mode.model;
  if (const auto greatest = emu::greatest_lscale(mode))
    return "2^-lscale of products, lscale 0 to " + std::to_string(*greatest);
  if (engine.scales == emu::EngineScales::none) return "none";
  const std::string of = engine.scales == emu::EngineScales::products ? " of products" : " of group sums";
  return emu::format_name(mode.scale_format) + ":" + std::to_string(engine.scale_products) + of;
}

std::string nan_code(const emu::EngineMode& mode) {
  const emu::Engine& engine = mode.model;
  if (!emu::knows_nan_code(mode.engine)) return "unknown";
  const std::string code = studies::hexadecimal(engine.nan_code, static_cast<std::size_t>(engine.accumulator.bits()) / 4);
  return engine.nan_result == emu::NanResult::canonical ? code : "the operand's, or " + code;
}

/// How much of what kind of data stands behind the evidence.
std::string data(const emu::EngineMode& mode) {
  switch (mode.evidence) {
    case emu::Evidence::recordings: {
      const auto gpus = static_cast<std::size_t>(std::count(mode.source.begin(), mode.source.end(), ' ')) + 1;
      return std::to_string(gpus * mode.inputs.size() * emu::recorded_inner_products) + " inner products near N(0,1)";
    }
    case emu::Evidence::live: return "adversarial inner products, where the tests run";
    case emu::Evidence::device:
      return std::to_string(emu::inner_products_on_devices) + " adversarial inner products of each instruction";
    case emu::Evidence::emulator: return "adversarial inner products on an emulator of the processor";
    default: return "none";
  }
}

std::vector<reports::Cell> row_of(const emu::EngineMode& mode) {
  const emu::Engine& engine = mode.model;
  const bool all_bits = engine.result_fraction_bits < 0;
  const bool no_least = engine.least_exponent == emu::Engine::no_least_exponent;
  return {std::string(mode.engine),
          operands(mode),
          std::string(mode.mixed ? "true" : "false"),
          emu::format_name(engine.accumulator),
          engine.products == emu::Stage::all ? reports::Cell("all") : reports::Cell(std::int64_t{engine.products}),
          studies::order_words(engine),
          fraction_bits(engine),
          of_stages(engine, cut),
          of_stages(engine, rounding),
          std::int64_t{all_bits ? engine.accumulator.fraction_bits : engine.result_fraction_bits},
          no_least ? reports::Cell("none") : reports::Cell(std::int64_t{engine.least_exponent}),
          subnormals(engine),
          scales(mode),
          std::string(mode.instruction),
          std::string(name_of(mode.evidence)),
          std::string(mode.source),
          data(mode),
          nan_code(mode)};
}

/// A unit without a model: what is documented, and nothing of what is not.
std::vector<reports::Cell> row_of(const emu::UnknownEngine& unit) {
  const std::string none;
  std::vector<reports::Cell> row{std::string(unit.engine), std::string(unit.operands), none, std::string(unit.accumulator)};
  row.insert(row.end(), 9, none);  // products to scales
  row.insert(row.end(), {std::string(unit.instruction), std::string("unknown"), std::string(unit.source), std::string("none"),
                         std::string("unknown")});
  return row;
}

/// A split product, and the name that its words begin with.
struct SplitRow {
  std::string engine;
  const emu::SplitEntry& entry;
};
std::vector<reports::Cell> row_of(const SplitRow& split) {
  const std::string none;
  std::vector<reports::Cell> row{
      split.engine, std::string(split.entry.operands), std::string("true"), std::string(split.entry.accumulator),
      none,         std::string(split.entry.computes)};
  row.insert(row.end(), 8, none);  // fraction_bits to instruction
  row.insert(row.end(),
             {std::string(name_of(emu::Evidence::published)), std::string(split.entry.source), std::string("none"), none});
  return row;
}

void check_known(const std::string& word) {
  if (emu::is_split(word) && emu::engine_name(word) == word) return;
  const auto names = emu::engine_names();
  if (std::find(names.begin(), names.end(), word) != names.end() || emu::find_unknown(word) != nullptr) return;
  if (word.starts_with("block:"))
    throw Error("engine " + word + ": is what its words say; these are the engines that have a name");
  const std::string nearest = emu::comma_separated(emu::closest_engines(word));
  throw Error("unknown engine '" + word + "'; nearest: " + nearest);
}

void run(const Engines& engines) {
  for (const std::string& name : engines.names) check_known(name);
  reports::Table table{"engines",
                       {"engine", "operands", "mixed", "accumulator", "products", "summation", "fraction_bits", "cut",
                        "rounding", "result_fraction_bits", "least_exponent", "subnormals", "scales", "instruction", "evidence",
                        "source", "data", "nan_code"},
                       {}};
  const auto add = [&](const auto& row) {
    const bool wanted =
        engines.names.empty() || std::find(engines.names.begin(), engines.names.end(), row.engine) != engines.names.end();
    if (wanted) table.rows.push_back(row_of(row));
  };
  for (const emu::EngineMode& mode : emu::engine_modes()) add(mode);
  for (const emu::SplitEntry& entry : emu::split_entries()) add(SplitRow{std::string(emu::engine_name(entry.words)), entry});
  for (const emu::UnknownEngine& unit : emu::unknown_engines()) add(unit);
  print(table, engines.common, 4);
}

}  // namespace

void add_engines(Command& app, int&) {
  auto engines = std::make_shared<Engines>();
  Command& command = *app.add_subcommand("engines", "the matrix engines, their parameters, and the evidence for each");
  command.add_option("ENGINE", engines->names, "engines to show; all by default");
  engines->common.add_output(command);
  command.footer("Example: ulpscope engines sm_90 cdna3");
  command.callback([engines] { run(*engines); });
}

}  // namespace ulpscope::cli
