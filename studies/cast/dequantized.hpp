// SPDX-License-Identifier: Apache-2.0
// The values of quantized tensors that lie in a file as codes beside their scales.
#pragma once

#include <functional>
#include <optional>
#include <set>
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
/// Of an input's tensors, all of them or those that it names: their scales are looked for in its whole files. Scales whose
/// shape is no grid of blocks over the codes, or whose codes are not among the tensors, are tensors like others. Codes of more
/// bits than most_bits_of_codes are those that wide_codes_of() says. @throws ulpscope::Error
Dequantized dequantized(const std::string& input, const std::vector<tensors::Tensor>& tensors,
                        const tensors::OpenOptions& options, const std::optional<tensors::Hadamard>& hadamard = {});
/// Of all tensors of a file, or of a checkpoint, whose codes of more than most_bits_of_codes are `wide`.
Dequantized dequantized(const std::vector<tensors::Tensor>& tensors, std::set<std::string> wide,
                        const std::optional<tensors::Hadamard>& hadamard);

/// Codes, and of each its scales and zero points.
struct CodesUnderScales {
  std::vector<tensors::Tensor> codes;                ///< as they lie in their files
  std::vector<std::vector<tensors::Tensor>> scales;  ///< ... and of each what belongs to it
};
/// Those among the tensors of inputs; scales are looked for in a tensor's own input, and then in the others, since these may be
/// files of one checkpoint. @throws ulpscope::Error
CodesUnderScales codes_under_scales(const std::vector<std::string>& inputs, const tensors::Inputs& opened,
                                    const tensors::OpenOptions& options);
/// Tensors to be rounded are values: codes and their scales, one of which `is_rounded` says is among them, are refused with an
/// advice.
/// @throws ulpscope::Error
void refuse_codes(const CodesUnderScales& found, const std::string& advice,
                  const std::function<bool(const tensors::Tensor&)>& is_rounded);
/// What is to be said where codes are counted like others.
std::string codes_counted(const std::vector<tensors::Tensor>& codes);

}  // namespace ulpscope::studies
