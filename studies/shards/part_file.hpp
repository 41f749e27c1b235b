// SPDX-License-Identifier: Apache-2.0
// What one shard of a census or sweep has measured, as text, and the whole from the texts of all.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "studies/census/tensor_part.hpp"
#include "tensors/tensor.hpp"

namespace ulpscope::studies {

/// Measurements of a shard, and what was asked for.
struct PartFile {
  std::string version;                   ///< of the program
  std::string command;                   ///< `census` or `sweep`
  std::vector<std::string> request;      ///< the words behind it that ask for its numbers
  std::vector<std::string> arguments;    ///< the command line of the undivided run, without where it goes
  std::vector<tensors::Tensor> tensors;  ///< all of the request, without their elements
  std::vector<ElementRange> ranges;      ///< of each tensor, what is measured here
  std::vector<TensorPart> parts;         ///< of each tensor
};

/// The text of a file.
std::string to_text(const PartFile& part);
/// Back from it. @throws ulpscope::Error that names `name` where it is none
PartFile part_of(std::string_view text, const std::string& name);

/// What all parts of a request have measured of each tensor. `names` are those of the files, for messages. @throws
/// ulpscope::Error where they differ in version, request, tensors or scales, or elements are in none of them or in two
std::vector<TensorPart> merged(const std::vector<PartFile>& parts, const std::vector<std::string>& names);

}  // namespace ulpscope::studies
