// SPDX-License-Identifier: Apache-2.0
// The values of quantized tensors that lie in a file as codes beside their scales.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tensors/hadamard.hpp"
#include "tensors/inputs.hpp"
#include "tensors/tensor.hpp"

namespace ulpscope::studies {

/// The tensors, where codes and scales that one of layouts() names are put together to a tensor of values: float64, under the
/// name that the layout's names are made of. Each value is the code's, less its zero point where there is one, times its scale,
/// exactly, times NVFP4's second scale, or divided by it, rounded once; where the file says that they were rotated, rotated
/// back. All others stay as they are, in their order. `put_together` counts them.
struct Dequantized {
  std::vector<tensors::Tensor> tensors;  ///< in the order of the codes and of all others
  std::size_t put_together = 0;          ///< tensors that had scales
  std::vector<tensors::Tensor> codes;    ///< the codes of these ...
  std::vector<tensors::Tensor> values;   ///< ... and what they stand for
  std::vector<std::vector<tensors::Tensor>> scales;  ///< ... and their scales and zero points
};
/// Tensors to be rounded are values: codes and their scales, one of which `is_rounded` says is among them, are refused with an
/// advice.
/// @throws ulpscope::Error
void refuse_codes(const tensors::Inputs& inputs, const std::string& advice,
                  const std::function<bool(const tensors::Tensor&)>& is_rounded);
/// What is to be said where codes are counted like others.
std::string codes_counted(const std::vector<tensors::Tensor>& codes);
/// Scales whose shape is no grid of blocks over the codes are tensors like others.
Dequantized dequantized(const std::vector<tensors::Tensor>& tensors, const std::optional<tensors::Hadamard>& hadamard = {});

}  // namespace ulpscope::studies
