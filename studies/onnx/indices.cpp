// SPDX-License-Identifier: Apache-2.0
// Operators that choose elements by integers, or find places.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "studies/onnx/operators.hpp"

namespace ulpscope::studies::onnx {
namespace {

using Kind = Value::Kind;

/// An index into an extent, counted from the end where it is negative.
std::size_t inside(std::int64_t index, std::size_t extent) {
  const auto all = static_cast<std::int64_t>(extent);
  if (index < -all || index >= all) throw Error("index " + std::to_string(index) + " of " + std::to_string(extent));
  return static_cast<std::size_t>(index < 0 ? index + all : index);
}

std::size_t place(const std::vector<std::size_t>& at, const std::vector<std::size_t>& strides) {
  return std::inner_product(at.begin(), at.end(), strides.begin(), std::size_t{0});
}

std::vector<Value> gather(const Call& call) {
  const Value &x = call.in(0), &indices = call.in(1).as_integers();
  const std::size_t axis = axis_of(call.whole("axis", 0), x.shape.size()), between = indices.shape.size();
  Shape shape(x.shape.begin(), x.shape.begin() + static_cast<std::ptrdiff_t>(axis));
  shape.insert(shape.end(), indices.shape.begin(), indices.shape.end());
  shape.insert(shape.end(), x.shape.begin() + static_cast<std::ptrdiff_t>(axis) + 1, x.shape.end());
  const std::vector<std::size_t> strides = strides_of(x.shape), of_indices = strides_of(indices.shape);
  return {moved(x, shape, [&](const std::vector<std::size_t>& at) {
    std::size_t which = 0, index = 0;
    for (std::size_t d = 0; d < between; ++d) which += at[axis + d] * of_indices[d];
    for (std::size_t d = 0; d < axis; ++d) index += at[d] * strides[d];
    for (std::size_t d = axis + 1; d < x.shape.size(); ++d) index += at[d + between - 1] * strides[d];
    return index + inside(indices.wholes[which], x.shape[axis]) * strides[axis];
  })};
}

std::vector<Value> gather_elements(const Call& call) {
  const Value &x = call.in(0), &indices = call.in(1).as_integers();
  const std::size_t axis = axis_of(call.whole("axis", 0), x.shape.size());
  if (indices.shape.size() != x.shape.size())
    throw Error("indices of " + words_of(indices.shape) + " for " + words_of(x.shape));
  for (std::size_t d = 0; d < x.shape.size(); ++d)
    if (d != axis && indices.shape[d] > x.shape[d])
      throw Error("indices of " + words_of(indices.shape) + " for " + words_of(x.shape));
  const std::vector<std::size_t> strides = strides_of(x.shape), of_indices = strides_of(indices.shape);
  return {moved(x, indices.shape, [&](const std::vector<std::size_t>& at) {
    const std::size_t which = inside(indices.wholes[place(at, of_indices)], x.shape[axis]);
    return place(at, strides) - at[axis] * strides[axis] + which * strides[axis];
  })};
}

/// The first element of the slice that a row of indices names: `row` holds `depth` of them, of the dimensions behind `batch`.
std::size_t named(const Value& x, const std::vector<std::size_t>& strides, const std::int64_t* row, std::size_t depth,
                  std::size_t batch) {
  std::size_t index = 0;
  for (std::size_t d = 0; d < depth; ++d) index += inside(row[d], x.shape[batch + d]) * strides[batch + d];
  return index;
}

std::vector<Value> gather_nd(const Call& call) {
  const Value &x = call.in(0), &indices = call.in(1).as_integers();
  const std::int64_t of_batch = call.whole("batch_dims", 0);
  if (of_batch < 0 || indices.shape.empty() || static_cast<std::size_t>(of_batch) >= indices.shape.size())
    throw Error("batch_dims " + std::to_string(of_batch) + " for indices of " + words_of(indices.shape));
  const auto batch = static_cast<std::size_t>(of_batch);
  const std::size_t depth = indices.shape.back();
  if (batch + depth > x.shape.size()) throw Error("indices of " + words_of(indices.shape) + " for " + words_of(x.shape));
  if (!std::equal(indices.shape.begin(), indices.shape.begin() + of_batch, x.shape.begin()))
    throw Error("indices of " + words_of(indices.shape) + " for " + words_of(x.shape));
  Shape shape(indices.shape.begin(), indices.shape.end() - 1);
  const std::size_t before = shape.size();
  shape.insert(shape.end(), x.shape.begin() + static_cast<std::ptrdiff_t>(batch + depth), x.shape.end());
  const std::vector<std::size_t> strides = strides_of(x.shape), of_indices = strides_of(indices.shape);
  return {moved(x, shape, [&](const std::vector<std::size_t>& at) {
    std::size_t row = 0, index = 0;
    for (std::size_t d = 0; d < before; ++d) row += at[d] * of_indices[d];
    for (std::size_t d = 0; d < batch; ++d) index += at[d] * strides[d];
    for (std::size_t d = before; d < at.size(); ++d) index += at[d] * strides[d - before + batch + depth];
    return index + named(x, strides, indices.wholes.data() + row, depth, batch);
  })};
}

/// Puts `from` into `to` as the reduction of a scatter says; integers wrap around.
template <class Element>
void put(Element& to, Element from, const std::string& reduction) {
  using Wide = std::conditional_t<std::is_integral_v<Element>, std::uint64_t, Element>;
  if (reduction == "none") {
    to = from;
  } else if (reduction == "add") {
    to = static_cast<Element>(static_cast<Wide>(to) + static_cast<Wide>(from));
  } else if (reduction == "mul") {
    to = static_cast<Element>(static_cast<Wide>(to) * static_cast<Wide>(from));
  } else if (reduction == "max") {
    to = std::max(to, from);
  } else if (reduction == "min") {
    to = std::min(to, from);
  } else {
    throw NotComputed("reduction " + reduction);
  }
}

std::vector<Value> scatter_elements(const Call& call) {
  const Value &x = call.in(0), &indices = call.in(1).as_integers(), &updates = call.in(2);
  const std::size_t axis = axis_of(call.whole("axis", 0), x.shape.size());
  if (indices.shape != updates.shape || indices.shape.size() != x.shape.size() || updates.kind != x.kind)
    throw Error("indices of " + words_of(indices.shape) + " and updates of " + words_of(updates.shape) + " for " +
                words_of(x.shape));
  for (std::size_t d = 0; d < x.shape.size(); ++d)
    if (d != axis && indices.shape[d] > x.shape[d])
      throw Error("indices of " + words_of(indices.shape) + " for " + words_of(x.shape));
  const std::string reduction = call.text("reduction", "none");
  const std::vector<std::size_t> strides = strides_of(x.shape);
  Value out = x;
  Places places(indices.shape);
  for (std::size_t i = 0; i < indices.count(); ++i, places.next()) {
    const std::size_t which = inside(indices.wholes[i], x.shape[axis]);
    const std::size_t at = place(places.at(), strides) - places.at()[axis] * strides[axis] + which * strides[axis];
    x.is_real() ? put(out.reals[at], updates.reals[i], reduction) : put(out.wholes[at], updates.wholes[i], reduction);
  }
  return {out};
}

std::vector<Value> scatter_nd(const Call& call) {
  const Value &x = call.in(0), &indices = call.in(1).as_integers(), &updates = call.in(2);
  if (indices.shape.empty() || indices.shape.back() > x.shape.size() || updates.kind != x.kind)
    throw Error("indices of " + words_of(indices.shape) + " for " + words_of(x.shape));
  const std::size_t depth = indices.shape.back();
  const std::size_t size = count_of(Shape(x.shape.begin() + static_cast<std::ptrdiff_t>(depth), x.shape.end()));
  const std::size_t rows =  // without indices and elements there may be any number of them
      depth == 0 && size == 0 ? 0 : count_of(Shape(indices.shape.begin(), indices.shape.end() - 1));
  if (updates.count() != count_of({rows, size}))
    throw Error("updates of " + words_of(updates.shape) + " for indices of " + words_of(indices.shape));
  const std::string reduction = call.text("reduction", "none");
  const std::vector<std::size_t> strides = strides_of(x.shape);
  Value out = x;
  for (std::size_t row = 0; row < rows; ++row) {
    const std::size_t first = named(x, strides, indices.wholes.data() + row * depth, depth, 0);
    for (std::size_t i = 0; i < size; ++i)
      x.is_real() ? put(out.reals[first + i], updates.reals[row * size + i], reduction)
                  : put(out.wholes[first + i], updates.wholes[row * size + i], reduction);
  }
  return {out};
}

std::vector<Value> one_hot(const Call& call) {
  const Value &indices = call.in(0), &depth = call.in(1), &values = call.in(2);
  if (depth.count() != 1 || values.count() != 2 || !(depth.at(0) >= 0 && depth.at(0) <= 0x1p40))
    throw Error("no depth, or no pair of values");
  const auto extent = static_cast<std::size_t>(depth.at(0));
  const std::size_t axis = axis_of(call.whole("axis", -1), indices.shape.size() + 1);
  Shape shape = indices.shape;
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), extent);
  const std::vector<std::size_t> strides = strides_of(indices.shape);
  return {moved(values, shape, [&](const std::vector<std::size_t>& at) {
    std::size_t index = 0;
    for (std::size_t d = 0; d < strides.size(); ++d) index += at[d < axis ? d : d + 1] * strides[d];
    const double wanted = indices.at(index), on = wanted < 0 ? wanted + static_cast<double>(extent) : wanted;
    return on == static_cast<double>(at[axis]) ? std::size_t{1} : std::size_t{0};
  })};
}

