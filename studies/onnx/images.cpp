// SPDX-License-Identifier: Apache-2.0
// Operators on planes: pools, and other sizes of an image.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "studies/onnx/operators.hpp"
#include "studies/onnx/windows.hpp"

namespace ulpscope::studies::onnx {
namespace {

using Kind = Value::Kind;

const Value& image_of(const Call& call) {
  const Value& x = call.in(0);
  if (!x.is_real()) throw NotComputed("of " + x.dtype);
  if (x.shape.size() < 3) throw Error("of " + words_of(x.shape));
  return x;
}
Shape plane_of(const Value& x) { return {x.shape.begin() + 2, x.shape.end()}; }

/// A value for each channel and window: function(the plane, the taps' elements, their distance in that list).
template <class Function>
std::vector<Value> pooled(const Call& call, const Windows& windows, Function function) {
  const Value& x = image_of(call);
  Shape shape{x.shape[0], x.shape[1]};
  shape.insert(shape.end(), windows.out.begin(), windows.out.end());
  Value out = make(Kind::real, shape);
  const std::size_t plane = count_of(windows.in), positions = count_of(windows.out);
  const std::vector<std::size_t> elements = windows.elements();
  for (std::size_t c = 0; c < x.shape[0] * x.shape[1]; ++c)
    for (std::size_t p = 0; p < positions; ++p)
      out.reals[c * positions + p] = static_cast<float>(function(std::span(x.reals).subspan(c * plane, plane), elements, p));
  return {out};
}

std::vector<Value> max_pool(const Call& call) {
  const Value& x = image_of(call);
  const Windows windows(call, plane_of(x), {});
  const std::size_t positions = count_of(windows.out), plane = count_of(windows.in);
  const auto first = [&](std::span<const float> elements_of, const std::vector<std::size_t>& elements, std::size_t p) {
    std::size_t greatest = nowhere;  // a NaN is greater than all
    for (std::size_t i = p; i < elements.size(); i += positions) {
      if (elements[i] == nowhere) continue;
      const float one = elements_of[elements[i]];
      if (greatest == nowhere || one > elements_of[greatest] || (std::isnan(one) && !std::isnan(elements_of[greatest])))
        greatest = elements[i];
    }
    return greatest;
  };
  std::vector<Value> outputs =
      pooled(call, windows, [&](std::span<const float> of, const std::vector<std::size_t>& elements, std::size_t p) {
        const std::size_t at = first(of, elements, p);
        return at == nowhere ? -std::numeric_limits<double>::infinity() : static_cast<double>(of[at]);
      });
  if (call.node.outputs.size() < 2 || call.node.outputs[1].empty() || call.whole("storage_order", 0) != 0) return outputs;
  Value places = make(Kind::whole, outputs.front().shape);
  const std::vector<std::size_t> elements = windows.elements();
  for (std::size_t i = 0; i < places.count(); ++i) {
    const std::size_t channel = i / positions;
    places.wholes[i] = static_cast<std::int64_t>(
        channel * plane + first(std::span(x.reals).subspan(channel * plane, plane), elements, i % positions));
  }
  outputs.push_back(places);
  return outputs;
}

std::vector<Value> average_pool(const Call& call) {
  const Windows windows(call, plane_of(image_of(call)), {});
  const std::size_t positions = count_of(windows.out);
  const bool counts_padding = call.whole("count_include_pad", 0) != 0;
  // Windows that ceil_mode adds may reach beyond the padding, where nothing is counted.
  Value taps = make(Kind::real, {positions});
  Places at(windows.out);
  for (std::size_t p = 0; p < positions; ++p, at.next()) {
    double all = 1;
    for (std::size_t d = 0; d < windows.in.size(); ++d) {
      const auto begin = static_cast<std::int64_t>(at.at()[d]) * windows.strides[d] - windows.before[d];
      std::int64_t inside = 0;
      for (std::size_t t = 0; t < windows.kernel[d]; ++t)
        inside += begin + static_cast<std::int64_t>(t) * windows.dilations[d] <
                  static_cast<std::int64_t>(windows.in[d]) + windows.after[d];
      all *= static_cast<double>(inside);
    }
    taps.reals[p] = static_cast<float>(all);
  }
  return pooled(call, windows, [&](std::span<const float> plane, const std::vector<std::size_t>& elements, std::size_t p) {
    double sum = 0, count = 0;
    for (std::size_t i = p; i < elements.size(); i += positions)
      if (elements[i] != nowhere) sum += static_cast<double>(plane[elements[i]]), ++count;
    return sum / (counts_padding ? taps.at(p) : count);
  });
}

std::vector<Value> lp_pool(const Call& call) {
  const Windows windows(call, plane_of(image_of(call)), {});
  const std::size_t positions = count_of(windows.out);
  const auto norm = static_cast<double>(call.whole("p", 2));
  return pooled(call, windows, [&](std::span<const float> plane, const std::vector<std::size_t>& elements, std::size_t p) {
    double sum = 0;
    for (std::size_t i = p; i < elements.size(); i += positions)
      if (elements[i] != nowhere) sum += power(std::fabs(static_cast<double>(plane[elements[i]])), norm);
    return power(sum, 1 / norm);
  });
}

/// One value of each channel.
template <class Function>
std::vector<Value> global_pool(const Call& call, Function function) {
  const Value& x = image_of(call);
  Shape shape(x.shape.size(), 1);
  shape[0] = x.shape[0], shape[1] = x.shape[1];
  Value out = make(Kind::real, shape);
  const std::size_t plane = count_of(plane_of(x));
  for (std::size_t c = 0; c < out.count(); ++c)
    out.reals[c] = static_cast<float>(function(std::span(x.reals).subspan(c * plane, plane)));
  return {out};
}
std::vector<Value> global_average_pool(const Call& call) {
  return global_pool(call, [](std::span<const float> plane) {
    double sum = 0;
    for (const float x : plane) sum += static_cast<double>(x);
    return sum / static_cast<double>(plane.size());
  });
}
std::vector<Value> global_max_pool(const Call& call) {
  return global_pool(call, [](std::span<const float> plane) {
    double greatest = -std::numeric_limits<double>::infinity();
    for (const float x : plane)
      if (!(greatest >= static_cast<double>(x)) && !std::isnan(greatest)) greatest = static_cast<double>(x);
    return greatest;
  });
}

/// Where a place of the result lies in the image, by the words of Resize.
double source_of(const std::string& mode, double at, double scale, double in, double out) {
  if (mode == "asymmetric") return at / scale;
  if (mode == "align_corners") return out == 1 ? 0 : at * (in - 1) / (in * scale - 1);
  if (mode == "pytorch_half_pixel") return out > 1 ? (at + 0.5) / scale - 0.5 : 0;
  if (mode == "half_pixel_symmetric") {
    const double centre = in / 2, wanted = in * scale, offset = centre * (1 - out / wanted);
    return offset + (at + 0.5) / scale - 0.5;
  }
  if (mode == "half_pixel") return (at + 0.5) / scale - 0.5;
  if (mode == "tf_half_pixel_for_nn") return (at + 0.5) / scale;
  throw NotComputed("coordinate_transformation_mode " + mode);
}

double nearest_of(const std::string& mode, double at, double scale) {
  if (mode == "simple") return scale < 1 ? std::ceil(at) : std::floor(at);  // before version 11
  if (mode == "floor") return std::floor(at);
  if (mode == "ceil") return std::ceil(at);
  if (mode == "round_prefer_ceil") return std::floor(at + 0.5);
  return std::ceil(at - 0.5);  // round_prefer_floor
}

/// How Resize finds elements between others.
struct Resampling {
  std::string mode, places, nearest;  ///< `mode`, `coordinate_transformation_mode`, `nearest_mode`
  double cubic_a = -0.75;             ///< `cubic_coeff_a`
  bool excludes_outside = false;      ///< `exclude_outside`
};

/// Elements of the image by their distance from `below`, and what each counts.
struct Taps {
  double below;
  std::array<double, 4> weights;  ///< of `below` - first and those behind it
  int first;
};

Taps taps_of(const Resampling& how, double at, double in, double scale) {
  if (how.mode == "nearest") return {nearest_of(how.nearest, at, scale), {1}, 0};
  const double below = std::floor(at), t = at - below;
  if (how.mode == "linear") return {below, {1 - t, t}, 0};
  const double a = how.cubic_a;  // Keys' convolution, IEEE Trans. ASSP 29 (1981)
  const auto near = [a](double d) { return ((a + 2) * d - (a + 3)) * d * d + 1; };
  const auto far = [a](double d) { return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a; };
  Taps taps{below, {far(1 + t), near(t), near(1 - t), far(2 - t)}, 1};
  if (!how.excludes_outside) return taps;
  double sum = 0;
  for (std::size_t i = 0; i < taps.weights.size(); ++i) {
    const double place = below - taps.first + static_cast<double>(i);
    if (place < 0 || place >= in) taps.weights[i] = 0;
    sum += taps.weights[i];
  }
  for (double& weight : taps.weights) weight /= sum;
  return taps;
}

/// x with another extent of one dimension.
Value resized(const Value& x, std::size_t axis, std::size_t extent, double scale, const Resampling& how) {
  const double in = static_cast<double>(x.shape[axis]), out = static_cast<double>(extent);
  Shape shape = x.shape;
  shape[axis] = extent;
  const std::vector<std::size_t> strides = strides_of(x.shape);
  const auto inside = [in](double at) { return static_cast<std::size_t>(std::clamp(at, 0.0, in - 1)); };
  tensors::HeldMemory memory("the places of a node");
  memory.grow(extent * std::uint64_t{sizeof(Taps)});
  std::vector<Taps> taps;
  taps.reserve(extent);
  for (std::size_t i = 0; i < extent; ++i) {
    const double at = source_of(how.places, static_cast<double>(i), scale, in, out);
    taps.push_back(taps_of(how, how.mode == "linear" ? std::clamp(at, 0.0, in - 1) : at, in, scale));
  }
  const auto picked = [&](std::size_t tap) {  // of the image, for each place of the result
    return moved(x, shape, [&](const std::vector<std::size_t>& at) {
      std::size_t index = 0;
      for (std::size_t d = 0; d < at.size(); ++d)
        index += (d == axis ? inside(taps[at[d]].below - taps[at[d]].first + static_cast<double>(tap)) : at[d]) * strides[d];
      return index;
    });
  };
  if (how.mode == "nearest") return picked(0);
  std::vector<double> sums(count_of(shape), 0);
  const std::size_t behind = strides_of(shape)[axis];
  for (std::size_t tap = 0; tap < (how.mode == "linear" ? 2 : 4); ++tap) {
    const Value part = picked(tap);
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += taps[i / behind % extent].weights[tap] * part.at(i);
  }
  Value made = make_like(x, shape);
  std::ranges::transform(sums, made.reals.begin(), [](double sum) { return static_cast<float>(sum); });
  return made;
}

std::vector<Value> resize_by(const Call& call, const Value* scales, const std::vector<std::int64_t>& sizes,
                             const std::string& places, const std::string& nearest) {
  Value x = call.in(0);
  const Resampling how{.mode = call.text("mode", "nearest"),
                       .places = places,
                       .nearest = nearest,
                       .cubic_a = call.real("cubic_coeff_a", -0.75),
                       .excludes_outside = call.whole("exclude_outside", 0) != 0};
  if (how.mode != "nearest" && how.mode != "linear" && how.mode != "cubic") throw NotComputed("mode " + how.mode);
  if (how.mode != "nearest") x.as_real();
  if (call.whole("antialias", 0) != 0) throw NotComputed("antialias");
  if (call.text("keep_aspect_ratio_policy", "stretch") != "stretch") throw NotComputed("keep_aspect_ratio_policy");
  std::vector<std::size_t> axes;
  for (const std::int64_t axis : call.wholes("axes")) axes.push_back(axis_of(axis, x.shape.size()));
  if (axes.empty()) axes = axes_of({}, x.shape.size());
  const bool by_scale = scales != nullptr && scales->count() != 0;
  if (by_scale ? scales->count() != axes.size() : sizes.size() != axes.size())
    throw Error("scales or sizes that do not fit " + words_of(x.shape));
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto in = static_cast<double>(x.shape[axes[i]]);
    const double scale = by_scale ? scales->at(i) : static_cast<double>(sizes[i]) / in,
                 extent = by_scale ? std::floor(in * scale) : static_cast<double>(sizes[i]);
    if (x.shape[axes[i]] == 0 || !(scale > 0) || !(extent >= 0) || extent > 0x1p40)
      throw Error("scales or sizes that do not fit " + words_of(x.shape));
    if (scale != 1 || extent != in) x = resized(x, axes[i], static_cast<std::size_t>(extent), scale, how);
  }
  return {x};
}
std::vector<Value> resize(const Call& call) {
  if (call.opset < 11) return resize_by(call, call.maybe(1), {}, "asymmetric", "simple");
  return resize_by(call, call.maybe(2), call.wholes_of("", 3), call.text("coordinate_transformation_mode", "half_pixel"),
                   call.text("nearest_mode", "round_prefer_floor"));
}
std::vector<Value> upsample(const Call& call) {
  Value scales = make(Kind::real, {0});
  if (call.maybe(1) == nullptr) {
    scales.reals = call.reals("scales");
    scales.shape = {scales.reals.size()};
  }
  return resize_by(call, call.maybe(1) == nullptr ? &scales : call.maybe(1), {}, "asymmetric", "simple");
}

constexpr Operator image_table[] = {{"AveragePool", average_pool},
                                    {"GlobalAveragePool", global_average_pool},
                                    {"GlobalMaxPool", global_max_pool},
                                    {"LpPool", lp_pool},
                                    {"MaxPool", max_pool},
                                    {"Resize", resize},
                                    {"Upsample", upsample}};

}  // namespace

std::span<const Operator> image_operators() { return image_table; }

}  // namespace ulpscope::studies::onnx
