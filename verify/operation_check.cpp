// SPDX-License-Identifier: Apache-2.0
// A check of any operation with values in memory: the request of `ulpscope verify OPERATION` with tensors in the place of
// files.
#include <deque>
#include <memory>
#include <utility>

#include "emu/error.hpp"
#include "emu/names.hpp"
#include "emu/suggestions.hpp"
#include "tensors/held.hpp"
#include "verify/check.hpp"
#include "verify/check_operations.hpp"
#include "verify/check_tensors.hpp"
#include "verify/further_output.hpp"
#include "verify/verdict_text.hpp"

namespace ulpscope::verify {
namespace {

tensors::Tensor tensor_of(const CheckTensor& given) {
  const std::vector<std::uint64_t> shape(given.shape.begin(), given.shape.end());
  if (given.integers.empty()) return check_tensor(given.role, given.values, shape, given.format);
  if (!given.values.empty()) throw Error(given.role + ": has values and integers; give one of them");
  return check_tensor(given.role, given.integers, shape);
}

/// The request of a check, with the tensors that its words name.
class OperationRequestOf {
 public:
  OperationRequestOf(const OperationCheck& check, int threads)
      : operation_(find_check_operation(check.operation)), asked_(operation_.make()), fields_(asked_->fields()) {
    set_options(check.options);
    for (const CheckTensor& input : check.inputs) {
      const auto [field, word] = operation_.field_of(input.role, hold(tensor_of(input)));
      give(field, word, input.role);
    }
    for (const CheckTensor& other : check.further) give(other.role, hold(tensor_of(other)), other.role);
    for (const requests::Field& field : fields_)
      if (field.required && field.name != "output" && field.words().empty() && !given_.contains(field.name))
        throw Error(check.operation + ": " + field.name + " is missing");
    given_["output"] = {hold(check_tensor("output", std::span<const float>(), {0}, check.out))};
    given_["threads"] = {std::to_string(threads)};
    for (const auto& [name, words] : given_) fields_.at(name).set(words);
  }

  ResolvedCheck resolve() const {
    if (asked_->output().is_against_file())
      throw Error("against '" + asked_->output().against + "': is judged against exact or engine");
    return asked_->resolve();
  }

  /// What is said of the words of tensors, said of their labels.
  std::string with_labels(std::string text) const {
    for (const auto& [word, label] : labels_)
      for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + label.size()))
        if (at + word.size() == text.size() || text[at + word.size()] < '0' || text[at + word.size()] > '9')
          text.replace(at, word.size(), label);
    return text;
  }

 private:
  std::string hold(tensors::Tensor tensor) {
    const std::string label = tensor.label;
    held_.push_back(std::make_unique<tensors::Held>(std::move(tensor)));
    labels_.emplace_back(held_.back()->word(), label);
    return held_.back()->word();
  }

  void set_options(const std::map<std::string, std::string>& options) {
    for (const auto& [name, value] : options) {
      requests::Field* const field = fields_.find(name);
      if (field == nullptr || name == "output" || name == "output_dtype" || name == "threads") {
        std::vector<std::string> known;
        for (const requests::Field& one : fields_) known.push_back(one.name);
        throw Error(operation_.name + " has no option '" + name +
                    "'; nearest: " + emu::comma_separated(emu::closest_words(name, known)));
      }
      field->set(words_in(*field, value));
    }
  }

  void give(const std::string& field, const std::string& word, const std::string& role) {
    if (!fields_.has(field)) throw Error(operation_.name + " has no input '" + role + "'");
    std::vector<std::string>& words = given_[field];
    if (!words.empty() && !fields_.at(field).is_list()) throw Error("input '" + role + "' is given twice");
    words.push_back(word);
  }

  const CheckOperation& operation_;
  std::unique_ptr<Check> asked_;
  requests::Fields fields_;
  std::map<std::string, std::vector<std::string>> given_;
  std::deque<std::unique_ptr<tensors::Held>> held_;
  std::vector<std::pair<std::string, std::string>> labels_;
};

CheckReport judge(const OperationCheck& check, std::span<const float> output, const CheckOptions& options,
                  const OperationRequestOf& request) {
  ResolvedCheck resolved = request.resolve();
  resolved.output = check_tensor("output", output, resolved.expectation->shape(), check.out);
  const Verdict verdict = verify(*resolved.expectation, resolved.output, {.last = resolved.last, .threads = options.threads});
  std::string text = verdict_text(resolved.heading, verdict, options.width);
  const std::vector<FurtherVerdict> further = verify_further(resolved, options.threads);
  for (const FurtherVerdict& other : further) text += "\n" + verdict_text(other.heading, other.verdict, options.width);
  return {together(verdict.outcome(), further), request.with_labels(std::move(text))};
}

}  // namespace

CheckReport check_output(const OperationCheck& check, std::span<const float> output, const CheckOptions& options) {
  std::unique_ptr<OperationRequestOf> request;
  try {
    request = std::make_unique<OperationRequestOf>(check, options.threads);
    return judge(check, output, options, *request);
  } catch (const Error& error) {
    const std::string text = with_member_names(error.what());
    throw Error(request == nullptr ? text : request->with_labels(text));
  }
}

}  // namespace ulpscope::verify