std::vector<Value> non_zero(const Call& call) {
  const Value& x = call.in(0);
  std::size_t count = 0;
  for (std::size_t i = 0; i < x.count(); ++i) count += x.at(i) != 0 ? 1 : 0;
  Value out = make(Kind::whole, {x.shape.size(), count});
  Places places(x.shape);
  for (std::size_t i = 0, found = 0; i < x.count(); ++i, places.next()) {
    if (x.at(i) == 0) continue;
    for (std::size_t d = 0; d < x.shape.size(); ++d) out.wholes[d * count + found] = static_cast<std::int64_t>(places.at()[d]);
    ++found;
  }
  return {out};
}

/// The lines of a value along an axis: line i begins at first(i), its elements are `step` apart.
struct Lines {
  std::size_t count, length, step;
  Lines(const Shape& shape, std::size_t axis) : length(shape[axis]) {
    step = count_of(Shape(shape.begin() + static_cast<std::ptrdiff_t>(axis) + 1, shape.end()));
    count = count_of(Shape(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(axis))) * step;
  }
  std::size_t first(std::size_t line) const { return line / step * step * length + line % step; }
};

std::vector<Value> top_k(const Call& call) {
  const Value& x = call.in(0);
  const std::size_t axis = axis_of(call.whole("axis", -1), x.shape.size());
  const std::vector<std::int64_t> wanted =
      call.has("k") ? std::vector<std::int64_t>{call.whole("k", 0)} : call.wholes_of("", 1);
  if (wanted.size() != 1 || wanted[0] < 0 || static_cast<std::size_t>(wanted[0]) > x.shape[axis])
    throw Error("k is not from 0 to " + std::to_string(x.shape[axis]));
  const auto k = static_cast<std::size_t>(wanted[0]);
  const bool largest = call.whole("largest", 1) != 0;
  Shape shape = x.shape;
  shape[axis] = k;
  Value out = make_like(x, shape), indices = make(Kind::whole, shape);
  if (out.count() == 0) return {out, indices};
  const Lines from(x.shape, axis), to(shape, axis);
  std::vector<std::size_t> order(from.length);
  for (std::size_t line = 0; line < from.count; ++line) {
    const auto at = [&](std::size_t i) { return x.at(from.first(line) + i * from.step); };
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, [&](std::size_t i, std::size_t j) {  // NaN is greater than all numbers
      const double x_i = at(i), x_j = at(j);
      if (std::isnan(x_i) != std::isnan(x_j)) return std::isnan(x_i) == largest;
      if (x_i == x_j || std::isnan(x_i)) return i < j;
      return largest ? x_i > x_j : x_i < x_j;
    });
    for (std::size_t i = 0; i < k; ++i) {
      const std::size_t place = to.first(line) + i * to.step, source = from.first(line) + order[i] * from.step;
      x.is_real() ? static_cast<void>(out.reals[place] = x.reals[source])
                  : static_cast<void>(out.wholes[place] = x.wholes[source]);
      indices.wholes[place] = static_cast<std::int64_t>(order[i]);
    }
  }
  return {out, indices};
}

