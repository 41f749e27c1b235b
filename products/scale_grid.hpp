// SPDX-License-Identifier: Apache-2.0
// Which scale an element of a scaled matrix takes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>

#include "emu/engine_matmul.hpp"

namespace ulpscope::products {

namespace detail {
inline std::size_t scale_block(std::size_t extent, std::size_t count) {
  return std::max<std::size_t>((extent + count - 1) / count, 1);
}
}  // namespace detail

/// The scale of element (i, j) of a `rows` by `columns` matrix; 1 where there are none. grid.whole is not in it.
inline double scale_at(const emu::ScaleGrid& grid, std::size_t rows, std::size_t columns, std::size_t i, std::size_t j) {
  if (grid.empty()) return 1;
  return static_cast<double>(
      grid.values[i / detail::scale_block(rows, grid.rows) * grid.columns + j / detail::scale_block(columns, grid.columns)]);
}

/// For how many products of A (.. by k) and B (k by ..) the scales of both stay the same: they change at its multiples.
inline std::size_t constant_along_k(const emu::ScaleGrid& a, const emu::ScaleGrid& b, std::size_t k) {
  const std::size_t of_a = a.empty() || a.columns == 1 ? 0 : detail::scale_block(k, a.columns);
  const std::size_t of_b = b.empty() || b.rows == 1 ? 0 : detail::scale_block(k, b.rows);
  const std::size_t common = std::gcd(of_a, of_b);
  return common == 0 ? std::max<std::size_t>(k, 1) : common;
}

}  // namespace ulpscope::products
