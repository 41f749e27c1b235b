// SPDX-License-Identifier: Apache-2.0
#include "cli/options.hpp"

#include <algorithm>

#include "cli/rows.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"
#include "emu/suggestions.hpp"
#include "reports/selection.hpp"

namespace ulpscope::cli {
namespace {

Error unknown(const std::string& what, const std::string& word, const std::vector<std::string>& nearest) {
  return Error("unknown " + what + " '" + word + "'; nearest: " + emu::comma_separated(nearest));
}

Option add_seed(Command& command, std::uint64_t& seed, const std::string& help) {
  return command.add_option("--seed", seed, help)->whole()->capture_default_str();
}

}  // namespace

Option add_threads(Command& command, int& threads) {
  return command.add_option("--threads", threads, "threads; 0 uses all; results do not depend on it")
      ->whole({.most = 4096})
      ->capture_default_str();
}

void CommonOptions::add_formats(Command& command) {
  command.add_option("--to", formats, "formats, e.g. fp16,e4m3,e5m2 or custom eXmY[bN][ieee|fn|fnuz|finite]")
      ->comma_list()
      ->type_name("F,...")
      ->capture_default_str();
}

void CommonOptions::add_rounding(Command& command) {
  command.add_option("--rounding", rounding, "rounding mode")->type_name("R")->capture_default_str();
  command.add_option("--random-bits", random_bits, "random bits of stochastic rounding")->whole({1, 32})->capture_default_str();
  command.add_option("--policy", policy, "what overflow gives")
      ->type_name("nonsaturating|saturating")
      ->capture_default_str()
      ->each([this](const std::string&) { policy_given = true; });
  command.add_flag("--flush-subnormals", flush_subnormals, "subnormal results become zero");
  command.add_flag("--subnormals-are-zero", subnormals_are_zero, "subnormal inputs count as zero");
  if (command.get_option_no_throw("--seed") == nullptr)
    add_seed(command, seed, "key of stochastic rounding and of synthetic tensors");
}

void CommonOptions::add_input(Command& command) {
  command.add_option("--dtype", dtype, "what the codes of an .npy or .npz are")->type_name("F");
  if (command.get_option_no_throw("--seed") == nullptr) add_seed(command, seed, "key of synthetic tensors");
}

void CommonOptions::add_threads(Command& command) { cli::add_threads(command, threads); }

void CommonOptions::add_output(Command& command) {
  const auto t = command.add_flag("--text", text, "aligned text (the default on a terminal)");
  const auto c = command.add_flag("--csv", csv, "CSV (the default elsewhere)");
  const auto j = command.add_flag("--json", json, "JSON");
  t->excludes(c)->excludes(j);
  c->excludes(j);
  const auto add_words = [&](const char* name, std::vector<std::string>& words, const char* description) {
    return command.add_option(name, words, description)->repeatable();
  };
  add_words("--where", where, "only rows for which it holds, e.g. 'sqnr_db < 30' or 'format == bf16'; may be repeated")
      ->type_name("'COLUMN OP NUMBER'")
      ->each([](const std::string& words) { reports::parse_condition(words); });
  add_words("--sort", sort, "order of the rows, e.g. sqnr_db or to_zero%:desc; may be repeated")
      ->type_name("COLUMN[:desc]")
      ->each([](const std::string& words) { reports::parse_order(words); });
  command.add_option("--rows", rows, "at most N rows; 40 by default in text on a terminal or of many tensors, else all")
      ->type_name("N|all")
      ->each([](const std::string& word) { parse_rows(word); });
}

std::vector<emu::Format> CommonOptions::parsed_formats() const {
  std::vector<emu::Format> out;
  for (const std::string& word : formats) {
    const emu::Format format = parse_format(word);
    if (std::find(out.begin(), out.end(), format) == out.end()) out.push_back(format);
  }
  return out;
}

emu::RoundingOptions CommonOptions::parsed_rounding() const {
  const auto parsed = emu::parse_rounding(rounding);
  if (!parsed) throw unknown("rounding mode", rounding, emu::closest_roundings(rounding));
  const auto parsed_policy = emu::parse_policy(policy);
  if (!parsed_policy) throw unknown("policy", policy, emu::closest_words(policy, emu::policy_words()));
  emu::RoundingOptions options;
  options.rounding = *parsed;
  options.policy = *parsed_policy;
  options.flush_subnormals = flush_subnormals;
  options.subnormals_are_zero = subnormals_are_zero;
  options.random_bits = random_bits;
  return options;
}

tensors::OpenOptions CommonOptions::parsed_open() const {
  tensors::OpenOptions options;
  if (!dtype.empty()) options.dtype = parse_format(dtype);
  options.seed = seed;
  return options;
}

emu::Format parse_format(const std::string& word) {
  const auto format = emu::parse_format(word);
  if (!format) throw unknown("format", word, emu::closest_words(word, emu::format_words()));
  return *format;
}

}  // namespace ulpscope::cli
