// SPDX-License-Identifier: Apache-2.0
// Operators that take a mean away and divide by a deviation: in float64, rounded once.
#include <algorithm>
#include <cmath>

#include "emu/math.hpp"
#include "studies/onnx/operators.hpp"

namespace ulpscope::studies::onnx {
namespace {

using Kind = Value::Kind;

/// Extents before and behind a dimension, and its own.
struct Around {
  std::size_t before, extent, behind;
  Around(const Shape& shape, std::size_t axis)
      : before(count_of(Shape(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(axis)))),
        extent(shape[axis]),
        behind(count_of(Shape(shape.begin() + static_cast<std::ptrdiff_t>(axis) + 1, shape.end()))) {}
};

/// An input that has a number for each channel.
const Value& of_channels(const Call& call, std::size_t i, std::size_t channels) {
  const Value& value = call.in(i).as_real();
  if (value.count() != channels)
    throw Error("parameters of " + words_of(value.shape) + " for " + std::to_string(channels) + " channels");
  return value;
}

std::vector<Value> batch_normalization(const Call& call) {
  const Value& x = call.in(0).as_real();
  if (call.whole("training_mode", 0) != 0) throw NotComputed("in training");
  if (x.shape.size() < 2) throw Error("of " + words_of(x.shape));
  const Around at(x.shape, 1);
  const Value &scale = of_channels(call, 1, at.extent), &bias = of_channels(call, 2, at.extent),
              &mean = of_channels(call, 3, at.extent), &variance = of_channels(call, 4, at.extent);
  const double epsilon = call.real("epsilon", 1e-5);
  Value out = make_like(x, x.shape);
  for (std::size_t i = 0; i < x.count(); ++i) {
    const std::size_t c = i / at.behind % at.extent;
    out.reals[i] = static_cast<float>((x.at(i) - mean.at(c)) / std::sqrt(variance.at(c) + epsilon) * scale.at(c) + bias.at(c));
  }
  return {out};
}

/// Mean and 1 / deviation of some elements.
struct Moments {
  double mean, inverse;
};
Moments moments_of(std::span<const float> x, double epsilon) {
  double sum = 0, squares = 0;
  for (const float one : x) sum += static_cast<double>(one);
  const double mean = sum / static_cast<double>(x.size());
  for (const float one : x) squares += (static_cast<double>(one) - mean) * (static_cast<double>(one) - mean);
  return {mean, 1 / std::sqrt(squares / static_cast<double>(x.size()) + epsilon)};
}

std::vector<Value> layer_normalization(const Call& call) {
  const Value& x = call.in(0).as_real();
  const std::size_t axis = axis_of(call.whole("axis", -1), x.shape.size());
  Shape rows(x.shape.begin(), x.shape.begin() + static_cast<std::ptrdiff_t>(axis));
  const Shape normal(x.shape.begin() + static_cast<std::ptrdiff_t>(axis), x.shape.end());
  const std::size_t length = count_of(normal), count = count_of(rows);
  const Value scale = stretched(call.in(1).as_real(), normal);
  const Value bias = call.maybe(2) != nullptr ? stretched(call.maybe(2)->as_real(), normal) : make(Kind::real, normal);
  const double epsilon = call.real("epsilon", 1e-5);
  rows.resize(x.shape.size(), 1);
  Value out = make_like(x, x.shape), means = make(Kind::real, rows), inverses = make(Kind::real, rows);
  for (std::size_t row = 0; row < count; ++row) {
    const std::span<const float> line = std::span(x.reals).subspan(row * length, length);
    const Moments m = moments_of(line, epsilon);
    for (std::size_t i = 0; i < length; ++i)
      out.reals[row * length + i] =
          static_cast<float>((static_cast<double>(line[i]) - m.mean) * m.inverse * scale.at(i) + bias.at(i));
    means.reals[row] = static_cast<float>(m.mean), inverses.reals[row] = static_cast<float>(m.inverse);
  }
  return {out, means, inverses};
}

std::vector<Value> rms_normalization(const Call& call) {
  const Value& x = call.in(0).as_real();
  const std::size_t axis = axis_of(call.whole("axis", -1), x.shape.size());
  const Shape normal(x.shape.begin() + static_cast<std::ptrdiff_t>(axis), x.shape.end());
  const std::size_t length = count_of(normal);
  const Value scale = stretched(call.in(1).as_real(), normal);
  const double epsilon = call.real("epsilon", 1e-5);
  Value out = make_like(x, x.shape);
  for (std::size_t first = 0; length != 0 && first < x.count(); first += length) {
    double squares = 0;
    for (std::size_t i = 0; i < length; ++i) squares += x.at(first + i) * x.at(first + i);
    const double inverse = 1 / std::sqrt(squares / static_cast<double>(length) + epsilon);
    for (std::size_t i = 0; i < length; ++i) out.reals[first + i] = static_cast<float>(x.at(first + i) * inverse * scale.at(i));
  }
  return {out};
}

/// Normalises groups of channels of each image; parameters are of channels, or of groups before version 21.
std::vector<Value> normalized_groups(const Call& call, std::size_t groups) {
  const Value& x = call.in(0).as_real();
  const Around at(x.shape, 1);
  if (groups == 0 || at.extent % groups != 0)
    throw Error(std::to_string(at.extent) + " channels in " + std::to_string(groups) + " groups");
  const std::size_t size = at.extent / groups * at.behind;
  const Value &scale = call.in(1).as_real(), &bias = call.in(2).as_real();
  const bool of_groups = scale.count() == groups && groups != at.extent;
  if (!of_groups) of_channels(call, 1, at.extent);
  if (bias.count() != scale.count())
    throw Error("a scale of " + words_of(scale.shape) + " and a bias of " + words_of(bias.shape));
  const double epsilon = call.real("epsilon", 1e-5);
  Value out = make_like(x, x.shape);
  for (std::size_t first = 0; size != 0 && first < x.count(); first += size) {
    const Moments m = moments_of(std::span(x.reals).subspan(first, size), epsilon);
    for (std::size_t i = first; i < first + size; ++i) {
      const std::size_t channel = i / at.behind % at.extent, c = of_groups ? channel / (at.extent / groups) : channel;
      out.reals[i] = static_cast<float>((x.at(i) - m.mean) * m.inverse * scale.at(c) + bias.at(c));
    }
  }
  return {out};
}
std::vector<Value> group_normalization(const Call& call) {
  if (call.in(0).shape.size() < 2) throw Error("of " + words_of(call.in(0).shape));
  return normalized_groups(call, static_cast<std::size_t>(std::max<std::int64_t>(call.whole("num_groups", 0), 0)));
}
std::vector<Value> instance_normalization(const Call& call) {
  if (call.in(0).shape.size() < 2) throw Error("of " + words_of(call.in(0).shape));
  return normalized_groups(call, call.in(0).shape[1]);
}

std::vector<Value> mean_variance_normalization(const Call& call) {
  const Value& x = call.in(0).as_real();
  const std::vector<std::size_t> axes = axes_of(call.wholes("axes", {0, 2, 3}), x.shape.size());
  Shape kept = x.shape;
  for (const std::size_t d : axes) kept[d] = 1;
  const std::vector<std::size_t> strides = strides_of(kept, true);
  const std::size_t groups = count_of(kept);
  std::vector<double> sums(groups, 0), squares(groups, 0);
  std::vector<std::size_t> group(x.count());
  Places places(x.shape);
  for (std::size_t i = 0; i < x.count(); ++i, places.next()) {
    for (std::size_t d = 0; d < strides.size(); ++d) group[i] += places.at()[d] * strides[d];
    sums[group[i]] += x.at(i);
  }
  const double n = groups == 0 ? 1 : static_cast<double>(x.count()) / static_cast<double>(groups);
  for (std::size_t i = 0; i < x.count(); ++i)
    squares[group[i]] += (x.at(i) - sums[group[i]] / n) * (x.at(i) - sums[group[i]] / n);
  Value out = make_like(x, x.shape);
  for (std::size_t i = 0; i < x.count(); ++i)
    out.reals[i] = static_cast<float>((x.at(i) - sums[group[i]] / n) / (std::sqrt(squares[group[i]] / n) + 1e-9));
  return {out};
}

std::vector<Value> lp_normalization(const Call& call) {
  const Value& x = call.in(0).as_real();
  const Around at(x.shape, axis_of(call.whole("axis", -1), x.shape.size()));
  const std::int64_t p = call.whole("p", 2);
  if (p != 1 && p != 2) throw Error("p " + std::to_string(p));
  Value out = make_like(x, x.shape);
  for (std::size_t i = 0; i < at.before * at.behind; ++i) {
    const std::size_t first = i / at.behind * at.extent * at.behind + i % at.behind;
    double sum = 0;
    for (std::size_t j = 0; j < at.extent; ++j)
      sum += p == 1 ? std::fabs(x.at(first + j * at.behind)) : x.at(first + j * at.behind) * x.at(first + j * at.behind);
    const double norm = p == 1 ? sum : std::sqrt(sum);
    for (std::size_t j = 0; j < at.extent; ++j)
      out.reals[first + j * at.behind] = norm == 0 ? 0.0F : static_cast<float>(x.at(first + j * at.behind) / norm);
  }
  return {out};
}

std::vector<Value> local_response_normalization(const Call& call) {
  const Value& x = call.in(0).as_real();
  if (x.shape.size() < 2) throw Error("of " + words_of(x.shape));
  const Around at(x.shape, 1);
  const std::int64_t size = call.whole("size", 1);
  const double alpha = call.real("alpha", 1e-4), beta = call.real("beta", 0.75), bias = call.real("bias", 1);
  if (size < 1) throw Error("size " + std::to_string(size));
  const auto below = static_cast<std::size_t>((size - 1) / 2), above = static_cast<std::size_t>(size / 2);
  Value out = make_like(x, x.shape);
  for (std::size_t i = 0; i < x.count(); ++i) {
    const std::size_t c = i / at.behind % at.extent;
    double squares = 0;
    for (std::size_t j = c - std::min(c, below); j <= std::min(at.extent - 1, c + above); ++j) {
      const double one = x.at(i - c * at.behind + j * at.behind);
      squares += one * one;
    }
    const double base = bias + alpha / static_cast<double>(size) * squares;
    out.reals[i] = static_cast<float>(x.at(i) / emu::exp(beta * emu::log(base)));
  }
  return {out};
}

constexpr Operator norm_table[] = {{"BatchNormalization", batch_normalization},
                                   {"GroupNormalization", group_normalization},
                                   {"InstanceNormalization", instance_normalization},
                                   {"LRN", local_response_normalization},
                                   {"LayerNormalization", layer_normalization},
                                   {"LpNormalization", lp_normalization},
                                   {"MeanVarianceNormalization", mean_variance_normalization},
                                   {"RMSNormalization", rms_normalization}};

}  // namespace

std::span<const Operator> norm_operators() { return norm_table; }

}  // namespace ulpscope::studies::onnx
