// SPDX-License-Identifier: Apache-2.0
// Operators that move elements by their places, or make them of shapes.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "studies/onnx/operators.hpp"

namespace ulpscope::studies::onnx {
namespace {

using Kind = Value::Kind;

std::size_t extent(std::int64_t n) {
  if (n < 0 || n > std::int64_t{1} << 40) throw Error("an extent of " + std::to_string(n));
  return static_cast<std::size_t>(n);
}

Shape shape_of(const std::vector<std::int64_t>& wholes) {
  Shape shape;
  for (const std::int64_t n : wholes) shape.push_back(extent(n));
  return shape;
}

std::vector<Value> reshape(const Call& call) {
  const Value& x = call.in(0);
  const std::vector<std::int64_t> wanted = call.wholes_of("shape", 1);
  const bool zero_is_zero = call.whole("allowzero", 0) != 0;
  Shape shape;
  std::optional<std::size_t> open;
  std::size_t known = 1;
  for (std::size_t d = 0; d < wanted.size(); ++d) {
    if (wanted[d] == -1) {
      if (open) throw Error("a shape with -1 twice");
      open = d;
      shape.push_back(1);
      continue;
    }
    const bool keeps = wanted[d] == 0 && !zero_is_zero;
    if (keeps && d >= x.shape.size())
      throw Error("a shape that keeps extent " + std::to_string(d) + " of " + words_of(x.shape));
    shape.push_back(keeps ? x.shape[d] : extent(wanted[d]));
    known = count_of({known, shape.back()});
  }
  if (open && known == 0) throw Error("a shape with -1 beside an extent of 0");
  if (open) shape[*open] = x.count() / known;
  return {reshaped(x, shape)};
}

std::vector<Value> transpose(const Call& call) {
  const Value& x = call.in(0);
  std::vector<std::size_t> order(x.shape.size());
  std::iota(order.rbegin(), order.rend(), std::size_t{0});
  if (const auto wanted = call.wholes("perm"); !wanted.empty()) {
    order.clear();
    for (const std::int64_t d : wanted) order.push_back(axis_of(d, x.shape.size()));
  }
  return {transposed(x, order)};
}

std::vector<Value> flatten(const Call& call) {
  const Value& x = call.in(0);
  const std::int64_t axis = call.whole("axis", 1), rank = static_cast<std::int64_t>(x.shape.size());
  if (axis < -rank || axis > rank) throw Error("axis " + std::to_string(axis));
  const auto at = static_cast<std::ptrdiff_t>(axis < 0 ? axis + rank : axis);
  const std::size_t rows = count_of(Shape(x.shape.begin(), x.shape.begin() + at)),
                    columns = count_of(Shape(x.shape.begin() + at, x.shape.end()));
  return {reshaped(x, {rows, columns})};
}

std::vector<Value> squeeze(const Call& call) {
  const Value& x = call.in(0);
  const std::vector<std::int64_t> wanted = call.wholes_of("axes", 1);
  const std::vector<std::size_t> axes = axes_of(wanted, x.shape.size());
  Shape shape;
  for (std::size_t d = 0; d < x.shape.size(); ++d) {
    const bool goes = std::ranges::binary_search(axes, d) && (x.shape[d] == 1 || !wanted.empty());
    if (goes && x.shape[d] != 1) throw Error("takes out extent " + std::to_string(d) + " of " + words_of(x.shape));
    if (!goes) shape.push_back(x.shape[d]);
  }
  return {reshaped(x, shape)};
}

std::vector<Value> unsqueeze(const Call& call) {
  const Value& x = call.in(0);
  const std::vector<std::int64_t> wanted = call.wholes_of("axes", 1);
  const std::size_t rank = x.shape.size() + wanted.size();
  std::vector<std::size_t> axes;
  for (const std::int64_t axis : wanted) axes.push_back(axis_of(axis, rank));
  std::ranges::sort(axes);
  if (std::ranges::adjacent_find(axes) != axes.end()) throw Error("an axis twice");
  Shape shape = x.shape;
  for (const std::size_t axis : axes) shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), 1);
  return {reshaped(x, shape)};
}

/// The part of x from `first` on along an axis, every `step`th.
Value part(const Value& x, const std::vector<std::int64_t>& first, const std::vector<std::int64_t>& step, const Shape& shape) {
  const std::vector<std::size_t> strides = strides_of(x.shape);
  return moved(x, shape, [&](const std::vector<std::size_t>& at) {
    std::size_t index = 0;
    for (std::size_t d = 0; d < at.size(); ++d)
      index += static_cast<std::size_t>(first[d] + static_cast<std::int64_t>(at[d]) * step[d]) * strides[d];
    return index;
  });
}

