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
  std::string command;                   ///< `census`, `sweep`, or `amax`, the largest magnitudes alone
  std::vector<std::string> request;      ///< the words behind it that ask for its numbers
  std::vector<std::string> arguments;    ///< the command line of the undivided run, without where it goes
  std::vector<tensors::Tensor> tensors;  ///< all of the request, without their elements
  std::vector<std::string> samples;      ///< of each tensor (sample.hpp)
  std::vector<ElementRange> ranges;      ///< of each tensor, what is measured here
  std::vector<TensorPart> parts;         ///< of each tensor
};

/// The text of a file.
std::string to_text(const PartFile& part);
/// Back from it. @throws ulpscope::Error that names `name` where it is none
PartFile part_of(std::string_view text, const std::string& name);

/// What all parts of a request have measured of each tensor. `names` are those of the files, for messages. @throws
/// ulpscope::Error where they differ in version, request, tensors, their samples or scales, or elements are in none of them or
/// in two
std::vector<TensorPart> merged(const std::vector<PartFile>& parts, const std::vector<std::string>& names);

/// The largest magnitude of each tensor from all parts of its kind. @throws ulpscope::Error as merged() does, and where these
/// are other tensors than `tensors`, or have other samples
std::vector<double> merged_amax(const std::vector<PartFile>& parts, const std::vector<std::string>& names,
                                const std::vector<tensors::Tensor>& tensors, const std::vector<std::string>& samples);

/// Holds the scales of a whole tensor against the largest magnitude that its parts have met: `name` is that of their file.
/// @throws ulpscope::Error where they follow from another one
void check_tensor_scales(const tensors::Tensor& tensor, const TensorPart& whole, const Scaling& scaling,
                         const std::vector<emu::Format>& formats, const std::string& name);

}  // namespace ulpscope::studies
