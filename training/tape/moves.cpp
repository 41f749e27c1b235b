// SPDX-License-Identifier: Apache-2.0
// Operations that move numbers and change none: their gradients move back, and meet where a number was taken twice.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "emu/error.hpp"
#include "training/tape/operations.hpp"

namespace ulpscope::training {
namespace {

using Places = std::vector<std::uint32_t>;

/// Places have 32 bits.
void check_extent(std::string_view name, const Shape& shape) {
  if (count_of(shape) > std::numeric_limits<std::uint32_t>::max())
    throw Error(std::string(name) + ": " + words_of(shape) + " has 2^32 elements or more");
}

/// Result element i is input element from[i].
template <class Real>
Variable moved(Tape<Real>& tape, std::string_view name, Variable x, Shape shape, std::shared_ptr<const Places> from) {
  Array<Real> y = tape.array(std::move(shape));
  const auto move = [](const Places& places, const Real* xs, Real* ys) {
    for (std::size_t i = 0; i < places.size(); ++i) ys[i] = xs[places[i]];
  };
  move(*from, tape.value(x).values.data(), y.values.data());
  return tape.record_moved(name, x, std::move(y),
                           [&tape, of = tape.shape(x), from = std::move(from)](const Array<Real>& gradient) {
                             std::vector<Array<Real>> out;
                             out.push_back(tape.zeros(of));
                             const auto back = [](const Places& places, const Real* ys, Real* xs) {
                               for (std::size_t i = 0; i < places.size(); ++i) xs[places[i]] = ys[i];
                             };
                             back(*from, gradient.values.data(), out[0].values.data());
                             return out;
                           });
}

/// What a table of moves knows it by: operation, numbers, shape.
std::vector<std::size_t> key_of(std::size_t operation, const std::vector<std::size_t>& numbers, const Shape& shape) {
  std::vector<std::size_t> key{operation, numbers.size()};
  key.insert(key.end(), numbers.begin(), numbers.end());
  key.insert(key.end(), shape.begin(), shape.end());
  return key;
}

std::vector<std::size_t> strides_of(const Shape& shape) {
  std::vector<std::size_t> strides(shape.size(), 1);
  for (std::size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
  return strides;
}

}  // namespace

template <class Real>
Variable reshape(Tape<Real>& tape, Variable x, Shape shape) {
  if (count_of(shape) != tape.value(x).count())
    throw Error("reshape: " + words_of(tape.shape(x)) + " has not as many elements as " + words_of(shape));
  return tape.record_moved("reshape", x, tape.copy(std::move(shape), tape.value(x).values),
                           [&tape, of = tape.shape(x)](const Array<Real>& gradient) {
                             std::vector<Array<Real>> out;
                             out.push_back(tape.copy(of, gradient.values));
                             return out;
                           });
}

template <class Real>
Variable permute(Tape<Real>& tape, Variable x, const std::vector<std::size_t>& dimensions) {
  const Shape& in = tape.shape(x);
  std::vector<bool> seen(in.size(), false);
  for (const std::size_t d : dimensions) {
    if (d >= in.size() || seen[d]) throw Error("permute: dimension " + std::to_string(d) + " of " + words_of(in));
    seen[d] = true;
  }
  if (dimensions.size() != in.size())
    throw Error("permute: " + words_of(in) + " has " + std::to_string(in.size()) + " dimensions");
  check_extent("permute", in);
  Shape out;
  for (const std::size_t d : dimensions) out.push_back(in[d]);
  const auto places = [&] {
    const std::vector<std::size_t> strides = strides_of(in);
    Places from(count_of(out));
    for (std::size_t i = 0; i < from.size(); ++i) {
      std::size_t rest = i, place = 0;
      for (std::size_t d = out.size(); d-- > 0; rest /= out[d]) place += rest % out[d] * strides[dimensions[d]];
      from[i] = static_cast<std::uint32_t>(place);
    }
    return from;
  };
  const auto from = tape.workspace().moves.of(key_of(0, dimensions, in), places);
  return moved(tape, "permute", x, std::move(out), from);
}

template <class Real>
Variable slice(Tape<Real>& tape, Variable x, std::size_t dimension, std::size_t begin, std::size_t end) {
  Shape shape = tape.shape(x);
  if (dimension >= shape.size() || begin >= end || end > shape[dimension])
    throw Error("slice: " + std::to_string(begin) + ":" + std::to_string(end) + " of dimension " + std::to_string(dimension) +
                " of " + words_of(shape));
  check_extent("slice", shape);
  std::vector<std::size_t> key = key_of(1, {dimension, begin, end}, shape);
  const std::size_t stride = strides_of(shape)[dimension], extent = shape[dimension];
  shape[dimension] = end - begin;
  const auto places = [&] {
    Places from(count_of(shape));
    const std::size_t run = stride * (end - begin);
    for (std::size_t i = 0; i < from.size(); ++i)
      from[i] = static_cast<std::uint32_t>(i / run * stride * extent + begin * stride + i % run);
    return from;
  };
  const auto from = tape.workspace().moves.of(std::move(key), places);
  return moved(tape, "slice", x, std::move(shape), from);
}

template <class Real>
Variable concatenate(Tape<Real>& tape, const std::vector<Variable>& parts, std::size_t dimension) {
  if (parts.empty()) throw Error("concatenate: nothing");
  Shape shape = tape.shape(parts.front());
  if (dimension >= shape.size())
    throw Error("concatenate: " + words_of(shape) + " has no dimension " + std::to_string(dimension));
  shape[dimension] = 0;
  for (const Variable part : parts) {
    Shape other = tape.shape(part);
    const std::size_t extent = other.size() > dimension ? std::exchange(other[dimension], shape[dimension]) : 0;
    if (other != shape)
      throw Error("concatenate: " + words_of(tape.shape(parts.front())) + " and " + words_of(tape.shape(part)));
    shape[dimension] += extent;
  }
  std::size_t before = 1, after = 1;
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (d != dimension) (d < dimension ? before : after) *= shape[d];
  Array<Real> y = tape.array(shape);
  std::vector<std::size_t> extents;
  for (std::size_t offset = 0; const Variable part : parts) {
    const std::size_t run = tape.shape(part)[dimension] * after;
    for (std::size_t b = 0; b < before; ++b)
      std::copy_n(tape.value(part).values.begin() + static_cast<std::ptrdiff_t>(b * run), run,
                  y.values.begin() + static_cast<std::ptrdiff_t>(b * shape[dimension] * after + offset));
    offset += run;
    extents.push_back(run);
  }
  // What parts of different formats are stored in, none says: they have one.
  for (const Variable part : parts)
    if (!(tape.format(part) == tape.format(parts.front()))) throw Error("concatenate: parts of different formats");
  const Storage storage{tape.format(parts.front()), {}};
  const std::size_t whole = shape[dimension] * after;
  return tape.record("concatenate", parts, std::move(y), storage,
                     [&tape, parts, extents, before, whole](const Array<Real>& gradient) {
                       std::vector<Array<Real>> out;
                       for (std::size_t offset = 0, k = 0; k < parts.size(); offset += extents[k++]) {
                         out.push_back(tape.array(tape.shape(parts[k])));
                         for (std::size_t b = 0; b < before; ++b)
                           std::copy_n(gradient.values.begin() + static_cast<std::ptrdiff_t>(b * whole + offset), extents[k],
                                       out.back().values.begin() + static_cast<std::ptrdiff_t>(b * extents[k]));
                       }
                       return out;
                     });
}

template <class Real>
Variable gather(Tape<Real>& tape, Variable table, const std::vector<std::size_t>& rows) {
  const Shape of = tape.shape(table);
  if (of.size() != 2) throw Error("gather: rows of a table, not of " + words_of(of));
  Array<Real> y = tape.array({rows.size(), of[1]});
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] >= of[0]) throw Error("gather: row " + std::to_string(rows[i]) + " of " + words_of(of));
    std::copy_n(tape.value(table).values.begin() + static_cast<std::ptrdiff_t>(rows[i] * of[1]), of[1],
                y.values.begin() + static_cast<std::ptrdiff_t>(i * of[1]));
  }
  return tape.record_moved("gather", table, std::move(y), [&tape, of, rows](const Array<Real>& gradient) {
    std::vector<double> sums(count_of(of), 0.0);
    for (std::size_t i = 0; i < rows.size(); ++i)
      for (std::size_t j = 0; j < of[1]; ++j) sums[rows[i] * of[1] + j] += static_cast<double>(gradient.values[i * of[1] + j]);
    std::vector<Array<Real>> out;
    out.push_back(tape.array(of));
    for (std::size_t i = 0; i < sums.size(); ++i) out[0].values[i] = static_cast<Real>(sums[i]);
    return out;
  });
}

