// SPDX-License-Identifier: Apache-2.0
// Goes through the nodes of a graph in their order.
#include "studies/onnx/graph.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "emu/error.hpp"
#include "emu/stop.hpp"
#include "emu/visible.hpp"
#include "studies/onnx/left_out.hpp"
#include "studies/onnx/operators.hpp"
#include "tensors/elements.hpp"
#include "tensors/memory_limit.hpp"

namespace ulpscope::studies {
namespace {

using onnx::Value;
using SharedValue = std::shared_ptr<const Value>;
using tensors::OnnxAttribute;
using tensors::OnnxFunction;
using tensors::OnnxGraph;
using tensors::OnnxModel;
using tensors::OnnxNode;

constexpr std::int64_t least_opset = 7;  // before it operators broadcast in another way
constexpr std::uint64_t most_computed = 1'000'000;
constexpr int deepest_scope = 32;  // functions of a model that call each other, and branches of nodes in branches

/// Values by their names: of the graph itself, of a branch in it, or of the nodes of a function.
struct Scope {
  const Scope* outer = nullptr;                    ///< of a branch: that of its node, whose values may be taken; else null
  int depth = 0;                                   ///< of scopes in scopes
  bool counts = true;                              ///< whether values are among those of the model
  std::string prefix = {};                         ///< of the names that these have there
  const OnnxFunction* function = nullptr;          ///< whose nodes these are
  const OnnxNode* call = nullptr;                  ///< of that function: its attributes are what nodes may name
  std::map<std::string, SharedValue> values = {};  ///< null: an input that the function's call leaves out
  std::map<std::string, const tensors::Tensor*> constants = {};  ///< initializers
  std::set<std::string> lost = {};                               ///< what was not computed
};

class Graph {
 public:
  Graph(const OnnxModel& model, const std::string& file, const OnnxRun& run) : model_(model), file_(file), run_(run) {}

  OnnxValues run() {
    if (model_.opset < least_opset)
      fail(model_.opset == 0 ? std::string("does not say which version of ONNX's operators it has")
                             : "has version " + std::to_string(model_.opset) + " of ONNX's operators; from " +
                                   std::to_string(least_opset) + " on they are computed");
    try {
      Scope scope;
      for (auto& [name, value] : values_given(model_, run_.inputs))
        scope.values[name] = std::make_shared<const Value>(std::move(value));
      compute(model_, scope);
    } catch (const Error& error) {
      fail(error.what());
    }
    OnnxValues out{.tensors = std::move(tensors_), .nodes = std::move(nodes_), .remarks = left_out_.remarks(file_)};
    std::string nothing = "gives no numbers";
    for (const std::string& remark : out.remarks) nothing += "; " + remark;
    if (out.tensors.empty()) fail(nothing);
    return out;
  }

 private:
  [[noreturn]] void fail(const std::string& why) const { throw Error(emu::visible(file_ + ": " + why)); }

  /// A value by its name, here or around; null where the function is not given it, nothing where there is none. Initializers
  /// are read for each node that takes them, and kept in their file. @throws onnx::NotComputed
  static std::optional<SharedValue> find(const std::string& name, const Scope& here) {
    for (const Scope* scope = &here; scope != nullptr; scope = scope->outer) {
      if (const auto found = scope->values.find(name); found != scope->values.end()) return found->second;
      if (const auto found = scope->constants.find(name); found != scope->constants.end())
        return std::make_shared<const Value>(onnx::value_of(*found->second));
      if (scope->lost.contains(name)) throw onnx::NotComputed(onnx::LeftOut::follows);
    }
    return std::nullopt;
  }

  const OnnxFunction* function_of(const OnnxNode& node) const {
    const auto found = std::ranges::find_if(model_.functions, [&](const OnnxFunction& one) {
      return one.name == node.op && one.domain == node.domain && one.overload == node.overload;
    });
    return found == model_.functions.end() ? nullptr : &*found;
  }

  static std::string op_of(const OnnxNode& node) { return (node.domain.empty() ? "" : node.domain + ".") + node.op; }
  static const std::string& own_name(const OnnxNode& node) {
    return !node.name.empty() || node.outputs.empty() ? node.name : node.outputs.front();
  }
  /// How messages name a node.
  static std::string name_of(const OnnxNode& node) { return "node '" + own_name(node) + "' (" + op_of(node) + ")"; }

  void take_turn(std::uint64_t nodes) {
    emu::stop_if_asked();
    computed_ += nodes;
    if (computed_ > most_computed)
      throw Error("computes more than " + std::to_string(most_computed) + " nodes, those of functions among them");
  }

  /// The initializers of a graph, then its nodes.
  void compute(const OnnxGraph& graph, Scope& scope) {
    take_turn(scope.depth == 0 ? 0 : graph.constants.size() + graph.sparse.size());
    for (const tensors::Tensor& tensor : graph.constants) {
      scope.constants.emplace(tensor.name, &tensor);
      if (scope.counts) count(tensor, tensor.name, {}, scope);
    }
    for (const std::string& name : graph.sparse) {
      scope.lost.insert(name);
      left_out_.add("sparse initializers", "'" + name + "'", "are not read");
    }
    compute(graph.nodes, scope);
  }

