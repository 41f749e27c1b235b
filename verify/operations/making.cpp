// SPDX-License-Identifier: Apache-2.0
// Opens the files that a request names, and says in the heading what they hold.
#include "verify/operations/making.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "emu/bulk.hpp"
#include "emu/catalogue.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"
#include "products/operand.hpp"
#include "requests/numbers.hpp"

namespace ulpscope::verify {
namespace {

/// Of float32 where a tensor's own format is wider, or none.
emu::Format own_format(const tensors::Tensor& tensor) {
  const auto& format = tensor.dtype.format;
  return format && emu::fits_float(*format) ? *format : emu::float32;
}

/// 0 where a truth value is true, -inf where it is false.
tensors::Tensor added_mask(const tensors::Tensor& truths) {
  std::vector<float> values(static_cast<std::size_t>(truths.count()));
  std::vector<double> given(values.size());
  truths.source->read(0, std::span(given));
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (given[i] != 0 && given[i] != 1)
      throw Error(fmt::format("--mask {}: element {} is the integer {}; integers are truth values, 0 and 1", truths.label, i,
                              given[i]));
    values[i] = given[i] == 1 ? 0 : -std::numeric_limits<float>::infinity();
  }
  return tensors::from_values(truths.label, truths.shape, std::move(values));
}

}  // namespace

Making::Making(const OperationRequest& request, std::string operation, RandomRoundings random) : request_(request) {
  check_.operation = std::move(operation);
  if (request.output.against == "engine")
    throw Error("--against engine: engines are models of matrix products; " + check_.operation +
                " is judged against exact or a FILE");
  if (request.output.false_alarm && random == RandomRoundings::not_derived)
    throw Error("--false-alarm: no probabilistic bound is derived for " + check_.operation);
  const auto out = request.out.empty() ? std::nullopt : std::optional(requests::parse_format(request.out));
  check_.output = request.output.open(request.output.output, out);
  check_.last = request.output.last_rounding(format_of_output(check_.output, out));
}

tensors::Tensor Making::open(const std::string& word) const {
  tensors::OpenOptions options = request_.reading.options();
  options.seed += check_.inputs.size();  // two inputs of the same word are not the same numbers
  return tensors::open_one(word, options);
}

void Making::list(const std::string& name, CheckInput input, const std::string& dtype) {
  say(name + "  " + input.word + " (" + words_of_shape(input.tensor.shape) + "), " + dtype);
  input.role = input.prefix.empty() ? field_name(name) : name;
  check_.inputs.push_back(std::move(input));
}

Values Making::read(const std::string& name, CheckInput input, const std::string& in) {
  const tensors::Tensor tensor = input.tensor;
  const products::InputRounding rounding =
      products::input_rounding(in.empty() ? tensor.dtype.format.value_or(emu::float32) : requests::parse_format(in));
  input.format = rounding.format;
  list(name, std::move(input), emu::format_name(rounding.format));
  return tensor.is_integer() && in.empty() ? read_exactly(tensor) : read_values(tensor, rounding, request_.threads);
}

Values Making::read(const std::string& name, const std::string& word) {
  return read(name, {{}, word, open(word)}, request_.in);
}

Values Making::read_named(const std::string& name, const std::string& word, bool keeps_numbers) {
  CheckInput input{{}, word, open(word), name + "="};
  const std::string in = keeps_numbers || input.tensor.is_integer() ? std::string() : request_.in;
  return read(name, std::move(input), in);
}

std::optional<Values> Making::read_if_given(const std::string& name, const std::string& word) {
  if (word.empty()) return std::nullopt;
  return read(name, word);
}

std::optional<Values> Making::read_own(const std::string& name, const std::string& word) {
  if (word.empty()) return std::nullopt;
  const tensors::Tensor tensor = open(word);
  const emu::Format format = own_format(tensor);
  list(name, {{}, word, tensor, {}, format}, emu::format_name(format));
  return tensor.is_integer() ? read_exactly(tensor) : read_values(tensor, {.format = format}, request_.threads);
}

std::optional<Values> Making::read_own_or_number(const std::string& name, const std::string& word) {
  if (word.empty() || !requests::read_real(word, {}).empty()) return read_own(name, word);
  say(name + "  " + word);
  return Values{{}, {static_cast<float>(requests::real_of(word))}, emu::float32};
}

std::optional<Values> Making::read_mask(const std::string& name, const std::string& word) {
  if (word.empty()) return std::nullopt;
  const tensors::Tensor tensor = open(word);
  if (!tensor.is_integer()) return read_own(name, word);
  const tensors::Tensor added = added_mask(tensor);
  list(name, {{}, word, added, {}, {}, InputKind::truths}, tensor.dtype.name + ", true: seen");
  return read_values(added, {.format = emu::float32});
}

std::optional<Integers> Making::read_integers_if_given(const std::string& option, const std::string& word) {
  if (word.empty()) return std::nullopt;
  const tensors::Tensor tensor = tensors::open_one(word);
  list(option.substr(2), {{}, word, tensor, {}, {}, InputKind::whole}, tensor.dtype.name);
  return read_integers(tensor, option);
}

ResolvedCheck Making::made(std::unique_ptr<Expectation> expectation) {
  check_.expectation = std::move(expectation);
  const std::optional<emu::Format> codes = request_.reading.options().dtype;
  const bool has_codes =
      std::ranges::any_of(check_.inputs, [&](const CheckInput& input) { return input.tensor.dtype.format == codes; });
  if (codes && !has_codes) requests::refuse_dtype(request_.reading.dtype, check_.inputs.front().tensor);
  check_.heading += check_.operation + "  " + words_of_shape(check_.expectation->shape()) + ", out " +
                    emu::format_name(check_.expectation->out()) + "\n";
  if (request_.out.empty()) check_.stated = {"--out", emu::format_name(check_.last.out)};
  return std::move(check_);
}

std::optional<emu::Format> format_if_given(const std::string& word) {
  return word.empty() ? std::nullopt : std::optional(requests::parse_format(word));
}

}  // namespace ulpscope::verify
