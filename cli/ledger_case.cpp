// SPDX-License-Identifier: Apache-2.0
// Turns the words of a case into a judged entry, and a recorded entry back into a request.
#include "cli/ledger_case.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>

#include "cli/output.hpp"
#include "emu/bulk.hpp"
#include "emu/catalogue.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"
#include "files/read_file.hpp"
#include "reports/sha256.hpp"
#include "verify/further_output.hpp"
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

/// What is digested of inputs of other operations: the numbers as they are read, as float32, or float64 where they want it.
std::vector<LedgerTensor> inputs_of(const verify::ResolvedCheck& check) {
  std::vector<LedgerTensor> inputs;
  for (const verify::CheckInput& input : check.inputs)
    inputs.push_back(
        digest(input.role, input.word, input.tensor.dtype.fits_float() ? emu::float32 : emu::float64, input.tensor));
  return inputs;
}

/// Takes away the options that name inputs and outputs, which an entry holds apart.
void keep_options_alone(std::map<std::string, std::string>& options, const std::string& operation,
                        const verify::ResolvedCheck& check) {
  const auto erase = [&](std::string field) {
    std::replace(field.begin(), field.end(), '_', '-');
    options.erase(field);
  };
  for (const verify::CheckInput& input : check.inputs)
    erase(verify::find_check_operation(operation).field_of(input.role, input.word).first);
  for (const verify::FurtherOutput& other : check.further) erase(other.name);
}

/// The options that a check says its files said.
void state_formats(std::map<std::string, std::string>& options, const verify::ResolvedCheck& check) {
  for (std::size_t i = 0; i + 1 < check.stated.size(); i += 2) options[check.stated[i].substr(2)] = check.stated[i + 1];
}

const std::string& input_words(const LedgerTensor& input, const GivenAgain& given) {
  const auto again = given.inputs.find(input.role);
  return again == given.inputs.end() ? input.words : again->second;
}

void check_roles(const verify::LedgerEntry& recorded, const GivenAgain& given) {
  std::string known;
  for (const LedgerTensor& input : recorded.inputs) known += (known.empty() ? "" : ", ") + input.role;
  for (const verify::LedgerFurther& other : recorded.further) known += ", " + other.name;
  for (const verify::LedgerFurther& other : recorded.further)
    if (!given.inputs.contains(other.name))
      throw Error("the case has the output " + other.name + " as well: say --input " + other.name + "=FILE");
  for (const auto& [role, words] : given.inputs)
    if (std::ranges::find(recorded.inputs, role, &LedgerTensor::role) == recorded.inputs.end() &&
        std::ranges::find(recorded.further, role, &verify::LedgerFurther::name) == recorded.further.end())
      throw Error("input " + role + " (" + words + "): the case has " + (known.empty() ? "none" : known));
}

/// Sets the request that was recorded, of the inputs and outputs that are given now.
void set_request(requests::Fields fields, const verify::LedgerEntry& recorded, const GivenAgain& given) {
  std::map<std::string, std::vector<std::string>> words;
  for (const auto& [option, value] : recorded.options) {
    const std::string name = verify::field_name(option);
    const requests::Field* const field = fields.find(name);
    if (field == nullptr) throw Error("--" + option + ": there is no such option");
    words[name] = verify::words_in(*field, value);
  }
  const verify::CheckOperation& operation = verify::find_check_operation(recorded.operation);
  for (const LedgerTensor& input : recorded.inputs) {
    const auto [field, word] = operation.field_of(input.role, input_words(input, given));
    words[field].push_back(word);
  }
  for (const verify::LedgerFurther& other : recorded.further) {
    const auto now = given.inputs.find(other.name);
    words[other.name] = {now->second};
  }
  words["output"] = {given.output};
  if (!given.output_dtype.empty()) words["output_dtype"] = {given.output_dtype};
  words["threads"] = {std::to_string(given.threads)};
  for (const auto& [name, values] : words) {
    requests::Field* const field = fields.find(name);
    if (field == nullptr) throw Error("input " + name + ": the operation has no such input");
    field->set(values);
  }
}

