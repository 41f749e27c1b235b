// SPDX-License-Identifier: Apache-2.0
// The .onnx reader: fields by their numbers in onnx.proto, read by protozero. Nothing of a file is believed: a field of another
// wire type than its own is passed over as one that is not known, and data must lie in the file, or in one beside it.
#include "tensors/onnx.hpp"

#include <algorithm>
#include <memory>
#include <protozero/pbf_reader.hpp>
#include <set>
#include <utility>

#include "emu/error.hpp"
#include "emu/visible.hpp"
#include "tensors/memory_limit.hpp"
#include "tensors/onnx_tensors.hpp"

namespace ulpscope::tensors {
namespace {

using protozero::pbf_reader;

constexpr int deepest_graph = 32;  // of graphs that are attributes of nodes of others

class OnnxReader {
 public:
  explicit OnnxReader(const FileBytes& file) : file_(file), tensors_(file) {}

  OnnxModel read() {
    try {
      model(pbf_reader(tensors_.message()));
    } catch (const protozero::exception& wrong) {
      fail(std::string("is no protocol buffer of an ONNX model, or is not complete (") + wrong.what() + ")");
    }
    file_.bytes->check();
    if (!has_graph_) fail("holds no graph; is it an ONNX model?");
    return std::move(model_);
  }

 private:
  static constexpr auto message = protozero::pbf_wire_type::length_delimited;

  [[noreturn]] void fail(const std::string& why) const { tensors_.fail(why); }
  std::string name_in(pbf_reader& from) const { return tensors_.name_in(from); }

  void model(pbf_reader from) {
    while (from.next()) {
      switch (static_cast<std::uint32_t>(from.tag_and_type())) {
        case onnx_bytes(7):
          if (std::exchange(has_graph_, true)) fail("holds two graphs");
          static_cast<OnnxGraph&>(model_) = graph(from.get_message());
          break;
        case onnx_bytes(8): operators(from.get_message()); break;
        case onnx_bytes(25): model_.functions.push_back(function(from.get_message())); break;
        default: from.skip();
      }
    }
  }

  void operators(pbf_reader from) {
    std::string domain;
    std::int64_t version = 0;
    while (from.next()) {
      switch (static_cast<std::uint32_t>(from.tag_and_type())) {
        case onnx_bytes(1): domain = name_in(from); break;
        case onnx_varint(2): version = from.get_int64(); break;
        default: from.skip();
      }
    }
    if (domain.empty() || domain == "ai.onnx") model_.opset = version;
  }

  OnnxGraph graph(pbf_reader from) {
    if (++depth_ > deepest_graph) fail("holds graphs in graphs deeper than " + std::to_string(deepest_graph));
    OnnxGraph made;
    while (from.next()) {
      switch (static_cast<std::uint32_t>(from.tag_and_type())) {
        case onnx_bytes(1): made.nodes.push_back(node(from.get_message())); break;
        case onnx_bytes(5): made.constants.push_back(tensors_.tensor(from.get_message())); break;
        case onnx_bytes(11): made.inputs.push_back(input(from.get_message())); break;
        case onnx_bytes(12): made.outputs.push_back(input(from.get_message()).name); break;
        case onnx_bytes(15): {
          pbf_reader sparse = from.get_message();
          while (sparse.next(1, message)) made.sparse.push_back(name_of(sparse.get_message()));
          break;
        }
        default: from.skip();
      }
    }
    --depth_;
    tell_apart(made.nodes);
    std::set<std::string> constants;
    for (const Tensor& tensor : made.constants)
      if (!constants.insert(tensor.name).second) fail("holds initializer '" + tensor.name + "' twice");
    std::erase_if(made.inputs, [&](const OnnxInput& input) { return constants.contains(input.name); });
    return made;
  }

  /// Nodes that have graphs get names of their own, by which the names of these graphs' values are told apart.
  static void tell_apart(std::vector<OnnxNode>& nodes) {
    std::set<std::string> names;
    for (OnnxNode& node : nodes) {
      const auto has_graph = [](const OnnxAttribute& attribute) { return attribute.graph != nullptr; };
      if (node.outputs.empty() || std::ranges::none_of(node.attributes, has_graph)) continue;
      if (node.name.empty()) node.name = node.outputs.front();
      if (!names.insert(node.name).second) node.name += "/" + node.outputs.front();
    }
  }

  /// Of a TensorProto.
  std::string name_of(pbf_reader from) const { return from.next(8, message) ? name_in(from) : std::string(); }

  OnnxFunction function(pbf_reader from) {
    OnnxFunction made;
    while (from.next()) {
      switch (static_cast<std::uint32_t>(from.tag_and_type())) {
        case onnx_bytes(1): made.name = name_in(from); break;
        case onnx_bytes(4): made.inputs.push_back(name_in(from)); break;
        case onnx_bytes(5): made.outputs.push_back(name_in(from)); break;
        case onnx_bytes(7): made.nodes.push_back(node(from.get_message())); break;
        case onnx_bytes(10): made.domain = name_in(from); break;
        case onnx_bytes(13): made.overload = name_in(from); break;
        case onnx_bytes(11): made.defaults.push_back(attribute(from.get_message())); break;
        default: from.skip();
      }
    }
    return made;
  }

