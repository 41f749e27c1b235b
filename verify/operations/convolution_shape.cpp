// SPDX-License-Identifier: Apache-2.0
// Checks the shapes, and computes the output's extents.
#include "verify/operations/convolution_shape.hpp"

#include <fmt/format.h>

#include <string>

#include "emu/error.hpp"

namespace ulpscope::verify {
namespace {

void require(bool holds, const Convolution& op, const std::string& what) {
  if (holds) return;
  throw Error(
      fmt::format("convolution of {} with weights {}: {}", words_of_shape(op.x.shape), words_of_shape(op.weight.shape), what));
}

std::uint64_t of_axis(const Convolution& op, const char* name, const std::vector<std::uint64_t>& values, std::size_t axes,
                      std::size_t axis) {
  require(values.size() == 1 || values.size() == axes, op,
          fmt::format("{} has {} numbers; give one, or one for each of {} axes", name, values.size(), axes));
  return values.size() == 1 ? values[0] : values[axis];
}

}  // namespace

ConvolutionShape convolution_shape(const Convolution& op) {
  const auto &x = op.x.shape, &w = op.weight.shape;
  require(x.size() >= 3 && x.size() <= 5, op, "the input has a batch, channels and 1 to 3 extents of space");
  require(w.size() == x.size(), op, "the weights have as many dimensions as the input");
  const std::size_t axes = x.size() - 2;
  ConvolutionShape s;
  s.batch = x[0];
  s.in_channels = x[1];
  s.out_channels = w[0];
  s.group_channels = w[1];
  s.groups = op.groups;
  require(s.groups > 0 && s.in_channels % s.groups == 0 && s.out_channels % s.groups == 0, op,
          fmt::format("{} groups do not divide {} and {} channels", s.groups, s.in_channels, s.out_channels));
  require(s.group_channels == s.in_channels / s.groups && s.group_channels > 0, op,
          fmt::format("with {} groups the weights have {} channels", s.groups, s.in_channels / s.groups));
  s.out = {s.batch, s.out_channels};
  for (std::size_t axis = 0; axis < axes; ++axis) {
    const std::size_t i = 3 - axes + axis;
    s.in[i] = x[2 + axis];
    s.kernel[i] = w[2 + axis];
    s.stride[i] = of_axis(op, "stride", op.stride, axes, axis);
    s.padding[i] = of_axis(op, "padding", op.padding, axes, axis);
    s.dilation[i] = of_axis(op, "dilation", op.dilation, axes, axis);
    require(s.kernel[i] > 0 && s.stride[i] > 0 && s.dilation[i] > 0, op, "kernel, stride and dilation are 1 or more");
    const std::uint64_t reach = s.dilation[i] * (s.kernel[i] - 1) + 1, padded = s.in[i] + 2 * s.padding[i];
    require(reach <= padded, op, fmt::format("the kernel reaches over {} places of {}", reach, padded));
    s.places[i] = (padded - reach) / s.stride[i] + 1;
    s.out.push_back(s.places[i]);
  }
  if (op.bias) require(op.bias->elements.size() == s.out_channels, op, fmt::format("the bias has {} elements", s.out_channels));
  return s;
}

}  // namespace ulpscope::verify
