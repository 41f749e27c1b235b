// SPDX-License-Identifier: Apache-2.0
// Which tensors of its inputs a command works on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tensors/tensor.hpp"

namespace ulpscope::cli {

/// What becomes of integer tensors that lie in a file with others.
enum class Integers : std::uint8_t { leave_out, include };

/// Tensors to work on, and those that are not.
struct Inputs {
  std::vector<tensors::Tensor> kept;
  std::vector<tensors::Tensor> integers;  ///< left out
  std::vector<tensors::Tensor> opaque;    ///< of a dtype that is not known
};

/// Opens every input. A tensor named alone is kept: `FILE:NAME`, and the one tensor of a file.
/// @throws ulpscope::Error as tensors::open(), and where none is kept; `advice` says what to do if there are integers.
Inputs sort_inputs(const std::vector<std::string>& inputs, const tensors::OpenOptions& options, Integers integers,
                   const std::string& advice);

/// The tensors that census and sweep work on. What they leave out is said on standard error. @throws ulpscope::Error
std::vector<tensors::Tensor> open_numbers(const std::vector<std::string>& inputs, const tensors::OpenOptions& options,
                                          Integers integers);

/// `2 integer tensors (m.safetensors:ids, m.safetensors:mask)`; the first few are named.
std::string named_words(const std::vector<tensors::Tensor>& tensors, const std::string& what);
/// The same of tensors whose dtype is not known, and the dtype of the first.
std::string unknown_words(const std::vector<tensors::Tensor>& tensors);

}  // namespace ulpscope::cli
