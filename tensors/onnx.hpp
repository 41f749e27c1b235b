// SPDX-License-Identifier: Apache-2.0
// Models in ONNX (onnx.proto of the Open Neural Network Exchange, IR versions 3 and later): their constants, which are tensors
// as those of any file, and the graph that computes with them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tensors/readers.hpp"
#include "tensors/tensor.hpp"

namespace ulpscope::tensors {

struct OnnxGraph;

/// What a node is told beside its inputs; the members of AttributeProto that are set.
struct OnnxAttribute {
  std::string name;                             ///< by which a node finds it
  std::optional<float> real = {};               ///< `f`
  std::optional<std::int64_t> whole = {};       ///< `i`
  std::optional<std::string> text = {};         ///< `s`
  std::optional<Tensor> tensor = {};            ///< `t`
  std::shared_ptr<const OnnxGraph> graph = {};  ///< `g`
  std::vector<float> reals = {};                ///< `floats`
  std::vector<std::int64_t> wholes = {};        ///< `ints`
  std::string refers_to = {};                   ///< in a function: the attribute of its call that is meant; else empty
};

/// A call of an operator.
struct OnnxNode {
  std::string name;                       ///< for messages; may be empty
  std::string op;                         ///< `MatMul`
  std::string domain;                     ///< empty for the operators of ONNX itself
  std::string overload;                   ///< of a function of several by one name
  std::vector<std::string> inputs;        ///< values by name; an empty name: none is given
  std::vector<std::string> outputs;       ///< the same
  std::vector<OnnxAttribute> attributes;  ///< by name

  /// The attribute of this name, or null.
  const OnnxAttribute* find(std::string_view wanted) const;
  /// What stands before the names of values of an attribute's graph: `NODE/ATTRIBUTE/`.
  std::string prefix_of(const OnnxAttribute& attribute) const;
};

/// A value that a model is given.
struct OnnxInput {
  std::string name;                ///< in the graph
  std::string dtype;               ///< as DType::name; empty where the model does not say it
  std::vector<std::string> shape;  ///< extents, or names of extents; `?` where neither is said
};

/// An operator that a model defines by others.
struct OnnxFunction {
  std::string name, domain, overload;        ///< as its calls have them
  std::vector<std::string> inputs, outputs;  ///< names in its nodes
  std::vector<OnnxAttribute> defaults;       ///< attributes that a call may leave out
  std::vector<OnnxNode> nodes;               ///< in an order in which they can be computed
};

/// Nodes, with what they take and give.
struct OnnxGraph {
  std::vector<Tensor> constants;     ///< initializers, in the order of the file; opaque where the type is not known
  std::vector<OnnxNode> nodes;       ///< in an order in which they can be computed; those with graphs have names of their own
  std::vector<OnnxInput> inputs;     ///< those that are no initializers
  std::vector<std::string> outputs;  ///< names of values
  std::vector<std::string> sparse;   ///< names of sparse initializers, which are not read
};

/// A model: its graph, and what the nodes of that may mean.
struct OnnxModel : OnnxGraph {
  std::vector<OnnxFunction> functions;  ///< of the model's own
  std::int64_t opset = 0;               ///< version of ONNX's own operators; 0 where the model does not say it
};

/// @throws ulpscope::Error where it is no such file, or names data that do not lie in it or beside it
OnnxModel read_onnx_model(const FileBytes& file);
/// Its initializers, and the constants of its nodes that are more than a number, those of graphs in it among them.
/// @throws ulpscope::Error as read_onnx_model(), and where there are none
std::vector<Tensor> read_onnx(const FileBytes& file);

/// What a tensor of a type number of ONNX has (TensorProto.DataType); nothing where it is not known.
std::optional<std::string> onnx_dtype(std::int64_t type);

}  // namespace ulpscope::tensors
