// SPDX-License-Identifier: Apache-2.0
// Operators that find elements between others: images of another size, or at places of their own.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "studies/onnx/operators.hpp"

namespace ulpscope::studies::onnx {
namespace {

using Kind = Value::Kind;

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

/// Of Keys' convolution, IEEE Trans. ASSP 29 (1981): four elements, of which the second is `t` below the place.
std::array<double, 4> keys_weights(double t, double a) {
  const auto near = [a](double d) { return ((a + 2) * d - (a + 3)) * d * d + 1; };
  const auto far = [a](double d) { return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a; };
  return {far(1 + t), near(t), near(1 - t), far(2 - t)};
}

Taps taps_of(const Resampling& how, double at, double in, double scale) {
  if (how.mode == "nearest") return {nearest_of(how.nearest, at, scale), {1}, 0};
  const double below = std::floor(at), t = at - below;
  if (how.mode == "linear") return {below, {1 - t, t}, 0};
  Taps taps{below, keys_weights(t, how.cubic_a), 1};
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
  const std::uint64_t sums_bytes = how.mode == "nearest" ? 0 : count_of(shape) * std::uint64_t{sizeof(double)};
  memory.grow(extent * std::uint64_t{sizeof(Taps)} + sums_bytes);
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
    if (x.shape[axes[i]] == 0 || !(scale > 0) || extent > 0x1p40)
      throw Error("scales or sizes that do not fit " + words_of(x.shape));
    if (scale != 1) x = resized(x, axes[i], static_cast<std::size_t>(extent), scale, how);
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

/// How GridSample finds elements along a dimension.
struct GridAxis {
  double extent;
  std::string mode, padding;  ///< `nearest`, `linear` or `cubic`; `zeros`, `border` or `reflection`
  bool aligns_corners;

  double least() const { return aligns_corners ? 0 : -0.5; }
  double most() const { return aligns_corners ? extent - 1 : extent - 0.5; }

  /// A place from -1 to 1 as one in elements.
  double place_of(double at) const {
    double place = aligns_corners ? (at + 1) / 2 * (extent - 1) : ((at + 1) * extent - 1) / 2;
    if (mode == "nearest") place = std::nearbyint(place);
    if (padding == "reflection") return reflected(place);
    // Between the middle of the first element and its border taps are clamped, and a cubic still sees how far in it lies.
    if (padding == "border" && !(place >= least() && place <= most())) return place > 0 ? extent - 1 : 0;
    return std::isfinite(place) ? place : -4;  // from where no element is reached
  }

  double reflected(double place) const {
    if (place >= least() && place <= most()) return place;
    const double range = most() - least(), beyond = std::fmod(place < least() ? least() - place : place - most(), 2 * range);
    if (!(range > 0) || std::isnan(beyond)) return std::max(least(), 0.0);
    const double from_end = beyond < range ? beyond : 2 * range - beyond;
    return place < least() ? least() + from_end : most() - from_end;
  }

  /// The element at a whole place; `nowhere` outside, where zeros are.
  std::size_t element_of(double place) const {
    if (padding == "zeros" && !(place >= 0 && place < extent)) return nowhere;
    const double inside = padding == "reflection" ? reflected(place) : place;
    return static_cast<std::size_t>(std::clamp(inside, 0.0, extent - 1));
  }

  Taps taps_at(double place) const {
    if (mode == "nearest") return {place, {1}, 0};
    const double below = std::floor(place), t = place - below;
    if (mode == "linear") return {below, {1 - t, t}, 0};
    return {below, keys_weights(t, -0.75), 1};
  }
};

std::vector<Value> grid_sample(const Call& call) {
  const Value &x = call.in(0), &grid = call.in(1).as_real();
  const std::size_t rank = x.shape.size() < 3 ? 0 : x.shape.size() - 2;
  if (rank == 0 || grid.shape.size() != rank + 2 || grid.shape[0] != x.shape[0] || grid.shape.back() != rank)
    throw Error("a grid of " + words_of(grid.shape) + " for " + words_of(x.shape));
  if (rank > 3) throw NotComputed("of more than three dimensions");
  std::string mode = call.text("mode", "linear");
  if (mode == "bilinear" || mode == "bicubic") mode.erase(0, 2);  // before version 20
  const std::string padding = call.text("padding_mode", "zeros");
  if ((mode != "nearest" && mode != "linear" && mode != "cubic") ||
      (padding != "zeros" && padding != "border" && padding != "reflection"))
    throw Error("mode '" + mode + "' with padding_mode '" + padding + "'");
  if (mode != "nearest") x.as_real();
  std::vector<GridAxis> axes;
  for (std::size_t d = 0; d < rank; ++d)
    axes.push_back({static_cast<double>(x.shape[2 + d]), mode, padding, call.whole("align_corners", 0) != 0});
  const Shape plane(x.shape.begin() + 2, x.shape.end());
  Shape shape{x.shape[0], x.shape[1]};
  shape.insert(shape.end(), grid.shape.begin() + 1, grid.shape.end() - 1);
  Value out = make_like(x, shape);
  if (out.count() == 0) return {out};
  if (x.count() == 0) throw Error("of " + words_of(x.shape));
  const std::vector<std::size_t> strides = strides_of(plane);
  const std::size_t elements = count_of(plane), channels = x.shape[1], positions = grid.count() / rank / x.shape[0];
  const Shape window(rank, mode == "nearest" ? 1 : mode == "linear" ? 2 : 4);
  const std::size_t taps_in_all = count_of(window);
  std::vector<Taps> taps(rank);
  for (std::size_t i = 0; i < x.shape[0] * positions; ++i) {
    for (std::size_t d = 0; d < rank; ++d)  // the last dimension comes first in the grid
      taps[d] = axes[d].taps_at(axes[d].place_of(grid.at(i * rank + rank - 1 - d)));
    for (std::size_t c = 0; c < channels; ++c) {
      const std::size_t first = (i / positions * channels + c) * elements,
                        to = (i / positions * channels + c) * positions + i % positions;
      double sum = 0;
      Places at(window);
      for (std::size_t tap = 0; tap < taps_in_all; ++tap, at.next()) {
        double weight = 1;
        std::size_t element = first;
        for (std::size_t d = 0; d < rank && element != nowhere; ++d) {
          const std::size_t along = axes[d].element_of(taps[d].below - taps[d].first + static_cast<double>(at.at()[d]));
          weight *= taps[d].weights[at.at()[d]];
          element = along == nowhere ? nowhere : element + along * strides[d];
        }
        if (element == nowhere) continue;
        if (!x.is_real())
          out.wholes[to] = x.wholes[element];
        else
          sum += weight * x.at(element);
      }
      if (x.is_real()) out.reals[to] = static_cast<float>(sum);
    }
  }
  return {out};
}

constexpr Operator resampling_table[] = {{"GridSample", grid_sample}, {"Resize", resize}, {"Upsample", upsample}};

}  // namespace

std::span<const Operator> resampling_operators() { return resampling_table; }

}  // namespace ulpscope::studies::onnx
