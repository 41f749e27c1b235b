// SPDX-License-Identifier: Apache-2.0
#include "verify/explain/explain.hpp"

#include <algorithm>
#include <map>
#include <memory>

#include "cli/command.hpp"
#include "cli/commands.hpp"
#include "cli/matmul_words.hpp"
#include "cli/output.hpp"
#include "cli/rows.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"
#include "reports/render.hpp"

namespace ulpscope::cli {
namespace {

struct Explain {
  MatmulWords words;
  std::string kernel_output;
  double at_least = 0.999;
};

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ",") + word;
  return text;
}

/// The options of `ulpscope matmul` that compute what is claimed.
std::map<std::string, std::string> claimed_options(const MatmulWords& w, const studies::MatmulConfig& config) {
  std::map<std::string, std::string> options{
      {"--engine", config.engines.front()}, {"--acc", emu::format_name(config.acc)}, {"--out", emu::format_name(config.out)}};
  const auto add = [&](const char* option, const std::string& value) {
    if (!value.empty()) options[option] = value;
  };
  add("--in", joined(w.in));
  add("--dtype", joined(w.dtypes));
  add("--scale-dtype", w.scale_dtype);
  add("--policy", w.common.policy == "nonsaturating" ? "" : w.common.policy);
  add("--rounding", w.common.rounding == "nearest_even" ? "" : w.common.rounding);
  if (w.alpha != 1) add("--alpha", reports::shortest(w.alpha));
  if (w.beta) add("--beta", reports::shortest(*w.beta));
  if (w.promote != 0) add("--promote", std::to_string(w.promote));
  if (w.split_k != 1) add("--split-k", std::to_string(w.split_k));
  std::string seeds;
  for (const std::uint64_t seed : w.seeds) seeds += (seeds.empty() ? "" : ",") + std::to_string(seed);
  if (seeds != "0") add("--seed", seeds);
  if (w.transpose_a) options["--transpose-a"] = "";
  if (w.transpose_b) options["--transpose-b"] = "";
  if (w.common.flush_subnormals) options["--flush-subnormals"] = "";
  if (w.common.subnormals_are_zero) options["--subnormals-are-zero"] = "";
  return options;
}

/// The command that computes a hypothesis; empty where its parts do not fit its engine.
std::string command_of(const MatmulWords& words, const verify::Claim& claim, const verify::Hypothesis& hypothesis) {
  const verify::Kernel kernel = hypothesis.kernel(claim.kernel);
  const std::size_t step =
      kernel.chain.engine ? static_cast<std::size_t>(std::max(kernel.chain.engine->products, 1)) : std::size_t{1};
  if (kernel.parts.promote % step != 0) return {};
  auto options = claimed_options(words, claim.config);
  for (const verify::Cause& cause : hypothesis.causes)
    for (const auto& [option, value] : cause.options) options[option] = value;
  std::vector<std::string> arguments{"matmul", words.a, words.b};
  if (!words.c.empty()) arguments.push_back(words.c);
  for (const auto& [option, value] : options) {
    arguments.push_back(option);
    if (!value.empty()) arguments.push_back(value);
  }
  for (const std::string& scale : words.scale_a) arguments.insert(arguments.end(), {"--scale-a", scale});
  for (const std::string& scale : words.scale_b) arguments.insert(arguments.end(), {"--scale-b", scale});
  arguments.insert(arguments.end(), {"-o", "replayed.npy"});
  return command_line(arguments);
}

tensors::Tensor open_output(const Explain& explain) {
  const MatmulWords& words = explain.words;
  tensors::OpenOptions options;
  if (!words.out.empty())
    options.dtype = parse_format(words.out);
  else if (!words.dtypes.empty())
    options.dtype = parse_format(words.dtypes.front());
  return tensors::open_one(explain.kernel_output, options);
}