  void compute(const std::vector<OnnxNode>& nodes, Scope& scope) {
    for (const OnnxNode& node : nodes) {
      take_turn(1);
      try {
        compute(node, scope);
      } catch (const onnx::NotComputed& why) {
        scope.lost.insert(node.outputs.begin(), node.outputs.end());
        left_out_.add(op_of(node), name_of(node), why.what());
      } catch (const Error& error) {
        if (scope.function != nullptr) throw;  // whose call is named
        throw Error(name_of(node) + ": " + error.what());
      }
    }
  }

  void compute(const OnnxNode& node, Scope& scope) {
    const std::vector<SharedValue> outputs = results_of(node, scope);
    std::string lost;
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      const std::string& name = node.outputs[i];
      if (name.empty()) continue;
      if (i >= outputs.size() || !outputs[i]) {
        scope.lost.insert(name);
        lost = i >= outputs.size() ? "output " + std::to_string(i) : lost.empty() ? onnx::LeftOut::follows : lost;
        continue;
      }
      if (scope.constants.contains(name) || !scope.values.emplace(name, outputs[i]).second)
        throw Error("gives '" + name + "', which is there already");
      const Value& value = *outputs[i];
      const bool is_wanted = value.is_real() || (run_.integers && !value.is_sequence());
      if (!scope.counts || !is_wanted || (node.op == "Constant" && value.count() <= 1)) continue;
      count(tensor_of(outputs[i]), name, giving(node, outputs[i], scope), scope);
    }
    if (!lost.empty()) left_out_.add(op_of(node), name_of(node), lost);
  }

  /// As the tensor of a value will have it.
  std::string label_of(const std::string& name, const Scope& scope) const {
    return emu::visible(file_ + ":" + scope.prefix + name);
  }

  /// Of a value by its name, here or around; nothing where there is none.
  std::optional<std::string> label_around(const std::string& name, const Scope& here) const {
    for (const Scope* scope = &here; scope != nullptr; scope = scope->outer)
      if (scope->values.contains(name) || scope->constants.contains(name)) return label_of(name, *scope);
    return std::nullopt;
  }

  /// A node, and what it takes to give a value.
  ValueNode giving(const OnnxNode& node, const SharedValue& value, const Scope& here) const {
    ValueNode out{.op = emu::visible(op_of(node)), .name = emu::visible(own_name(node))};
    for (const std::string& name : node.inputs)
      if (std::optional<std::string> label = label_around(name, here)) out.takes.push_back(*std::move(label));
    if (const auto same = branch_labels_.find(value); same != branch_labels_.end()) out.takes.push_back(same->second);
    return out;
  }

  /// Adds a tensor to those of the model. @throws Error where another has its label
  void count(tensors::Tensor tensor, const std::string& name, ValueNode node, const Scope& scope) {
    // Prefixes and names many values may have, however long they are.
    texts_ += 2 * scope.prefix.size() + node.op.size() + node.name.size();
    for (const std::string& taken : node.takes) texts_ += taken.size();
    names_.grow(texts_);
    tensor.name = scope.prefix + name;
    tensor.label = label_of(name, scope);
    if (!nodes_.emplace(tensor.label, std::move(node)).second) throw Error("two values would be named '" + tensor.name + "'");
    tensors_.push_back(std::move(tensor));
  }

