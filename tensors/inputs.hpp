// SPDX-License-Identifier: Apache-2.0
// Which tensors of its inputs a command works on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tensors/tensor.hpp"

namespace ulpscope::tensors {

/// What becomes of integer tensors that lie in a file with others.
enum class Integers : std::uint8_t { leave_out, include };

/// Tensors to work on, and those that are not.
struct Inputs {
  std::vector<Tensor> kept;      ///< to work on
  std::vector<Tensor> integers;  ///< left out
  std::vector<Tensor> opaque;    ///< of a dtype that is not known
  std::vector<Tensor> others = {};     ///< of other dtypes than are asked for, known or not
  std::vector<Tensor> unrotated = {};  ///< kept as they are, where others are rotated
  std::vector<std::string> remarks = {};  ///< what else there is to say of what was left out
};

/// Opens every input. A tensor that is named is kept: `FILE:NAME`, the one tensor of a file, and those of `options.only_dtype`,
/// which are kept alone. With `options.hadamard` what is kept is rotated, where its rows fit.
/// @throws ulpscope::Error as open(), and where none is kept, or none rotated; `advice` says what to do if there are integers.
Inputs sort_inputs(const std::vector<std::string>& inputs, const OpenOptions& options, Integers integers,
                   const std::string& advice);

/// The tensors that census and sweep work on. @throws ulpscope::Error
Inputs open_numbers(const std::vector<std::string>& inputs, const OpenOptions& options, Integers integers);
/// What it left out, a line each; `advice` follows what is said of integers.
std::vector<std::string> left_out(const Inputs& inputs, const std::string& advice = "; --integers includes them");

/// The input, or how many there are, as what a sentence is about.
std::string inputs_words(const std::vector<std::string>& inputs);
/// `2 integer tensors (m.safetensors:ids, m.safetensors:mask)`; the first few are named.
std::string named_words(const std::vector<Tensor>& tensors, const std::string& what);
/// The same of tensors whose dtype is not known, and the dtype of the first.
std::string unknown_words(const std::vector<Tensor>& tensors);
/// The same of tensors that a rotation leaves as they are.
std::string unrotated_words(const std::vector<Tensor>& tensors);

}  // namespace ulpscope::tensors