/// The table without the sentences, which are those of the verdict, and the commands, which are long.
reports::Table text_table(const reports::Table& all) {
  reports::Table table{all.name, {}, std::vector<std::vector<reports::Cell>>(all.rows.size())};
  for (std::size_t column = 0; column < all.columns.size(); ++column) {
    const std::string& name = all.columns[column];
    if (name == "command" || name == "count" || name == "wrong") continue;
    table.columns.push_back(name);
    for (std::size_t row = 0; row < all.rows.size(); ++row) table.rows[row].push_back(all.rows[row][column]);
  }
  return table;
}

void print_text(const Explain& explain, const verify::ExplainResult& result, const reports::Table& table) {
  std::string text = explain.kernel_output + ": " + verify::verdict_sentence(result) + ".\n";
  for (const std::string& line : verify::remarks(result)) text += line + ".\n";
  print(text + "\n");
  print_chosen(text_table(chosen(table, explain.words.common)), explain.words.common, 1);
  std::string commands;
  for (const auto& row : table.rows)
    if (const auto& command = std::get<std::string>(row.back()); &row != &table.rows.front() && !command.empty())
      commands += "  " + command + "\n";
  if (!commands.empty()) print("\nThe same by command:\n" + commands);
}

int exit_code_of(verify::Verdict verdict) {
  switch (verdict) {
    case verify::Verdict::holds: return done;
    case verify::Verdict::vacuous: return vacuous;
    default: return check_failed;
  }
}

int run(Explain& explain) {
  MatmulWords& words = explain.words;
  if (words.engines.empty()) words.engines = {"fma"};
  if (words.engines.size() != 1) throw Error("--engine: explain has one claim; give --engine once");
  if (!(explain.at_least > 0 && explain.at_least <= 1))
    throw Error("--at-least: is a share of the elements, above 0 and up to 1");
  words.against = {"none"};
  const tensors::Tensor d = open_output(explain);
  verify::ExplainConfig config{parse_matmul(words), d, explain.at_least};
  if (words.out.empty() && d.dtype.format && d.dtype.format != emu::float64) config.product.out = *d.dtype.format;
  const verify::ExplainResult result = verify::explain(config);
  const reports::Table table = verify::explain_table(
      result, [&](const verify::Hypothesis& hypothesis) { return command_of(words, result.claim, hypothesis); });
  if (rendering_of(words.common) == Rendering::text) {
    print_text(explain, result, table);
  } else {
    remark(explain.kernel_output + ": " + verify::verdict_sentence(result));
    for (const std::string& line : verify::remarks(result)) remark(line);
    print(table, words.common, 1);
  }
  return exit_code_of(result.verdict);
}

}  // namespace

void add_explain(Command& app, int& exit_code) {
  auto explain = std::make_shared<Explain>();
  Command& group = *app.add_subcommand("explain", "why a kernel's output is not what it claims to be");
  group.require_subcommand(1);
  group.footer(
      "Example: ulpscope explain matmul examples/tensors/a.npy examples/tensors/b.npy --output examples/tensors/matmul.npy "
      "--engine fma --in bf16");
  Command& command = *group.add_subcommand("matmul", "replays what D = A.B + C may have been computed by, and ranks it");
  explain->words.add_to(command);
  for (const char* foreign : {"-o", "--codes", "--against", "--device"}) command.remove_option(command.get_option(foreign));
  command.get_option("--engine")
      ->required(false)
      ->description("what is claimed: engine, or block:n=16,f=25,out=rz (default fma)");
  command.add_option("--output", explain->kernel_output, "what the kernel returned: a tensor file, or codes of --out")
      ->type_name("D.npy")
      ->required();
  command.add_option("--at-least", explain->at_least, "share of the elements, and of the wrong ones, that explains D")
      ->real({0, 1})
      ->capture_default_str();
  command.footer(
      "Every option but the last two says what is claimed, as for `ulpscope matmul`. Exit code 0: the claim reproduces D; 1: "
      "it does\n"
      "not, explained or not; 3: it does, and so does every other way to sum.\n"
      "Example: ulpscope explain matmul examples/tensors/a.npy examples/tensors/b.npy --output examples/tensors/matmul.npy "
      "--engine fma --in bf16");
  command.callback([explain, &exit_code] { exit_code = run(*explain); });
}

}  // namespace ulpscope::cli
