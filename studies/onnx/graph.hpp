// SPDX-License-Identifier: Apache-2.0
// A model's values: what its nodes compute in float32 of inputs that it is given.
#pragma once

#include <string>
#include <vector>

#include "studies/onnx/given.hpp"
#include "studies/onnx/value_nodes.hpp"
#include "tensors/readers.hpp"
#include "tensors/tensor.hpp"

namespace ulpscope::studies {

/// What a model is given, and how it is computed.
struct OnnxRun {
  std::vector<OnnxGiven> inputs;  ///< where the model wants one alone, any one that is not named
  int threads = 0;                ///< of its products
  bool integers = false;          ///< whether integers and truth values are among its values
};

/// What a model computes.
struct OnnxValues {
  std::vector<tensors::Tensor> tensors;  ///< initializers, and each node's outputs, in order
  ValueNodes nodes;                      ///< what gives each of them
  std::vector<std::string> remarks;      ///< what was not computed, and why: one line for each operator
};

/// The values of a model. Operators that are not known, and what follows from them, are left out and named; all else is there.
/// @throws ulpscope::Error naming an input that is missing or does not fit, or the node that cannot be what the model says
OnnxValues onnx_values(const tensors::FileBytes& file, const OnnxRun& run);

}  // namespace ulpscope::studies