  OnnxNode node(pbf_reader from) {
    OnnxNode made;
    while (from.next()) {
      switch (static_cast<std::uint32_t>(from.tag_and_type())) {
        case onnx_bytes(1): made.inputs.push_back(name_in(from)); break;
        case onnx_bytes(2): made.outputs.push_back(name_in(from)); break;
        case onnx_bytes(3): made.name = name_in(from); break;
        case onnx_bytes(4): made.op = name_in(from); break;
        case onnx_bytes(5): made.attributes.push_back(attribute(from.get_message())); break;
        case onnx_bytes(7): made.domain = name_in(from); break;
        case onnx_bytes(8): made.overload = name_in(from); break;
        default: from.skip();
      }
    }
    if (made.domain == "ai.onnx") made.domain.clear();
    return made;
  }

  OnnxAttribute attribute(pbf_reader from) {
    OnnxAttribute made;
    while (from.next()) {
      switch (static_cast<std::uint32_t>(from.tag_and_type())) {
        case onnx_bytes(1): made.name = name_in(from); break;
        case onnx_fixed32(2): made.real = from.get_float(); break;
        case onnx_varint(3): made.whole = from.get_int64(); break;
        case onnx_bytes(4): {
          const protozero::data_view view = from.get_view();
          made.text = std::string(view.data(), view.size());
          break;
        }
        case onnx_bytes(5): made.tensor = tensors_.tensor(from.get_message()); break;
        case onnx_bytes(6): made.graph = std::make_shared<const OnnxGraph>(graph(from.get_message())); break;
        case onnx_fixed32(7): made.reals.push_back(from.get_float()); break;
        case onnx_bytes(7):
          for (const float value : from.get_packed_float()) made.reals.push_back(value);
          break;
        case onnx_varint(8): made.wholes.push_back(from.get_int64()); break;
        case onnx_bytes(8):
          for (const std::int64_t value : from.get_packed_int64()) made.wholes.push_back(value);
          break;
        case onnx_bytes(21): made.refers_to = name_in(from); break;
        default: from.skip();
      }
    }
    return made;
  }

  OnnxInput input(pbf_reader from) {
    OnnxInput made;
    while (from.next()) {
      switch (static_cast<std::uint32_t>(from.tag_and_type())) {
        case onnx_bytes(1): made.name = name_in(from); break;
        case onnx_bytes(2): {
          pbf_reader type = from.get_message();
          while (type.next(1, message)) tensor_type(type.get_message(), made);
          break;
        }
        default: from.skip();
      }
    }
    return made;
  }

  void tensor_type(pbf_reader from, OnnxInput& made) const {
    while (from.next()) {
      switch (static_cast<std::uint32_t>(from.tag_and_type())) {
        case onnx_varint(1): made.dtype = onnx_dtype(from.get_int64()).value_or(""); break;
        case onnx_bytes(2): {
          pbf_reader shape = from.get_message();
          while (shape.next(1, message)) made.shape.push_back(extent(shape.get_message()));
          break;
        }
        default: from.skip();
      }
    }
  }

  std::string extent(pbf_reader from) const {
    std::string made = "?";
    while (from.next()) {
      switch (static_cast<std::uint32_t>(from.tag_and_type())) {
        case onnx_varint(1):
          if (const std::int64_t known = from.get_int64(); known >= 0) made = std::to_string(known);
          break;
        case onnx_bytes(2): made = name_in(from); break;
        default: from.skip();
      }
    }
    return made;
  }

  const FileBytes& file_;
  OnnxTensors tensors_;
  OnnxModel model_;
  bool has_graph_ = false;
  int depth_ = 0;
};

/// The constants of a graph and of those in it.
class OnnxConstants {
 public:
  explicit OnnxConstants(const std::string& file) : file_(file), memory_(emu::visible(file)) {}

  /// Adds initializers and the constants of nodes, where some exporters have weights.
  void add(const OnnxGraph& graph, const std::string& prefix) {
    for (const Tensor& tensor : graph.constants) add(tensor, prefix, tensor.name);
    for (const OnnxNode& node : graph.nodes) {
      const OnnxAttribute* const value = node.op == "Constant" && node.outputs.size() == 1 ? node.find("value") : nullptr;
      if (value != nullptr && value->tensor && value->tensor->count() > 1) add(*value->tensor, prefix, node.outputs.front());
      for (const OnnxAttribute& attribute : node.attributes)
        if (attribute.graph) add(*attribute.graph, prefix + node.prefix_of(attribute));
    }
  }

  std::vector<Tensor> all;

 private:
  void add(const Tensor& tensor, const std::string& prefix, const std::string& name) {
    memory_.grow(bytes_ += 2 * prefix.size());  // which many may have, however long it is
    all.push_back(tensor);
    all.back().name = prefix + name;
    all.back().label = file_ + ":" + all.back().name;
  }

  const std::string& file_;
  HeldMemory memory_;
  std::uint64_t bytes_ = 0;
};

}  // namespace

const OnnxAttribute* OnnxNode::find(std::string_view wanted) const {
  const auto found = std::ranges::find(attributes, wanted, &OnnxAttribute::name);
  return found == attributes.end() ? nullptr : &*found;
}

std::string OnnxNode::prefix_of(const OnnxAttribute& attribute) const { return name + "/" + attribute.name + "/"; }

OnnxModel read_onnx_model(const FileBytes& file) { return OnnxReader(file).read(); }

std::vector<Tensor> read_onnx(const FileBytes& file) {
  OnnxConstants constants(file.name);
  constants.add(read_onnx_model(file), "");
  if (constants.all.empty()) throw Error(emu::visible(file.name + ": holds no constants, which are the tensors of a model"));
  return std::move(constants.all);
}

}  // namespace ulpscope::tensors
