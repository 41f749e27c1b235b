// SPDX-License-Identifier: Apache-2.0
#include "cli/ledger_case.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "cli/output.hpp"
#include "emu/bulk.hpp"
#include "emu/catalogue.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"
#include "reports/directory.hpp"
#include "verify/verdict.hpp"

namespace ulpscope::cli {
namespace {

using verify::LedgerTensor;

LedgerTensor digest_of(std::string role, std::string words, emu::Format format, const std::vector<std::uint64_t>& shape,
                       std::span<const double> values) {
  return {.role = std::move(role),
          .words = std::move(words),
          .format = emu::format_name(format),
          .sha256 = reports::sha256(verify::canonical_bytes(format, shape, values)),
          .shape = shape};
}

/// What is multiplied: the numbers of an input after rounding, so that their storage does not matter.
LedgerTensor digest_of(std::string role, const std::string& words, const tensors::Tensor& tensor,
                       const studies::InputRounding& rounding) {
  studies::RoundedElements counts;
  const std::vector<double> values = studies::rounded_elements<double>(tensor, rounding, counts);
  return digest_of(std::move(role), words, rounding.format, tensor.shape, values);
}

void add_scales(std::vector<LedgerTensor>& inputs, const std::string& role, const std::vector<std::string>& words,
                const std::optional<studies::MatmulScales>& scales) {
  if (!scales) return;
  const std::vector<double> values(scales->values.begin(), scales->values.end());
  const std::vector<std::uint64_t> grid{scales->matrices, scales->for_lines, scales->for_k};
  inputs.push_back(digest_of(role, words.front(), scales->format, grid, values));
  if (words.size() < 2) return;
  const double whole = scales->whole;
  inputs.push_back(digest_of(role + "_whole", words.back(), emu::float32, {}, std::span(&whole, 1)));
}

std::vector<LedgerTensor> inputs_of(const VerifyMatmul& words, const studies::MatmulConfig& problem) {
  std::vector<LedgerTensor> inputs{digest_of("A", words.problem.a, problem.a.input.tensor, problem.a.rounding),
                                   digest_of("B", words.problem.b, problem.b.input.tensor, problem.b.rounding)};
  if (problem.c) inputs.push_back(digest_of("C", words.problem.c, *problem.c, {.format = problem.acc}));
  add_scales(inputs, "scale_a", words.problem.scale_a, problem.a.scales);
  add_scales(inputs, "scale_b", words.problem.scale_b, problem.b.scales);
  return inputs;
}

/// What files said, said: the case is the same however its inputs are stored.
void state_formats(std::map<std::string, std::string>& options, const studies::MatmulConfig& problem) {
  if (options["in"].find(':') == std::string::npos)
    options["in"] = emu::format_name(problem.a.rounding.format) + "," + emu::format_name(problem.b.rounding.format);
  options["acc"] = emu::format_name(problem.acc);
  options["out"] = emu::format_name(problem.out);
  if (options.contains("engine")) options["engine"] = problem.engines.front();
}

const std::string& input_words(const LedgerTensor& input, const GivenAgain& given) {
  const auto again = given.inputs.find(input.role);
  return again == given.inputs.end() ? input.words : again->second;
}

void check_roles(const verify::LedgerEntry& recorded, const GivenAgain& given) {
  std::string known;
  for (const LedgerTensor& input : recorded.inputs) known += (known.empty() ? "" : ", ") + input.role;
  for (const auto& [role, words] : given.inputs)
    if (std::ranges::find(recorded.inputs, role, &LedgerTensor::role) == recorded.inputs.end())
      throw Error("input " + role + " (" + words + "): the case has " + known);
}

/// The command line of `verify`, the operation being left out.
Arguments arguments_of(const verify::LedgerEntry& recorded, const GivenAgain& given) {
  Arguments arguments;
  for (const auto& [option, value] : recorded.options)
    if (option != "output-dtype" || given.output_dtype.empty()) arguments.push_back("--" + option + "=" + value);
  if (!given.output_dtype.empty()) arguments.push_back("--output-dtype=" + given.output_dtype);
  arguments.insert(arguments.end(), {"--output=" + given.output, "--threads=" + std::to_string(given.threads)});
  for (const LedgerTensor& input : recorded.inputs)
    if (input.role.starts_with("scale_"))
      arguments.push_back("--scale-" + input.role.substr(6, 1) + "=" + input_words(input, given));
  arguments.emplace_back("--");
  for (const LedgerTensor& input : recorded.inputs)
    if (!input.role.starts_with("scale_")) arguments.push_back(input_words(input, given));
  return arguments;
}

}  // namespace

std::string read_text(const std::string& path, const std::string& advice) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) throw Error(path + ": no such file; " + advice);
  if (std::filesystem::is_directory(path, ignored)) throw Error(path + ": is a folder");
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file) throw Error(path + ": cannot be read");
  return text;
}

LedgerTensor digest(std::string role, std::string words, emu::Format format, const tensors::Tensor& tensor) {
  std::vector<double> values(static_cast<std::size_t>(tensor.count()));
  tensor.source->read(0, std::span(values));
  return digest_of(std::move(role), std::move(words), format, tensor.shape, values);
}

JudgedCase judge_case(const VerifyMatmul& words, std::map<std::string, std::string> options) {
  if (words.check.against != "exact" && words.check.against != "engine")
    throw Error("--against " + words.check.against + ": a ledger judges against exact or engine");
  const MatmulCheck check = parse_verify_matmul(words);
  ProgressLine progress;
  const verify::Verdict verdict = verify::verify(*check.expectation, check.output,
                                                 {.last = words.check.last_rounding(check.expectation->out()),
                                                  .threads = words.problem.common.threads,
                                                  .progress = progress.callback()});
  state_formats(options, check.problem);
  return {.entry = {.name = {},
                    .operation = "matmul",
                    .options = std::move(options),
                    .declared = {},
                    .inputs = inputs_of(words, check.problem),
                    .output = digest("output", "", check.problem.out, check.output),
                    .bound = verdict.bound,
                    .figures = verify::figures_of(verdict)},
          .output = check.output,
          .sentence = verdict.sentence()};
}

JudgedCase judge_again(const verify::LedgerEntry& recorded, const GivenAgain& given) {
  if (recorded.operation != "matmul") throw Error("operation '" + recorded.operation + "': this program judges matmul");
  check_roles(recorded, given);
  Command command;
  VerifyMatmul words;
  words.add_to(command);
  try {
    command.parse(arguments_of(recorded, given));
  } catch (const Error& error) {
    throw Error(std::string("its options in the ledger are none of ulpscope verify: ") + error.what());
  }
  return judge_case(words, recorded.options);
}

}  // namespace ulpscope::cli