std::vector<Value> slice(const Call& call) {
  const Value& x = call.in(0);
  const std::size_t rank = x.shape.size();
  const std::vector<std::int64_t> starts = call.wholes_of("starts", 1), ends = call.wholes_of("ends", 2),
                                  axes = call.wholes_of("axes", 3),
                                  steps = call.has("starts") ? std::vector<std::int64_t>{} : call.wholes_of("steps", 4);
  if (ends.size() != starts.size() || (!axes.empty() && axes.size() != starts.size()) ||
      (!steps.empty() && steps.size() != starts.size()))
    throw Error("starts, ends, axes and steps of unlike numbers");
  std::vector<std::int64_t> first(rank, 0), step(rank, 1);
  Shape shape = x.shape;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const std::size_t d = axis_of(axes.empty() ? static_cast<std::int64_t>(i) : axes[i], rank);
    const auto all = static_cast<std::int64_t>(x.shape[d]);
    const std::int64_t by = steps.empty() ? 1 : steps[i];
    if (by == 0) throw Error("a step of 0");
    const auto from_end = [all](std::int64_t at) { return at < 0 ? std::max(at, -all - 1) + all : at; };
    const std::int64_t begin = by > 0 ? std::clamp<std::int64_t>(from_end(starts[i]), 0, all)
                                      : std::min(std::max<std::int64_t>(from_end(starts[i]), 0), all - 1);
    const std::int64_t end =
        by > 0 ? std::clamp<std::int64_t>(from_end(ends[i]), 0, all) : std::clamp<std::int64_t>(from_end(ends[i]), -1, all - 1);
    const std::int64_t distance = by > 0 ? end - begin : begin - end;
    const std::uint64_t stride = by > 0 ? static_cast<std::uint64_t>(by) : -static_cast<std::uint64_t>(by);
    first[d] = begin, step[d] = by;
    shape[d] = distance <= 0 ? 0 : static_cast<std::size_t>((static_cast<std::uint64_t>(distance) - 1) / stride + 1);
  }
  return {part(x, first, step, shape)};
}

std::vector<Value> expand(const Call& call) {
  const Value& x = call.in(0);
  return {stretched(x, broadcast(x.shape, shape_of(call.wholes_of("", 1))))};
}

std::vector<Value> tile(const Call& call) {
  const Value& x = call.in(0);
  const std::vector<std::int64_t> times = call.wholes_of("", 1);
  if (times.size() != x.shape.size())
    throw Error("repeats of " + std::to_string(times.size()) + " dimensions for " + words_of(x.shape));
  Shape shape = x.shape;
  for (std::size_t d = 0; d < shape.size(); ++d) shape[d] = count_of({shape[d], extent(times[d])});
  const std::vector<std::size_t> strides = strides_of(x.shape);
  return {moved(x, shape, [&](const std::vector<std::size_t>& at) {
    std::size_t index = 0;
    for (std::size_t d = 0; d < at.size(); ++d) index += at[d] % x.shape[d] * strides[d];
    return index;
  })};
}

std::vector<Value> shape_value(const Call& call) {
  const auto rank = static_cast<std::int64_t>(call.in(0).shape.size());
  const auto inside = [rank](std::int64_t at) {
    return std::clamp<std::int64_t>(at < 0 ? std::max(at, -rank) + rank : at, 0, rank);
  };
  const std::int64_t begin = inside(call.whole("start", 0)), end = inside(call.whole("end", rank));
  std::vector<std::int64_t> extents;
  for (std::int64_t d = begin; d < end; ++d)
    extents.push_back(static_cast<std::int64_t>(call.in(0).shape[static_cast<std::size_t>(d)]));
  return {row_of(extents)};
}
std::vector<Value> size_value(const Call& call) {
  return {reshaped(row_of({static_cast<std::int64_t>(call.in(0).count())}), {})};
}

std::vector<Value> constant(const Call& call) {
  if (const auto* const given = call.node.find("value"); given != nullptr && given->tensor) return {value_of(*given->tensor)};
  if (call.has("value_float") || call.has("value_floats")) {
    const tensors::OnnxAttribute* const all = call.node.find("value_floats");
    Value out = make(Kind::real, all == nullptr ? Shape{} : Shape{all->reals.size()});
    out.reals = all == nullptr ? std::vector<float>{static_cast<float>(call.real("value_float", 0))} : all->reals;
    return {out};
  }
  if (call.has("value_int")) return {reshaped(row_of({call.whole("value_int", 0)}), {})};
  if (call.has("value_ints")) return {row_of(call.wholes("value_ints"))};
  throw NotComputed("a constant that is no dense tensor of numbers");
}

std::vector<Value> constant_of_shape(const Call& call) {
  const Shape shape = shape_of(call.wholes_of("", 0));
  const auto* const given = call.node.find("value");
  if (given != nullptr && !given->tensor) throw Error("attribute value is of another type");
  const Value one = given == nullptr ? make(Kind::real, {}) : reshaped(value_of(*given->tensor), {});
  return {stretched(one, shape)};
}

