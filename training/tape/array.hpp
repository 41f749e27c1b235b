// SPDX-License-Identifier: Apache-2.0
// Numbers with a shape, in memory: what the tape computes with.
#pragma once

#include <cstddef>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

namespace ulpscope::training {

/// Extents, slowest first; none for a single number.
using Shape = std::vector<std::size_t>;

inline std::size_t count_of(const Shape& shape) noexcept {
  return std::accumulate(shape.begin(), shape.end(), std::size_t{1}, std::multiplies<>());
}

/// `2x3`; `()` for a single number.
std::string words_of(const Shape& shape);

/// Row-major. `Real` is float, or double where a format does not fit float.
template <class Real>
struct Array {
  Shape shape;
  std::vector<Real> values;

  Array() = default;
  explicit Array(Shape of, Real value = 0) : shape(std::move(of)), values(count_of(shape), value) {}
  Array(Shape of, std::vector<Real> numbers) : shape(std::move(of)), values(std::move(numbers)) {}

  std::size_t count() const noexcept { return values.size(); }
  std::size_t extent(std::size_t dimension) const noexcept { return shape[dimension]; }
  bool empty() const noexcept { return values.empty(); }
};

}  // namespace ulpscope::training
