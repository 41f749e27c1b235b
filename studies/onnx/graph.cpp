// SPDX-License-Identifier: Apache-2.0
// Goes through the nodes of a graph in their order.
#include "studies/onnx/graph.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "emu/error.hpp"
#include "emu/stop.hpp"
#include "emu/visible.hpp"
#include "studies/onnx/operators.hpp"
#include "tensors/elements.hpp"

namespace ulpscope::studies {
namespace {

using onnx::Value;
using Values = std::map<std::string, std::shared_ptr<const Value>>;
using tensors::OnnxAttribute;
using tensors::OnnxFunction;
using tensors::OnnxInput;
using tensors::OnnxModel;
using tensors::OnnxNode;

constexpr std::int64_t least_opset = 7;  // before it operators broadcast in another way
constexpr std::uint64_t most_computed = 1'000'000;
constexpr int deepest_call = 32;  // functions of a model that call each other

bool is_whole(float x) { return std::floor(x) == x && std::fabs(x) <= 0x1p24F; }

std::string words_of(const OnnxInput& input) {
  std::string extents;
  for (const std::string& extent : input.shape) extents += (extents.empty() ? "" : " x ") + extent;
  const std::string& type = input.dtype;
  return "'" + input.name + "' (" + type + (type.empty() || extents.empty() ? "" : ", ") + extents + ")";
}

class Graph {
 public:
  Graph(const OnnxModel& model, const std::string& file, const OnnxRun& run) : model_(model), file_(file), run_(run) {}

  OnnxValues run() {
    OnnxValues out;
    if (model_.opset < least_opset)
      fail(model_.opset == 0 ? std::string("does not say which version of ONNX's operators it has")
                             : "has version " + std::to_string(model_.opset) + " of ONNX's operators; from " +
                                   std::to_string(least_opset) + " on they are computed");
    Values values;
    for (const tensors::Tensor& tensor : model_.constants) {
      out.tensors.push_back(tensor);
      constants_.emplace(tensor.name, &tensor);
    }
    give_inputs(values);
    for (const std::string& name : model_.sparse) {
      lost_.emplace(0, name);
      left_out_["sparse initializers"].push_back({"'" + name + "'", "are not read"});
    }
    compute(model_.nodes, values, 0, &out.tensors);
    out.remarks = remarks();
    if (out.tensors.empty()) fail("gives no numbers" + (out.remarks.empty() ? std::string() : "; " + out.remarks.front()));
    return out;
  }

 private:
  struct LeftOut {
    std::string node, why;
  };

  [[noreturn]] void fail(const std::string& why) const { throw Error(emu::visible(file_ + ": " + why)); }

  /// A value by its name; null where there is none. Initializers are read for each node that takes them, and kept in their
  /// file.
  std::shared_ptr<const Value> find(const std::string& name, const Values& values, int depth) const {
    if (const auto found = values.find(name); found != values.end()) return found->second;
    const auto constant = depth == 0 ? constants_.find(name) : constants_.end();
    return constant == constants_.end() ? nullptr : std::make_shared<const Value>(onnx::value_of(*constant->second));
  }

  void give_inputs(Values& values) {
    std::set<const OnnxGiven*> used;
    std::map<std::string, std::size_t> extents;
    for (const OnnxInput& input : model_.inputs) {
      auto found = std::ranges::find(run_.inputs, input.name, name_of_given);
      if (found == run_.inputs.end() && model_.inputs.size() == 1 && run_.inputs.size() == 1 && !run_.inputs.front().is_named)
        found = run_.inputs.begin();
      if (found == run_.inputs.end()) {
        std::string given;
        for (const OnnxGiven& one : run_.inputs) given += (given.empty() ? "" : ", ") + one.tensor.name;
        fail("input " + words_of(input) + " is not among those of --inputs, which are " + (given.empty() ? "none" : given));
      }
      used.insert(&*found);
      values[input.name] = std::make_shared<const Value>(value_of(input, found->tensor, extents));
    }
    std::set<std::string> names;
    for (const OnnxGiven& one : run_.inputs) {
      const std::string& name = one.tensor.name;
      if (!names.insert(name).second) fail("input '" + name + "' is given twice");
      if (!used.contains(&one))
        fail("has no input '" + name + "', which " + one.tensor.label + " would be" +
             (model_.inputs.empty() ? "" : "; there is " + words_of(model_.inputs.front())));
    }
  }