std::vector<Value> range(const Call& call) {
  const Value &start = call.in(0), &limit = call.in(1), &delta = call.in(2);
  if (start.kind != limit.kind || start.kind != delta.kind || start.count() != 1 || limit.count() != 1 || delta.count() != 1 ||
      delta.at(0) == 0)
    throw Error("start, limit and delta that are no range");
  const double count = std::ceil((limit.at(0) - start.at(0)) / delta.at(0));
  if (!(count < 0x1p48)) throw Error("a range without end");
  Value out = make_like(start, {static_cast<std::size_t>(std::max(count, 0.0))});
  for (std::size_t i = 0; i < out.reals.size(); ++i)
    out.reals[i] = static_cast<float>(start.at(0) + static_cast<double>(i) * delta.at(0));
  for (std::size_t i = 0; i < out.wholes.size(); ++i)
    out.wholes[i] = static_cast<std::int64_t>(static_cast<std::uint64_t>(start.wholes[0]) +
                                              i * static_cast<std::uint64_t>(delta.wholes[0]));
  return {out};
}

std::vector<Value> pad(const Call& call) {
  const Value& x = call.in(0);
  const std::size_t rank = x.shape.size();
  const std::vector<std::int64_t> pads = call.wholes_of("pads", 1);
  std::vector<std::size_t> axes(rank);
  std::iota(axes.begin(), axes.end(), std::size_t{0});
  if (call.maybe(3) != nullptr) {
    axes.clear();
    for (const std::int64_t axis : call.wholes_of("axes", 3)) axes.push_back(axis_of(axis, rank));
  }
  if (pads.size() != 2 * axes.size()) throw Error(std::to_string(pads.size()) + " pads for " + words_of(x.shape));
  const std::optional<double> given = call.has("pads") ? std::nullopt : call.number(2);
  const double fill = given ? *given : call.real("value", 0);
  const std::string mode = call.text("mode", "constant");
  if (std::ranges::any_of(pads, [](std::int64_t n) { return n < -(std::int64_t{1} << 40) || n > std::int64_t{1} << 40; }))
    throw Error("pads that do not fit");
  std::vector<std::int64_t> before(rank, 0), after(rank, 0);
  Shape shape = x.shape;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    before[axes[i]] = pads[i], after[axes[i]] = pads[i + axes.size()];
    shape[axes[i]] = extent(static_cast<std::int64_t>(x.shape[axes[i]]) + pads[i] + pads[i + axes.size()]);
  }
  if (mode != "constant" && mode != "edge" && mode != "reflect" && mode != "wrap") throw NotComputed("mode " + mode);
  for (std::size_t d = 0; d < rank; ++d)
    if (mode != "constant" &&
        static_cast<std::int64_t>(x.shape[d]) + std::min<std::int64_t>(before[d], 0) + std::min<std::int64_t>(after[d], 0) <=
            0 &&
        count_of(shape) != 0)
      throw Error("nothing to pad with");
  const std::vector<std::size_t> strides = strides_of(x.shape);
  return {moved(
      x, shape,
      [&](const std::vector<std::size_t>& at) {
        std::size_t index = 0;
        for (std::size_t d = 0; d < rank; ++d) {
          // What negative pads take away goes first.
          const std::int64_t begin = std::max<std::int64_t>(-before[d], 0);
          const std::int64_t all = static_cast<std::int64_t>(x.shape[d]) - begin - std::max<std::int64_t>(-after[d], 0);
          std::int64_t place = static_cast<std::int64_t>(at[d]) - std::max<std::int64_t>(before[d], 0);
          if (place < 0 || place >= all) {
            if (mode == "constant") return nowhere;
            if (mode == "edge") place = std::clamp<std::int64_t>(place, 0, all - 1);
            if (mode == "wrap") place = (place % all + all) % all;
            if (mode == "reflect") {
              const std::int64_t period = std::max<std::int64_t>(2 * (all - 1), 1);
              place = (place % period + period) % period;
              if (place >= all) place = period - place;
            }
          }
          index += static_cast<std::size_t>(place + begin) * strides[d];
        }
        return index;
      },
      fill)};
}

std::vector<Value> triangle(const Call& call) {
  const Value& x = call.in(0);
  const std::size_t rank = x.shape.size();
  if (rank < 2) throw Error("of " + words_of(x.shape));
  if (const Value* const diagonal = call.maybe(1)) diagonal->as_integers();
  const double k = call.number(1).value_or(0);
  const bool upper = call.whole("upper", 1) != 0;
  const std::vector<std::size_t> strides = strides_of(x.shape);
  return {moved(x, x.shape, [&](const std::vector<std::size_t>& at) {
    const double above = static_cast<double>(at[rank - 1]) - static_cast<double>(at[rank - 2]);
    return (upper ? above >= k : above <= k) ? std::inner_product(at.begin(), at.end(), strides.begin(), std::size_t{0})
                                             : nowhere;
  })};
}

