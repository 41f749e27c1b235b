// SPDX-License-Identifier: Apache-2.0
// Operations whose elements are sums of products: sum and dot along the last axis, convolution. docs/verify-operations.md.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "verify/operations/kernel_arithmetic.hpp"
#include "verify/operations/rows.hpp"

namespace ulpscope::verify {

/// Along which axis elements are summed: the last one, or all of them.
enum class Axis : std::uint8_t { last, all };

/// A sum of elements.
struct Sum {
  Values x;                          ///< what is summed
  Axis axis = Axis::last;            ///< along it
  KernelArithmetic arithmetic = {};  ///< of the additions
  LastRounding last;                 ///< of the output
};
/// The result has the shape of x without its last dimension, or none.
std::unique_ptr<Expectation> expect_sum(Sum operation);

/// A sum of products of elements.
struct Dot {
  Values a, b;                       ///< of one shape
  Axis axis = Axis::last;            ///< along it
  KernelArithmetic arithmetic = {};  ///< of products and additions
  LastRounding last;                 ///< of the output
};
/// The result has the shape of A without its last dimension, or none. @throws Error where shapes differ.
std::unique_ptr<Expectation> expect_dot(Dot operation);

/// Cross-correlation, as networks call convolution: out[n, o, p] = bias[o] + sum of x[n, c, p stride + k dilation - padding]
/// weight[o, c, k] over the channels c of o's group and the places k of the kernel, x being 0 outside.
struct Convolution {
  Values x;                                                       ///< (N, C, D...), 1 to 3 extents D
  Values weight;                                                  ///< (O, C / groups, K...)
  std::optional<Values> bias = {};                                ///< O elements
  std::vector<std::uint64_t> stride{1}, padding{0}, dilation{1};  ///< one for all axes, or one each
  std::uint64_t groups = 1;                                       ///< of channels
  KernelArithmetic arithmetic = {};                               ///< of products and additions
  LastRounding last;                                              ///< of the output
};
/// @throws Error where shapes do not fit.
std::unique_ptr<Expectation> expect_convolution(Convolution operation);

}  // namespace ulpscope::verify
