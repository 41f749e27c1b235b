// SPDX-License-Identifier: Apache-2.0
// Where the windows of convolutions and pools lie over an image of any number of dimensions.
#pragma once

#include <vector>

#include "studies/onnx/operators.hpp"

namespace ulpscope::studies::onnx {

/// Windows that slide over `in`, by the attributes of Conv and of the pools.
struct Windows {
  Shape in, kernel, out;  ///< extents of the image, of a window, and of the windows' places
  std::vector<std::int64_t> strides, dilations, before, after;  ///< `before`, `after`: padding

  /// @throws ulpscope::Error where attributes do not fit
  Windows(const Call& call, Shape image, Shape size);
  /// Those that ConvTranspose goes over backwards: `image` has a place for each window, and `in` is its result.
  static Windows backwards(const Call& call, Shape image, Shape size);

  /// For each tap, and each window, the element of the plane that the tap lies on, or `nowhere`.
  std::vector<std::size_t> elements() const;

 private:
  Windows() = default;
  void read(const Call& call);
};

}  // namespace ulpscope::studies::onnx
