// SPDX-License-Identifier: Apache-2.0
// From a request to a claim, and from what explains its output back to a request: of a product.
#include "verify/explain/explain_request.hpp"

#include <algorithm>
#include <sstream>

#include "emu/error.hpp"
#include "emu/names.hpp"
#include "emu/visible.hpp"
#include "requests/command_line.hpp"
#include "studies/matmul/matmul_request.hpp"

namespace ulpscope::verify {
namespace {

tensors::Tensor open_output(const ExplainRequest& request) {
  tensors::OpenOptions options;
  if (!request.product.out.empty())
    options.dtype = requests::parse_format(request.product.out);
  else if (!request.product.dtype.empty())
    options.dtype = requests::parse_format(request.product.dtype.front());
  return tensors::open_one(request.output, options);
}

/// Sets the field that an option of the command line stands for.
void set_option(requests::Fields& fields, const std::string& option, const std::string& value) {
  for (requests::Field& field : fields) {
    if (field.is_input() || field.option() != option) continue;
    if (field.is_flag()) return field.set({"true"});
    if (!field.is_list() || field.form == requests::ListForm::repeated) return field.set({value});
    std::vector<std::string> words;
    std::istringstream stream(value);
    for (std::string word; std::getline(stream, word, ',');) words.push_back(word);
    return field.set(words);
  }
}

}  // namespace

void ExplainRequest::describe(requests::Fields& fields) {
  product.describe(fields);
  fields.add("engine", engine, "what is claimed: engine, or block:n=16,f=25,out=rz (default fma)").as_value("E");
  fields.add("output", output, "what the kernel returned: a tensor file, or codes of --out").as_value("D.npy").needed();
  fields.add("at_least", at_least, "share of the elements, and of the wrong ones, that explains D").real({0, 1}).shown();
  fields.add("seconds", seconds, "that hypotheses have, beside the replay of the claim; 0: no limit")
      .real({.least = 0})
      .shown();
}

ExplainConfig resolve(const ExplainRequest& request) {
  if (!(request.at_least > 0 && request.at_least <= 1))
    throw Error("--at-least: is a share of the elements, above 0 and up to 1");
  const tensors::Tensor d = open_output(request);
  ExplainConfig config{products::resolve(request.product, products::open(request.product, &d), request.engine), d,
                       request.at_least, request.seconds};
  if (request.product.out.empty() && d.dtype.format && d.dtype.format != emu::float64) config.product.out = *d.dtype.format;
  return config;
}

std::string verdict_sentence(const ExplainRequest& request, const ExplainResult& result) {
  return emu::visible(request.output) + ": " + verdict_sentence(result);
}

studies::StudyResult run(const ExplainRequest& request, const studies::Progress&) {
  const ExplainResult result = explain(resolve(request));
  const std::string sentence = verdict_sentence(request, result);
  studies::StudyResult study;
  study.tables.push_back(explain_table(result, [&](const Hypothesis& hypothesis) {
    const std::vector<std::string> words = replaying_words(request, result.claim, hypothesis);
    return words.empty() ? std::string() : requests::command_line(words);
  }));
  const bool holds = result.verdict == ExplainVerdict::holds;
  study.findings.push_back({.what = "verdict",
                            .where = request.output,
                            .value = std::string(name_of(result.verdict)),
                            .threshold = std::string(name_of(ExplainVerdict::holds)),
                            .source = {},
                            .severity = holds ? reports::Severity::good : reports::Severity::bad,
                            .sentence = sentence});
  study.text = sentence + ".\n";
  for (const std::string& line : remarks(result)) study.remarks.push_back(line), study.text += line + ".\n";
  if (!holds)
    study.outcome = result.verdict == ExplainVerdict::vacuous ? studies::StudyOutcome::vacuous : studies::StudyOutcome::failed;
  return study;
}

studies::Work work_of(const ExplainRequest& request) {
  return {.operations = tensors::open_one(request.output, {}).count(), .rows = 10};
}

std::vector<std::string> replaying_words(const ExplainRequest& request, const Claim& claim, const Hypothesis& hypothesis) {
  const Kernel kernel = hypothesis.kernel(claim.kernel);
  const std::size_t step =
      kernel.chain.engine ? static_cast<std::size_t>(std::max(kernel.chain.engine->products, 1)) : std::size_t{1};
  if (kernel.parts.promote % step != 0) return {};
  studies::MatmulRequest replay{
      .product = request.product, .engine = {claim.engine()}, .against = {}, .device = {}, .instruction = {}};
  replay.product.acc = emu::format_name(claim.config.acc);
  replay.product.out = emu::format_name(claim.config.out);
  requests::Fields fields = requests::fields_of(replay);
  for (const Cause& cause : hypothesis.causes)
    for (const auto& [option, value] : cause.options) set_option(fields, option, value);
  std::vector<std::string> words{"matmul"};
  const std::vector<std::string> asked = requests::words_of(replay);
  words.insert(words.end(), asked.begin(), asked.end());
  words.insert(words.end(), {"-o", "replayed.npy"});
  return words;
}

}  // namespace ulpscope::verify
