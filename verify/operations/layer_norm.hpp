// SPDX-License-Identifier: Apache-2.0
// Layer normalisation along the last axis, and its kind without a mean, RMS norm. docs/verify-operations.md.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "verify/operations/kernel_arithmetic.hpp"
#include "verify/operations/rows.hpp"

namespace ulpscope::verify {

/// What is subtracted and divided by.
enum class Norm : std::uint8_t {
  layer,  ///< (x - mean) / sqrt(variance + eps) * weight + bias, the variance over n
  rms     ///< x / sqrt(mean of x^2 + eps) * weight + bias
};

/// How a kernel finds the variance.
enum class Variance : std::uint8_t {
  centred,   ///< of x - mean: in two passes, or by Welford's updates and merges
  two_pass,  ///< the same, after the mean is known: an error of the mean enters squared
  one_pass   ///< mean of x^2 minus square of the mean: loses as many bits as the mean is greater than the deviation
};

/// A normalisation of each row.
struct LayerNorm {
  Values x;                                      ///< each row is normalised
  std::optional<Values> weight = {}, bias = {};  ///< one element for each column
  double eps = 1e-5;                             ///< added under the root
  Norm norm = Norm::layer;                       ///< which
  Variance variance = Variance::centred;         ///< how the kernel computes it
  KernelArithmetic arithmetic = {};              ///< of all between input and output
  std::optional<emu::Format> normalized = {};    ///< what is rounded to it before the weight; none: nothing
  std::optional<double> false_alarm = {};        ///< probability that a correct output is rejected; none: 0
  LastRounding last;                             ///< of the output
};

/// A row with NaN is NaN, and so is 0/0: a row of equal elements (rms: of zeros) without eps. With an infinity a row of layer
/// norm is NaN; of RMS norm, whose root is infinite then, only the infinite elements are, and the others are x / infinity = 0.
/// @throws Error where shapes do not fit, a format is too wide, or roundings are not random.
std::unique_ptr<Expectation> expect_layer_norm(LayerNorm operation);

}  // namespace ulpscope::verify
