// SPDX-License-Identifier: Apache-2.0
// A tensor as a quantizer stores it: codes, and the scales that their values are multiplied by.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "emu/format.hpp"
#include "emu/rounding.hpp"
#include "studies/census/scaling.hpp"
#include "tensors/tensor.hpp"

namespace ulpscope::studies {

/// Codes under scales. An element's value is decode(code) times the scale of its block, in nvfp4 divided by `tensor_scale`.
struct QuantizedTensor {
  emu::Format format;                      ///< of the codes
  std::vector<std::uint64_t> shape;        ///< of the tensor
  std::vector<emu::Code> codes;            ///< row-major
  std::vector<double> values;              ///< what the codes stand for, scales taken out: what a census measures
  std::string scale_format;                ///< `float32`, `float8_e8m0fnu`, `float8_e4m3fn`; empty: there are no scales
  std::vector<std::uint64_t> scale_shape;  ///< rows (of all dimensions but the last) and blocks of a row; empty: one scale
  std::vector<float> scales;               ///< of each block, row-major: numbers of scale_format
  float tensor_scale = 1;                  ///< of nvfp4: what every value is divided by
};

/// Multiplies by the scales of `scaling` and rounds, element by element as census does. Stochastic rounding: element i takes
/// rounding_bits(seed, i). @throws ulpscope::Error
QuantizedTensor quantize(const tensors::Tensor& tensor, emu::Format format, const emu::RoundingOptions& options,
                         const Scaling& scaling, std::uint64_t seed);

}  // namespace ulpscope::studies