  static const std::string& name_of_given(const OnnxGiven& given) { return given.tensor.name; }

  /// A given tensor as an input; `extents` are those that names stand for.
  Value value_of(const OnnxInput& input, const tensors::Tensor& given, std::map<std::string, std::size_t>& extents) const {
    Value value = onnx::value_of(given);
    // A synthetic tensor of integers has them as floats.
    const Value::Kind wanted = input.dtype.empty() ? value.kind : onnx::kind_of(input.dtype);
    const auto fits = [&](float x) { return is_whole(x) && (wanted == Value::Kind::whole || x == 0 || x == 1); };
    if (wanted != Value::Kind::real && value.is_real() && std::ranges::all_of(value.reals, fits)) {
      value.kind = wanted;
      value.wholes.assign(value.reals.begin(), value.reals.end());
      value.reals.clear();
    }
    const auto refuse = [&](const std::string& as) {
      fail("input " + words_of(input) + " is given as " + as + " by " + given.label);
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
        refuse(onnx::words_of(value.shape) + ", and " + extent + " is " + std::to_string(known->second) + " elsewhere");
    }
    return value;
  }

  const OnnxFunction* function_of(const OnnxNode& node) const {
    const auto found = std::ranges::find_if(model_.functions, [&](const OnnxFunction& one) {
      return one.name == node.op && one.domain == node.domain && one.overload == node.overload;
    });
    return found == model_.functions.end() ? nullptr : &*found;
  }

  static std::string op_of(const OnnxNode& node) { return (node.domain.empty() ? "" : node.domain + ".") + node.op; }
  /// How messages name a node.
  static std::string name_of(const OnnxNode& node) {
    const std::string& name = !node.name.empty() || node.outputs.empty() ? node.name : node.outputs.front();
    return "node '" + name + "' (" + op_of(node) + ")";
  }

  /// Computes nodes; those of the graph itself add what they give to `tensors`.
  void compute(const std::vector<OnnxNode>& nodes, Values& values, int depth, std::vector<tensors::Tensor>* tensors) {
    for (const OnnxNode& node : nodes) {
      emu::stop_if_asked();
      if (++computed_ > most_computed)
        fail("computes more than " + std::to_string(most_computed) + " nodes, those of functions among them");
      std::vector<Value> outputs;
      try {
        outputs = results_of(node, values, depth);
      } catch (const onnx::NotComputed& why) {
        for (const std::string& name : node.outputs) lost_.emplace(depth, name);
        left_out_[op_of(node)].push_back({name_of(node), why.what()});
        continue;
      } catch (const Error& error) {
        if (depth > 0) throw;
        fail(name_of(node) + ": " + error.what());
      }
      for (std::size_t i = 0; i < node.outputs.size(); ++i) {
        const std::string& name = node.outputs[i];
        if (name.empty()) continue;
        if (i >= outputs.size()) {
          lost_.emplace(depth, name);
          left_out_[op_of(node)].push_back({name_of(node), "output " + std::to_string(i)});
          continue;
        }
        onnx::wrap(outputs[i]);
        const auto value = std::make_shared<const Value>(std::move(outputs[i]));
        if (values.contains(name) || (depth == 0 && constants_.contains(name)))
          fail(name_of(node) + ": gives '" + name + "', which is there already");
        values[name] = value;
        if (tensors != nullptr && (value->is_real() || run_.integers) && !(node.op == "Constant" && value->count() <= 1))
          tensors->push_back(tensor_of(name, value));
      }
    }
  }

  std::vector<Value> results_of(const OnnxNode& node, const Values& values, int depth) {
    std::vector<std::shared_ptr<const Value>> inputs;
    for (const std::string& name : node.inputs) {
      inputs.push_back(name.empty() ? nullptr : find(name, values, depth));
      if (name.empty() || inputs.back()) continue;
      if (lost_.contains({depth, name})) throw onnx::NotComputed(follows);
      throw Error("input '" + name + "' is given by no node before it");
    }
    if (const OnnxFunction* const function = function_of(node)) return called(*function, node, inputs, depth);
    const onnx::Operator* const known = node.domain.empty() ? onnx::find_operator(node.op) : nullptr;
    if (known == nullptr) throw onnx::NotComputed(unknown);
    onnx::Call call{node, {}, model_.opset, run_.threads};
    for (const auto& input : inputs) call.inputs.push_back(input.get());
    return known->run(call);
  }

