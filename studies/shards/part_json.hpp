// SPDX-License-Identifier: Apache-2.0
// JSON of what a part holds of tensors. Opt in: it includes nlohmann-json.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "studies/census/tensor_part.hpp"
#include "tensors/tensor.hpp"

namespace ulpscope::studies {

/// Members are in the order in which they are written.
using PartJson = nlohmann::ordered_json;

/// What is not as a part is written.
struct Malformed {
  std::string what;  ///< in words that follow the name of the file
};

/// What a tensor is, without its elements.
PartJson json_tensor(const tensors::Tensor& of);
/// Back from it. @throws Malformed, emu::BadJson, nlohmann::json::exception, ulpscope::Error, std::out_of_range, as the next
/// does
tensors::Tensor tensor_of(const PartJson& json);

/// What was measured.
PartJson json_part(const TensorPart& of);
/// Back from it. `check_sums` is told of all sums one by one, before the next are made, and throws where they cannot be.
TensorPart tensor_part_of(const PartJson& json, const std::function<void(const PartialSums&)>& check_sums);

}  // namespace ulpscope::studies
