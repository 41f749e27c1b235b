// SPDX-License-Identifier: Apache-2.0
// Broadcasts batches, and turns vectors into matrices.
#include "products/shape.hpp"

#include <algorithm>
#include <utility>

#include "emu/error.hpp"
#include "tensors/elements.hpp"
#include "tensors/tensor.hpp"

namespace ulpscope::products {
namespace {

using Shape = std::vector<std::uint64_t>;

std::size_t product(const Shape& shape) {
  const auto count = tensors::element_count(shape);
  if (!count) throw Error("a result of shape " + tensors::shape_text(shape) + " has more elements than can be counted");
  return static_cast<std::size_t>(*count);
}

/// The common shape of two, aligned at their ends, or nothing.
std::optional<Shape> broadcast(const Shape& a, const Shape& b) {
  Shape out(std::max(a.size(), b.size()));
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::uint64_t x = i < a.size() ? a[a.size() - 1 - i] : 1, y = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (x != y && x != 1 && y != 1) return std::nullopt;
    out[out.size() - 1 - i] = x == 1 ? y : x;
  }
  return out;
}

std::pair<std::size_t, std::size_t> extents(const MatmulInput& input, bool vector_is_row) {
  const Shape& shape = input.tensor.shape;
  if (shape.empty()) throw Error(input.words() + ": is a scalar; matrices and vectors can be multiplied");
  if (input.is_vector()) {
    if (input.transposed) throw Error(input.words() + ": is a vector, which has no transpose");
    const auto extent = static_cast<std::size_t>(shape[0]);
    return vector_is_row ? std::pair<std::size_t, std::size_t>{1, extent} : std::pair<std::size_t, std::size_t>{extent, 1};
  }
  auto rows = static_cast<std::size_t>(shape[shape.size() - 2]), columns = static_cast<std::size_t>(shape.back());
  if (input.transposed) std::swap(rows, columns);
  return {rows, columns};
}

}  // namespace

Shape MatmulInput::batch() const {
  const Shape& shape = tensor.shape;
  return shape.size() <= 2 ? Shape{} : Shape(shape.begin(), shape.end() - 2);
}

std::string MatmulInput::words() const {
  return tensor.label + " (" + (tensor.shape.empty() ? "no extents" : tensors::shape_text(tensor.shape)) +
         (transposed ? ", transposed)" : ")");
}

MatmulShape matmul_shape(const MatmulInput& a, const MatmulInput& b) {
  const auto [m, k] = extents(a, true);
  const auto [b_rows, n] = extents(b, false);
  if (k != b_rows)
    throw Error(a.words() + " by " + b.words() + ": A has " + std::to_string(k) + " columns, B has " + std::to_string(b_rows) +
                " rows; they must be as many");
  const auto batch = broadcast(a.batch(), b.batch());
  if (!batch)
    throw Error(a.words() + " by " + b.words() + ": the batches " + tensors::shape_text(a.batch()) + " and " +
                tensors::shape_text(b.batch()) + " do not fit; their extents must be equal, or 1");
  MatmulShape shape{m, n, k, *batch, {}, {}, product(a.batch()), product(b.batch())};
  shape.a_of = broadcast_indices("A", a.batch(), *batch);
  shape.b_of = broadcast_indices("B", b.batch(), *batch);
  if (!a.is_vector()) shape.d.push_back(m);
  if (!b.is_vector()) shape.d.push_back(n);
  product(shape.d);
  return shape;
}

std::vector<std::size_t> broadcast_indices(const std::string& name, const Shape& from, const Shape& to) {
  bool fits = from.size() <= to.size();
  const std::size_t missing = to.size() - std::min(from.size(), to.size());
  for (std::size_t i = 0; fits && i < from.size(); ++i) fits = from[i] == to[missing + i] || from[i] == 1;
  if (!fits)
    throw Error(name + ": shape " + tensors::shape_text(from) + " does not fit " + tensors::shape_words(to) +
                "; from the last on, extents must be equal, or 1");
  std::vector<std::size_t> indices(product(to));
  for (std::size_t index = 0; index < indices.size(); ++index) {
    std::size_t rest = index, stride = 1;
    for (std::size_t i = to.size(); i-- > missing;) {
      const auto extent = static_cast<std::size_t>(to[i]), of_from = static_cast<std::size_t>(from[i - missing]);
      if (of_from != 1) indices[index] += rest % extent * stride;
      rest /= extent;
      stride *= of_from;
    }
  }
  return indices;
}

}  // namespace ulpscope::products