  /// A function of the model's own: its nodes with the call's attributes in the places that name them.
  std::vector<Value> called(const OnnxFunction& function, const OnnxNode& call,
                            const std::vector<std::shared_ptr<const Value>>& inputs, int depth) {
    if (depth == deepest_call) throw Error("functions that call each other deeper than " + std::to_string(deepest_call));
    Values own;
    for (std::size_t i = 0; i < std::min(function.inputs.size(), inputs.size()); ++i)
      if (inputs[i]) own[function.inputs[i]] = inputs[i];
    std::vector<OnnxNode> nodes = function.nodes;
    for (OnnxNode& node : nodes) {
      std::vector<OnnxAttribute> attributes;
      for (OnnxAttribute& attribute : node.attributes) {
        if (attribute.refers_to.empty()) {
          attributes.push_back(std::move(attribute));
          continue;
        }
        const OnnxAttribute* meant = call.find(attribute.refers_to);
        const auto standard = std::ranges::find(function.defaults, attribute.refers_to, &OnnxAttribute::name);
        if (meant == nullptr && standard != function.defaults.end()) meant = &*standard;
        if (meant == nullptr) continue;
        attributes.push_back(*meant);
        attributes.back().name = attribute.name;
      }
      node.attributes = std::move(attributes);
      // An input that the call leaves out is none inside, either.
      for (std::string& name : node.inputs)
        if (!own.contains(name) && std::ranges::find(function.inputs, name) != function.inputs.end()) name.clear();
    }
    compute(nodes, own, depth + 1, nullptr);
    std::vector<Value> outputs;
    for (const std::string& name : function.outputs) {
      const auto found = own.find(name);
      if (found == own.end() && !lost_.contains({depth + 1, name}))
        throw Error("output '" + name + "' is given by none of its nodes");
      if (found == own.end()) throw onnx::NotComputed(follows);
      outputs.push_back(*found->second);
    }
    return outputs;
  }

  tensors::Tensor tensor_of(const std::string& name, const std::shared_ptr<const Value>& value) const {
    const std::vector<std::uint64_t> shape(value->shape.begin(), value->shape.end());
    tensors::Tensor tensor = value->is_real()
                                 ? tensors::over_values(file_ + ":" + name, shape, value->reals, value)
                                 : tensors::over_integers(file_ + ":" + name, shape, value->dtype, value->wholes, value);
    tensor.name = name;
    return tensor;
  }

  /// One line for each operator that was not computed, and one for all that follows from these.
  std::vector<std::string> remarks() const {
    std::vector<std::string> lines;
    std::size_t following = 0;
    for (const auto& [op, nodes] : left_out_) {
      const auto first = std::ranges::find_if(nodes, [](const LeftOut& one) { return one.why != follows; });
      const auto own =
          static_cast<std::size_t>(std::ranges::count_if(nodes, [](const LeftOut& one) { return one.why != follows; }));
      following += nodes.size() - own;
      if (own == 0) continue;
      lines.push_back(emu::visible(file_ + ": not computed: " + op +
                                   (first->why == unknown ? ", which is not known" : ": " + first->why) + " (" +
                                   std::to_string(own) + (own == 1 ? " node, " : " nodes, the first ") + first->node + ")"));
    }
    if (following != 0)
      lines.push_back(emu::visible(
          file_ + ": " + std::to_string(following) +
          (following == 1 ? " node that follows from these is left out" : " nodes that follow from these are left out")));
    return lines;
  }

  static constexpr const char* follows = "follows from what is not computed";
  static constexpr const char* unknown = "is not known";

  const OnnxModel& model_;
  const std::string& file_;
  const OnnxRun& run_;
  std::uint64_t computed_ = 0;
  std::set<std::pair<int, std::string>> lost_;  ///< values that were not computed, by the depth of their nodes
  std::map<std::string, const tensors::Tensor*> constants_;
  std::map<std::string, std::vector<LeftOut>> left_out_;  ///< by operator
};

}  // namespace

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

OnnxValues onnx_values(const tensors::FileBytes& file, const OnnxRun& run) {
  const OnnxModel model = tensors::read_onnx_model(file);
  return Graph(model, file.name, run).run();
}

}  // namespace ulpscope::studies
