// SPDX-License-Identifier: Apache-2.0
// Turns the words of a case into a judged entry, and a recorded entry back into a request.
#include "cli/ledger_case.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "cli/output.hpp"
#include "emu/bulk.hpp"
#include "emu/catalogue.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"
#include "reports/sha256.hpp"
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
                       const products::InputRounding& rounding) {
  products::RoundedElements counts;
  const std::vector<double> values = products::rounded_elements<double>(tensor, rounding, counts);
  return digest_of(std::move(role), words, rounding.format, tensor.shape, values);
}

void add_scales(std::vector<LedgerTensor>& inputs, const std::string& role, const std::vector<std::string>& words,
                const std::optional<products::MatmulScales>& scales) {
  if (!scales) return;
  const std::vector<double> values(scales->values.begin(), scales->values.end());
  const std::vector<std::uint64_t> grid{scales->matrices, scales->for_lines, scales->for_k};
  inputs.push_back(digest_of(role, words.front(), scales->format, grid, values));
  if (words.size() < 2) return;
  const double whole = scales->whole;
  inputs.push_back(digest_of(role + "_whole", words.back(), emu::float32, {}, std::span(&whole, 1)));
}

std::vector<LedgerTensor> inputs_of(const products::ProductRequest& words, const products::Product& problem) {
  std::vector<LedgerTensor> inputs{digest_of("A", words.a, problem.a.input.tensor, problem.a.rounding),
                                   digest_of("B", words.b, problem.b.input.tensor, problem.b.rounding)};
  if (problem.c) inputs.push_back(digest_of("C", words.c, *problem.c, {.format = problem.acc}));
  add_scales(inputs, "scale_a", words.scale_a, problem.a.scales);
  add_scales(inputs, "scale_b", words.scale_b, problem.b.scales);
  return inputs;
}

/// What files said, said: the case is the same however its inputs are stored.
void state_formats(std::map<std::string, std::string>& options, const products::Product& problem) {
  if (options["in"].find(':') == std::string::npos)
    options["in"] = emu::format_name(problem.a.rounding.format) + "," + emu::format_name(problem.b.rounding.format);
  options["acc"] = emu::format_name(problem.acc);
  options["out"] = emu::format_name(problem.out);
  if (options.contains("engine")) options["engine"] = problem.engine;
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

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> words;
  std::istringstream stream(text);
  for (std::string word; std::getline(stream, word, ',');) words.push_back(word);
  return words;
}

/// The request that was recorded, of the inputs and the output that are given now.
verify::MatmulRequest request_of(const verify::LedgerEntry& recorded, const GivenAgain& given) {
  verify::MatmulRequest request;
  requests::Fields fields = requests::fields_of(request);
  for (const auto& [option, value] : recorded.options) {
    std::string name = option;
    std::replace(name.begin(), name.end(), '-', '_');
    requests::Field* const field = fields.find(name);
    if (field == nullptr || field->is_input()) throw Error("--" + option + ": there is no such option");
    field->set(field->is_list() ? split(value) : std::vector<std::string>{value});
  }
  for (const LedgerTensor& input : recorded.inputs) {
    const std::string& words = input_words(input, given);
    if (input.role == "A") request.product.a = words;
    if (input.role == "B") request.product.b = words;
    if (input.role == "C") request.product.c = words;
    if (input.role.starts_with("scale_a")) request.product.scale_a.push_back(words);
    if (input.role.starts_with("scale_b")) request.product.scale_b.push_back(words);
  }
  request.output.output = given.output;
  if (!given.output_dtype.empty()) request.output.output_dtype = given.output_dtype;
  request.product.threads = given.threads;
  return request;
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

JudgedCase judge_case(const verify::MatmulRequest& request, std::map<std::string, std::string> options) {
  if (request.output.is_against_file())
    throw Error("--against " + request.output.against + ": a ledger judges against exact or engine");
  const verify::ResolvedMatmul check = verify::resolve(request);
  ProgressLine progress;
  const verify::Verdict verdict =
      verify::verify(*check.expectation, check.output,
                     {.last = check.last, .threads = request.product.threads, .progress = progress.callback()});
  state_formats(options, check.product);
  return {.entry = {.name = {},
                    .operation = "matmul",
                    .options = std::move(options),
                    .declared = {},
                    .inputs = inputs_of(request.product, check.product),
                    .output = digest("output", "", check.product.out, check.output),
                    .bound = verdict.bound,
                    .figures = verify::figures_of(verdict)},
          .output = check.output,
          .sentence = verdict.sentence()};
}

JudgedCase judge_again(const verify::LedgerEntry& recorded, const GivenAgain& given) {
  if (recorded.operation != "matmul") throw Error("operation '" + recorded.operation + "': this program judges matmul");
  check_roles(recorded, given);
  verify::MatmulRequest request;
  try {
    request = request_of(recorded, given);
  } catch (const Error& error) {
    throw Error(std::string("its options in the ledger are none of ulpscope verify: ") + error.what());
  }
  return judge_case(request, recorded.options);
}

}  // namespace ulpscope::cli