template <class Real>
Variable max_pool(Tape<Real>& tape, Variable x, std::size_t size) {
  const Shape in = tape.shape(x);
  if (in.size() != 4 || size == 0 || in[2] < size || in[3] < size)
    throw Error("max_pool: windows of " + std::to_string(size) + " in " + words_of(in));
  const Shape out{in[0], in[1], in[2] / size, in[3] / size};
  const auto& xs = tape.value(x).values;
  check_extent("max_pool", in);
  Places from(count_of(out));
  for (std::size_t i = 0; i < from.size(); ++i) {
    const std::size_t column = i % out[3] * size, row = i / out[3] % out[2] * size, plane = i / (out[3] * out[2]);
    std::size_t best = (plane * in[2] + row) * in[3] + column;
    for (std::size_t r = 0; r < size; ++r) {
      for (std::size_t c = 0; c < size; ++c) {
        const std::size_t at = (plane * in[2] + row + r) * in[3] + column + c;
        if (xs[at] > xs[best] || (std::isnan(xs[at]) && !std::isnan(xs[best]))) best = at;
      }
    }
    from[i] = static_cast<std::uint32_t>(best);
  }
  return moved(tape, "max_pool", x, out, std::make_shared<const Places>(std::move(from)));
}

template <class Real>
Variable mask_future(Tape<Real>& tape, Variable x, Real value) {
  const Shape& shape = tape.shape(x);
  if (shape.size() < 2) throw Error("mask_future: " + words_of(shape) + " has no rows and columns");
  const CausalMask mask{shape[shape.size() - 2], shape.back()};
  Array<Real> y = tape.copy(shape, tape.value(x).values);
  for (std::size_t i = 0; i < y.count(); ++i)
    if (mask.hides(i)) y.values[i] = value;
  const auto backward = [&tape, mask](const Array<Real>& gradient) {
    std::vector<Array<Real>> out;
    out.push_back(tape.copy(gradient.shape, gradient.values));
    for (std::size_t i = 0; i < out[0].count(); ++i)
      if (mask.hides(i)) out[0].values[i] = 0;
    return out;
  };
  return tape.record("mask_future", {x}, std::move(y), std::nullopt, backward, mask);
}

#define ULPSCOPE_OPERATIONS(Real)                                                        \
  template Variable reshape(Tape<Real>&, Variable, Shape);                               \
  template Variable permute(Tape<Real>&, Variable, const std::vector<std::size_t>&);     \
  template Variable slice(Tape<Real>&, Variable, std::size_t, std::size_t, std::size_t); \
  template Variable concatenate(Tape<Real>&, const std::vector<Variable>&, std::size_t); \
  template Variable gather(Tape<Real>&, Variable, const std::vector<std::size_t>&);      \
  template Variable max_pool(Tape<Real>&, Variable, std::size_t);                        \
  template Variable mask_future(Tape<Real>&, Variable, Real);

ULPSCOPE_OPERATIONS(float)
ULPSCOPE_OPERATIONS(double)
#undef ULPSCOPE_OPERATIONS

}  // namespace ulpscope::training