  /// What a node gives; null: not computed.
  std::vector<SharedValue> results_of(const OnnxNode& written, const Scope& scope) {
    std::vector<SharedValue> inputs;
    for (const std::string& name : written.inputs) {
      const std::optional<SharedValue> found = name.empty() ? SharedValue() : find(name, scope);
      if (!found) throw Error("input '" + name + "' is given by no node before it");
      inputs.push_back(*found);
    }
    std::optional<OnnxNode> meant;
    if (scope.function != nullptr) meant = with_attributes(written, scope);
    const OnnxNode& node = meant ? *meant : written;
    if (const OnnxFunction* const function = function_of(node)) return called(*function, node, inputs, scope);
    if (node.domain.empty())
      for (const ControlFlow& one : control_flow)
        if (one.name == node.op) return (this->*one.run)(node, inputs, scope);
    const onnx::Operator* const known = node.domain.empty() ? onnx::find_operator(node.op) : nullptr;
    if (known == nullptr) throw onnx::NotComputed(onnx::LeftOut::unknown);
    onnx::Call call{node, {}, model_.opset, run_.threads};
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i] && inputs[i]->is_sequence() && !known->takes_sequences)
        throw Error("input '" + node.inputs[i] + "' is a sequence, where a tensor is wanted");
      call.inputs.push_back(inputs[i].get());
    }
    std::vector<SharedValue> outputs;
    for (Value& value : known->run(call)) {
      onnx::wrap(value);
      onnx::count_again(value);
      outputs.push_back(std::make_shared<const Value>(std::move(value)));
    }
    return outputs;
  }

  /// A node of a function with the attributes of the function's call in the places that name them.
  static OnnxNode with_attributes(const OnnxNode& written, const Scope& scope) {
    OnnxNode node = written;
    node.attributes.clear();
    for (const OnnxAttribute& attribute : written.attributes) {
      const std::string& name = attribute.refers_to;
      const OnnxAttribute* meant = name.empty() ? &attribute : scope.call->find(name);
      const auto standard = std::ranges::find(scope.function->defaults, name, &OnnxAttribute::name);
      if (meant == nullptr && standard != scope.function->defaults.end()) meant = &*standard;
      if (meant == nullptr) continue;
      node.attributes.push_back(*meant);
      node.attributes.back().name = attribute.name;
    }
    return node;
  }

  static Scope inside(const Scope& scope) {
    if (scope.depth == deepest_scope)
      throw Error("functions and branches in each other deeper than " + std::to_string(deepest_scope));
    return {.depth = scope.depth + 1, .counts = scope.counts};
  }

  /// The outputs of a graph or of a function.
  static std::vector<SharedValue> outputs_of(const std::vector<std::string>& names, const Scope& scope) {
    std::vector<SharedValue> outputs;
    for (const std::string& name : names) {
      try {
        const std::optional<SharedValue> found = find(name, scope);
        if (!found) throw Error("output '" + name + "' is given by none of its nodes");
        outputs.push_back(*found);
      } catch (const onnx::NotComputed&) {
        outputs.push_back(nullptr);
      }
    }
    return outputs;
  }

  /// A function of the model's own.
  std::vector<SharedValue> called(const OnnxFunction& function, const OnnxNode& call, const std::vector<SharedValue>& inputs,
                                  const Scope& scope) {
    Scope own = inside(scope);
    own.counts = false, own.function = &function, own.call = &call;
    for (std::size_t i = 0; i < function.inputs.size(); ++i)
      own.values[function.inputs[i]] = i < inputs.size() ? inputs[i] : nullptr;
    compute(function.nodes, own);
    return outputs_of(function.outputs, own);
  }

  /// The one of two graphs that a truth value says.
  std::vector<SharedValue> branch(const OnnxNode& node, const std::vector<SharedValue>& inputs, const Scope& scope) {
    if (inputs.size() != 1 || !inputs[0]) throw Error("has no condition");
    const Value& condition = inputs[0]->as_integers();
    if (condition.count() != 1) throw Error("a condition of " + onnx::words_of(condition.shape));
    const char* const name = condition.wholes[0] != 0 ? "then_branch" : "else_branch";
    const OnnxAttribute* const taken = node.find(name);
    if (taken == nullptr || !taken->graph) throw Error(std::string("has no ") + name);
    if (!taken->graph->inputs.empty() || taken->graph->outputs.size() != node.outputs.size())
      throw Error(std::string(name) + " has inputs, or other outputs than its node");
    Scope own = inside(scope);
    own.outer = &scope, own.function = scope.function, own.call = scope.call;
    if (own.counts) own.prefix = scope.prefix + node.prefix_of(*taken);
    compute(*taken->graph, own);
    const std::vector<std::string>& names = taken->graph->outputs;
    std::vector<SharedValue> outputs = outputs_of(names, own);
    for (std::size_t i = 0; own.counts && i < outputs.size(); ++i)
      if (const auto label = label_around(names[i], own); outputs[i] && label) branch_labels_[outputs[i]] = *label;
    return outputs;
  }

  /// Operators that compute graphs which are their attributes.
  struct ControlFlow {
    std::string_view name;
    std::vector<SharedValue> (Graph::*run)(const OnnxNode&, const std::vector<SharedValue>&, const Scope&);
  };
  static const ControlFlow control_flow[1];

  static tensors::Tensor tensor_of(const SharedValue& value) {
    const std::vector<std::uint64_t> shape(value->shape.begin(), value->shape.end());
    return value->is_real() ? tensors::over_values({}, shape, value->reals, value)
                            : tensors::over_integers({}, shape, value->dtype, value->wholes, value);
  }

  const OnnxModel& model_;
  const std::string& file_;
  const OnnxRun& run_;
  std::uint64_t computed_ = 0, texts_ = 0;
  tensors::HeldMemory names_{"the names of a model's values"};
  std::vector<tensors::Tensor> tensors_;
  ValueNodes nodes_;
  std::map<SharedValue, std::string> branch_labels_;  ///< of what branches give, by the names that it has there
  onnx::LeftOut left_out_;
};

constexpr Graph::ControlFlow Graph::control_flow[] = {{"If", &Graph::branch}};

}  // namespace

OnnxValues onnx_values(const tensors::FileBytes& file, const OnnxRun& run) {
  const OnnxModel model = tensors::read_onnx_model(file);
  return Graph(model, file.name, run).run();
}

}  // namespace ulpscope::studies
