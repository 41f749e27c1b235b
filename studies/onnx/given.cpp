// SPDX-License-Identifier: Apache-2.0
// Which tensor is which input, and whether it is what the model says.
#include "studies/onnx/given.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "emu/error.hpp"

namespace ulpscope::studies {
namespace {

using onnx::Value;
using tensors::OnnxInput;

bool is_whole(float x) { return std::floor(x) == x && std::fabs(x) <= 0x1p24F; }

std::string words_of(const OnnxInput& input) {
  std::string extents;
  for (const std::string& extent : input.shape) extents += (extents.empty() ? "" : " x ") + extent;
  const std::string& type = input.dtype;
  return "'" + input.name + "' (" + type + (type.empty() || extents.empty() ? "" : ", ") + extents + ")";
}

/// A given tensor as an input; `extents` are those that names stand for.
Value value_given(const OnnxInput& input, const tensors::Tensor& given, std::map<std::string, std::size_t>& extents) {
  Value value = onnx::value_of(given);
  // A synthetic tensor of integers has them as floats.
  const Value::Kind wanted = input.dtype.empty() ? value.kind : onnx::kind_of(input.dtype);
  const auto fits = [&](float x) { return is_whole(x) && (wanted == Value::Kind::whole || x == 0 || x == 1); };
  if (wanted != Value::Kind::real && value.is_real() && std::ranges::all_of(value.reals, fits)) {
    value.kind = wanted;
    value.wholes.assign(value.reals.begin(), value.reals.end());
    value.reals.clear();
  }
  const auto refuse = [&](const std::string& as, const std::string& why = {}) {
    throw Error("input " + words_of(input) + " is given as " + as + " by " + given.label + why);
  };
  if (wanted != value.kind) refuse(given.dtype.name);
  if (!input.dtype.empty()) value.dtype = input.dtype;
  if (!input.shape.empty() && input.shape.size() != value.shape.size()) refuse(onnx::words_of(value.shape));
  for (std::size_t d = 0; d < input.shape.size(); ++d) {
    const std::string& extent = input.shape[d];
    const bool is_name = extent.find_first_not_of("0123456789") != std::string::npos;
    if (!is_name && extent != std::to_string(value.shape[d])) refuse(onnx::words_of(value.shape));
    if (!is_name || extent == "?") continue;
    const auto [known, is_new] = extents.emplace(extent, value.shape[d]);
    if (!is_new && known->second != value.shape[d])
      refuse(onnx::words_of(value.shape), ", and " + extent + " is " + std::to_string(known->second) + " elsewhere");
  }
  return value;
}

}  // namespace

std::map<std::string, onnx::Value> values_given(const tensors::OnnxModel& model, const std::vector<OnnxGiven>& inputs) {
  std::map<std::string, Value> values;
  std::set<const OnnxGiven*> used;
  std::map<std::string, std::size_t> extents;
  for (const OnnxInput& input : model.inputs) {
    auto found = std::ranges::find(inputs, input.name, [](const OnnxGiven& one) { return one.tensor.name; });
    if (found == inputs.end() && model.inputs.size() == 1 && inputs.size() == 1 && !inputs.front().is_named)
      found = inputs.begin();
    if (found == inputs.end()) {
      std::string given;
      for (const OnnxGiven& one : inputs) given += (given.empty() ? "" : ", ") + one.tensor.name;
      throw Error("input " + words_of(input) + " is not among those of --inputs, which are " +
                  (given.empty() ? "none" : given));
    }
    used.insert(&*found);
    values[input.name] = value_given(input, found->tensor, extents);
  }
  std::set<std::string> names;
  for (const OnnxGiven& one : inputs) {
    const std::string& name = one.tensor.name;
    if (!names.insert(name).second) throw Error("input '" + name + "' is given twice");
    if (!used.contains(&one))
      throw Error("has no input '" + name + "', which " + one.tensor.label + " would be" +
                  (model.inputs.empty() ? "" : "; there is " + words_of(model.inputs.front())));
  }
  return values;
}

std::vector<OnnxGiven> model_inputs_of(const std::vector<std::string>& words, const tensors::OpenOptions& options) {
  std::vector<OnnxGiven> inputs;
  std::uint64_t seed = options.seed;
  for (const std::string& word : words) {
    if (word == "none") continue;
    const std::size_t equals = word.find('=');
    std::error_code ignored;
    const tensors::OpenOptions own{.dtype = {}, .seed = seed++};
    if (equals == std::string::npos || std::filesystem::exists(word, ignored)) {
      for (tensors::Tensor& tensor : tensors::open(word, own)) {
        tensor.name = tensors::written_name(tensor);
        inputs.push_back({std::move(tensor), false});
      }
      continue;
    }
    if (equals == 0 || equals + 1 == word.size()) throw Error("--inputs '" + word + "': write NAME=FILE");
    inputs.push_back({tensors::open_one(word.substr(equals + 1), own), true});
    inputs.back().tensor.name = word.substr(0, equals);
  }
  return inputs;
}

}  // namespace ulpscope::studies
