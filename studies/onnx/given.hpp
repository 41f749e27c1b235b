// SPDX-License-Identifier: Apache-2.0
// What a model is given: tensors for its inputs.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "studies/onnx/value.hpp"
#include "tensors/onnx.hpp"
#include "tensors/tensor.hpp"

namespace ulpscope::studies {

/// A tensor for a model.
struct OnnxGiven {
  tensors::Tensor tensor;  ///< by its name
  bool is_named = false;   ///< for that input and no other
};

/// The tensors that words name: `FILE`, all tensors of a file by their own names, `NAME=FILE`, a tensor by another, or `none`.
/// Synthetic tensors have seeds that follow one another.
/// @throws ulpscope::Error as tensors::open()
std::vector<OnnxGiven> model_inputs_of(const std::vector<std::string>& words, const tensors::OpenOptions& options);

/// The values of a model's inputs by their names.
/// @throws ulpscope::Error naming an input that is missing or does not fit
std::map<std::string, onnx::Value> values_given(const tensors::OnnxModel& model, const std::vector<OnnxGiven>& inputs);

}  // namespace ulpscope::studies