std::vector<verify::LedgerFurther> further_of(const verify::ResolvedCheck& check,
                                              const std::vector<verify::FurtherVerdict>& judged) {
  std::vector<verify::LedgerFurther> all;
  for (std::size_t i = 0; i < judged.size(); ++i)
    all.push_back({.name = judged[i].name,
                   .output = digest("output", "", check.further[i].last.out, check.further[i].output),
                   .bound = judged[i].verdict.bound,
                   .figures = verify::figures_of(judged[i].verdict)});
  return all;
}

/// Judges a check. `product` is what it is about, if it is about one.
JudgedCase judged_case(const verify::ResolvedCheck& check, const verify::MatmulRequest* request,
                       const products::Product* product, int threads) {
  ProgressLine progress;
  const verify::Verdict verdict = verify::verify(*check.expectation, check.output,
                                                 {.last = check.last, .threads = threads, .progress = progress.callback()});
  const std::vector<verify::FurtherVerdict> others = verify::verify_further(check, threads);
  JudgedCase out{.entry = {.name = {},
                           .operation = {},
                           .options = {},
                           .declared = {},
                           .inputs = product != nullptr ? inputs_of(request->product, *product) : inputs_of(check),
                           .output = digest("output", "", check.last.out, check.output),
                           .bound = verdict.bound,
                           .figures = verify::figures_of(verdict),
                           .further = further_of(check, others)},
                 .outputs = {check.output},
                 .sentences = {verdict.sentence()},
                 .outcome = verify::together(verdict.outcome(), others)};
  for (std::size_t i = 0; i < others.size(); ++i) {
    out.outputs.push_back(check.further[i].output);
    out.sentences.push_back(others[i].verdict.sentence());
  }
  return out;
}

}  // namespace

std::string read_text(const std::string& path, const std::string& advice) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) throw Error(path + ": no such file; " + advice);
  return files::read_file(path, files::most_of_values);
}

LedgerTensor digest(std::string role, std::string words, emu::Format format, const tensors::Tensor& tensor) {
  std::vector<double> values(static_cast<std::size_t>(tensor.count()));
  tensor.source->read(0, std::span(values));
  return digest_of(std::move(role), std::move(words), format, tensor.shape, values);
}

JudgedCase judge_case(const std::string& operation, const verify::Check& asked,
                      const std::map<std::string, std::string>& options) {
  if (asked.output().is_against_file())
    throw Error("--against " + asked.output().against + ": a ledger judges against exact or engine");
  JudgedCase judged;
  if (const verify::MatmulRequest* const request = asked.matmul()) {
    const verify::ResolvedMatmul check = verify::resolve(*request);
    judged = judged_case(check, request, check.sums_integers ? nullptr : &check.product, asked.threads());
    judged.entry.options = options;
    keep_options_alone(judged.entry.options, operation, check);
    if (check.sums_integers)
      state_formats(judged.entry.options, static_cast<const verify::ResolvedCheck&>(check));
    else
      state_formats(judged.entry.options, check.product);
  } else {
    const verify::ResolvedCheck check = asked.resolve();
    judged = judged_case(check, nullptr, nullptr, asked.threads());
    judged.entry.options = options;
    keep_options_alone(judged.entry.options, operation, check);
    state_formats(judged.entry.options, check);
  }
  judged.entry.operation = operation;
  return judged;
}

JudgedCase judge_again(const verify::LedgerEntry& recorded, const GivenAgain& given) {
  check_roles(recorded, given);
  const std::unique_ptr<verify::Check> asked = verify::find_check_operation(recorded.operation).make();
  try {
    set_request(asked->fields(), recorded, given);
  } catch (const Error& error) {
    throw Error(std::string("its options in the ledger are none of ulpscope verify: ") + error.what());
  }
  JudgedCase judged = judge_case(recorded.operation, *asked, recorded.options);
  using verify::LedgerFurther;
  if (!std::ranges::equal(judged.entry.further, recorded.further, {}, &LedgerFurther::name, &LedgerFurther::name))
    throw Error("its options in the ledger name an output of which it holds no digest");
  return judged;
}

}  // namespace ulpscope::cli