std::vector<Value> extreme_index(const Call& call, bool greatest) {
  const Value& x = call.in(0);
  const std::size_t axis = axis_of(call.whole("axis", 0), x.shape.size());
  const bool last = call.whole("select_last_index", 0) != 0, keeps = call.whole("keepdims", 1) != 0;
  if (x.shape[axis] == 0) throw Error("of " + words_of(x.shape));
  Shape shape = x.shape;
  shape[axis] = 1;
  Value out = make(Kind::whole, shape);
  const Lines lines(x.shape, axis);
  for (std::size_t line = 0; line < lines.count; ++line) {
    std::size_t best = 0;
    const auto at = [&](std::size_t i) { return x.at(lines.first(line) + i * lines.step); };
    for (std::size_t i = 1; i < lines.length; ++i) {
      const double a = greatest ? at(i) : -at(i), b = greatest ? at(best) : -at(best);
      const bool same = a == b || (std::isnan(a) && std::isnan(b));
      if (a > b || (last && same) || (!same && std::isnan(a))) best = i;
    }
    out.wholes[line] = static_cast<std::int64_t>(best);
  }
  if (!keeps) shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
  return {reshaped(out, shape)};
}
std::vector<Value> arg_max(const Call& call) { return extreme_index(call, true); }
std::vector<Value> arg_min(const Call& call) { return extreme_index(call, false); }

constexpr Operator index_table[] = {{"ArgMax", arg_max},
                                    {"ArgMin", arg_min},
                                    {"Gather", gather},
                                    {"GatherElements", gather_elements},
                                    {"GatherND", gather_nd},
                                    {"NonZero", non_zero},
                                    {"OneHot", one_hot},
                                    {"Scatter", scatter_elements},
                                    {"ScatterElements", scatter_elements},
                                    {"ScatterND", scatter_nd},
                                    {"TopK", top_k}};

}  // namespace

std::span<const Operator> index_operators() { return index_table; }

}  // namespace ulpscope::studies::onnx