std::vector<Value> identity_matrix(const Call& call) {
  const Value& x = call.in(0);
  if (x.shape.size() != 2) throw Error("of " + words_of(x.shape));
  const std::int64_t most = std::int64_t{1} << 40, k = std::clamp(call.whole("k", 0), -most, most);
  const auto dtype = tensors::onnx_dtype(call.whole("dtype", 0));
  Value out = make(dtype ? kind_of(*dtype) : x.kind, x.shape, dtype.value_or(x.dtype));
  for (std::size_t i = 0; i < x.shape[0]; ++i) {
    const std::int64_t j = static_cast<std::int64_t>(i) + k;
    if (j < 0 || j >= static_cast<std::int64_t>(x.shape[1])) continue;
    const std::size_t at = i * x.shape[1] + static_cast<std::size_t>(j);
    out.is_real() ? static_cast<void>(out.reals[at] = 1) : static_cast<void>(out.wholes[at] = 1);
  }
  return {out};
}

/// Blocks of the plane that become channels, or the other way round: a reshape, an order of dimensions, a reshape.
std::vector<Value> depth_to_space(const Call& call) {
  const Value& x = call.in(0);
  const std::size_t b = std::min<std::size_t>(extent(call.whole("blocksize", 1)), std::size_t{1} << 20);
  if (x.shape.size() != 4 || b == 0 || x.shape[1] % (b * b) != 0)
    throw Error("of " + words_of(x.shape) + " in blocks of " + std::to_string(b));
  const std::size_t n = x.shape[0], c = x.shape[1] / (b * b), h = x.shape[2], w = x.shape[3];
  const bool by_columns = call.text("mode", "DCR") == "CRD";
  const Value turned = by_columns ? transposed(reshaped(x, {n, c, b, b, h, w}), {0, 1, 4, 2, 5, 3})
                                  : transposed(reshaped(x, {n, b, b, c, h, w}), {0, 3, 4, 1, 5, 2});
  return {reshaped(turned, {n, c, h * b, w * b})};
}
std::vector<Value> space_to_depth(const Call& call) {
  const Value& x = call.in(0);
  const std::size_t b = std::min<std::size_t>(extent(call.whole("blocksize", 1)), std::size_t{1} << 20);
  if (x.shape.size() != 4 || b == 0 || x.shape[2] % b != 0 || x.shape[3] % b != 0)
    throw Error("of " + words_of(x.shape) + " in blocks of " + std::to_string(b));
  const std::size_t n = x.shape[0], c = x.shape[1], h = x.shape[2] / b, w = x.shape[3] / b;
  const bool by_columns = call.text("mode", "DCR") == "CRD";
  const Value blocks = reshaped(x, {n, c, h, b, w, b});
  const Value turned = by_columns ? transposed(blocks, {0, 1, 3, 5, 2, 4}) : transposed(blocks, {0, 3, 5, 1, 2, 4});
  return {reshaped(turned, {n, c * b * b, h, w})};
}

constexpr Operator shape_table[] = {{"Constant", constant},
                                    {"ConstantOfShape", constant_of_shape},
                                    {"DepthToSpace", depth_to_space},
                                    {"Expand", expand},
                                    {"EyeLike", identity_matrix},
                                    {"Flatten", flatten},
                                    {"Pad", pad},
                                    {"Range", range},
                                    {"Reshape", reshape},
                                    {"Shape", shape_value},
                                    {"Size", size_value},
                                    {"Slice", slice},
                                    {"SpaceToDepth", space_to_depth},
                                    {"Squeeze", squeeze},
                                    {"Tile", tile},
                                    {"Transpose", transpose},
                                    {"Trilu", triangle},
                                    {"Unsqueeze", unsqueeze}};

}  // namespace

Value transposed(const Value& value, const std::vector<std::size_t>& order) {
  std::vector<std::size_t> sorted = order;
  std::ranges::sort(sorted);
  for (std::size_t d = 0; d < value.shape.size(); ++d)
    if (sorted.size() != value.shape.size() || sorted[d] != d)
      throw Error("an order of dimensions that does not fit " + words_of(value.shape));
  const std::vector<std::size_t> from = strides_of(value.shape);
  Shape shape;
  std::vector<std::size_t> strides;
  for (const std::size_t d : order) shape.push_back(value.shape[d]), strides.push_back(from[d]);
  return moved(value, shape, [&](const std::vector<std::size_t>& at) {
    return std::inner_product(at.begin(), at.end(), strides.begin(), std::size_t{0});
  });
}

std::span<const Operator> shape_operators() { return shape_table; }

}  // namespace ulpscope::studies::onnx
