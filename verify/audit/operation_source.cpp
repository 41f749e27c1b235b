// SPDX-License-Identifier: Apache-2.0
// Puts tensors in memory where a request names files, and asks for the exact output again.
#include "verify/audit/operation_source.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <tuple>
#include <utility>
#include <variant>

#include "emu/bulk.hpp"
#include "emu/catalogue.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"
#include "products/operand.hpp"
#include "tensors/elements.hpp"
#include "tensors/synthetic.hpp"
#include "verify/exact_output.hpp"

namespace ulpscope::verify {
namespace {

std::uint64_t count_of(const std::vector<std::uint64_t>& shape) {
  std::uint64_t count = 1;
  for (const std::uint64_t extent : shape) count *= extent;
  return count;
}

/// Sets a field, or takes its value away.
void set_field(requests::Fields& fields, const std::string& name, const std::vector<std::string>& words) {
  requests::Field& field = fields.at(name);
  if (!words.empty()) return field.set(words);
  std::visit([](auto* value) { *value = {}; }, field.variable);
}

std::unique_ptr<tensors::Held> ones(const std::vector<std::uint64_t>& shape) {
  std::vector<float> values(static_cast<std::size_t>(count_of(shape)), 1);
  return std::make_unique<tensors::Held>(tensors::from_values("output", shape, std::move(values)));
}

std::vector<double> values_in(const tensors::Tensor& tensor) {
  std::vector<double> values(static_cast<std::size_t>(tensor.count()));
  tensor.source->read(0, std::span(values));
  return values;
}

}  // namespace

OperationSource::OperationSource(const CheckOperation& operation, const Check& asked, std::uint64_t of_seed)
    : operation_(operation), asked_(asked.copy()) {
  const auto place = [this](const std::vector<std::uint64_t>& shape) {
    placeholder_ = ones(shape);
    requests::Fields fields = asked_->fields();
    set_field(fields, "output", {placeholder_->word()});
    check_ = asked_->resolve();
  };
  place({});
  const std::vector<std::uint64_t> shape = check_.expectation->shape();
  if (count_of(shape) == 0) throw Error("an empty output has no mutants: give inputs of one element or more");
  place(shape);
  const std::vector<double> given = values_in(check_.output);
  for (std::size_t i = 0; i < given.size(); ++i)
    if (given[i] != 1) unjudged_.push_back(i);
  out = check_.last.out, seed = of_seed;
  columns = shape.size() < 2 ? 1 : static_cast<std::size_t>(shape.back());
  rows = static_cast<std::size_t>(shape.empty() ? 1 : shape[shape.size() < 2 ? 0 : shape.size() - 2]);
  correct = reference = exact_output(*check_.expectation, check_.last, asked_->threads());
  hold_synthetic();
}

void OperationSource::hold_synthetic() {
  requests::Fields fields = asked_->fields();
  for (CheckInput& input : check_.inputs) {
    if (!tensors::is_synthetic(input.word) || input.tensor.is_integer() || input.kind != InputKind::numbers) continue;
    const auto [name, drawn_word] = operation_.field_of(input.role, input.word);
    std::vector<std::string> words = fields.at(name).words();
    const auto drawn_here = std::ranges::find(words, drawn_word);
    if (drawn_here == words.end()) continue;
    input.tensor = tensor_like(input, values_in(input.tensor));
    synthetic_.push_back(std::make_unique<tensors::Held>(input.tensor));
    input.word = synthetic_.back()->word();
    *drawn_here = operation_.field_of(input.role, input.word).second;
    fields.at(name).set(words);
  }
}

bool OperationSource::is_needed(const CheckInput& input) const {
  return asked_->fields().at(operation_.field_of(input.role, {}).first).required;
}

std::vector<const CheckInput*> OperationSource::operands() const {
  std::vector<const CheckInput*> needed;
  for (const CheckInput& input : check_.inputs)
    if (is_needed(input)) needed.push_back(&input);
  return needed;
}

const CheckInput* OperationSource::input(std::string_view role) const {
  const auto found = std::ranges::find(check_.inputs, role, &CheckInput::role);
  return found == check_.inputs.end() ? nullptr : &*found;
}

std::vector<std::string> OperationSource::dispensable() const {
  std::vector<std::string> roles;
  std::vector<std::string> named;  // fields
  for (const CheckInput& input : check_.inputs) {
    named.push_back(operation_.field_of(input.role, {}).first);
    if (!is_needed(input)) roles.push_back(input.role);
  }
  for (const requests::Field& field : fields())
    if (field.value == "FILE|NUMBER" && !field.words().empty() && !std::ranges::count(named, field.name))
      roles.push_back(field.name);
  std::erase_if(roles, [this](const std::string& role) {
    std::vector<std::unique_ptr<tensors::Held>> none;
    return !resolved(options_of({{role, {}}}, none));
  });
  return roles;
}

OperationSource::Options OperationSource::options_of(const std::vector<InputChange>& changes,
                                                     std::vector<std::unique_ptr<tensors::Held>>& held) const {
  const auto field_of = [this](const std::string& role, const std::string& word) {
    return input(role) == nullptr ? std::pair(role, word) : operation_.field_of(role, word);
  };
  Options options;
  for (const InputChange& change : changes) options[field_of(change.role, {}).first] = {};
  for (const CheckInput& given : check_.inputs) {
    const auto change = std::ranges::find(changes, given.role, &InputChange::role);
    const bool changes_it = change != changes.end();
    if (changes_it && !change->tensor) continue;
    if (changes_it) held.push_back(std::make_unique<tensors::Held>(*change->tensor));
    const auto [field, word] = field_of(given.role, changes_it ? held.back()->word() : given.word);
    if (options.contains(field)) options[field].push_back(word);
  }
  const auto c = options.find("c");  // its factor goes with it
  if (c != options.end() && c->second.empty() && fields().has("beta")) options["beta"] = {};
  return options;
}

std::optional<ResolvedCheck> OperationSource::resolved(const Options& options) const {
  const std::unique_ptr<Check> changed = asked_->copy();
  requests::Fields fields = changed->fields();
  try {
    for (const auto& [name, words] : options) set_field(fields, name, words);
    ResolvedCheck check = changed->resolve();
    if (check.expectation->shape() != check_.expectation->shape()) return std::nullopt;
    return check;
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::optional<std::vector<double>> OperationSource::with(const std::vector<InputChange>& changes) const {
  std::vector<std::unique_ptr<tensors::Held>> held;
  return with_options(options_of(changes, held));
}

std::optional<std::vector<double>> OperationSource::with_options(const Options& options) const {
  const std::optional<ResolvedCheck> check = resolved(options);
  if (!check) return std::nullopt;
  return judged(exact_output(*check->expectation, check->last, asked_->threads()));
}

std::optional<std::vector<double>> OperationSource::judged(std::optional<std::vector<double>> output) const {
  if (output)
    for (const std::size_t i : unjudged_) (*output)[i] = correct[i];
  return output;
}

std::vector<double> numbers_of(const CheckInput& input) {
  products::RoundedElements ignored;
  return products::rounded_elements<double>(
      input.tensor, products::input_rounding(input.format.value_or(input.tensor.dtype.format.value_or(emu::float32))), ignored);
}

std::vector<double> elements_of(const CheckInput& input) {
  return input.tensor.is_integer() ? numbers_of(input) : values_in(input.tensor);
}

namespace {

/// Whether all are integers of 53 bits.
bool are_whole(const std::vector<double>& values) {
  return std::ranges::all_of(values, [](double x) { return std::fabs(x) < 0x1p53 && std::trunc(x) == x; });
}

tensors::Tensor integers_like(const tensors::Tensor& tensor, const std::vector<double>& values) {
  const auto integers = std::make_shared<const std::vector<std::int64_t>>(values.begin(), values.end());
  return tensors::over_integers(tensor.label, tensor.shape, tensor.dtype.name, *integers, integers);
}

}  // namespace

tensors::Tensor tensor_like(const CheckInput& input, const std::vector<double>& values) {
  if (input.tensor.is_integer() && are_whole(values)) return integers_like(input.tensor, values);
  const emu::Format format = input.tensor.dtype.format.value_or(input.format.value_or(emu::float32));
  const auto& [label, shape] = std::tie(input.tensor.label, input.tensor.shape);
  tensors::Tensor tensor = emu::fits_float(format)
                               ? tensors::from_values(label, shape, std::vector<float>(values.begin(), values.end()))
                               : tensors::from_values(label, shape, values);
  tensor.dtype = {emu::format_name(format), format};
  return tensor;
}

}  // namespace ulpscope::verify
