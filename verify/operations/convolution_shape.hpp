// SPDX-License-Identifier: Apache-2.0
// The extents of a convolution, with three axes of space: the first ones have extent 1 where there are fewer.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "verify/operations/products.hpp"

namespace ulpscope::verify {

/// The extents of a convolution.
struct ConvolutionShape {
  using Space = std::array<std::uint64_t, 3>;  ///< depth, height, width; 1 and 0 in front where there are fewer
  /// in_channels = groups * group_channels.
  std::uint64_t batch = 0, in_channels = 0, out_channels = 0, group_channels = 0, groups = 1;
  Space in{1, 1, 1}, kernel{1, 1, 1}, places{1, 1, 1};         ///< `places`: the output's extents
  Space stride{1, 1, 1}, padding{0, 0, 0}, dilation{1, 1, 1};  ///< one an axis
  std::vector<std::uint64_t> out;                              ///< of the output
};

/// @throws Error naming what does not fit.
ConvolutionShape convolution_shape(const Convolution& operation);

}  // namespace ulpscope::verify
