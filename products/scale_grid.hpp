// SPDX-License-Identifier: Apache-2.0
// Which scale an element of a scaled matrix takes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>

#include "emu/engine_matmul.hpp"

namespace ulpscope::products {

/// The scale of element (i, j) of a `rows` by `columns` matrix; 1 where there are none. grid.whole is not in it.
inline double scale_at(const emu::ScaleGrid& grid, std::size_t rows, std::size_t columns, std::size_t i, std::size_t j) {
  if (grid.empty()) return 1;
  const std::size_t row_block = std::max<std::size_t>(grid.rows_of_block(rows), 1);
  const std::size_t column_block = std::max<std::size_t>(grid.columns_of_block(columns), 1);
  return static_cast<double>(grid.values[i / row_block * grid.columns + j / column_block]);
}

/// For how many products of A (.. by k) and B (k by ..) the scales of both stay the same: they change at its multiples.
inline std::size_t constant_along_k(const emu::ScaleGrid& a, const emu::ScaleGrid& b, std::size_t k) {
  const std::size_t of_a = a.empty() || a.columns == 1 ? 0 : a.columns_of_block(k);
  const std::size_t of_b = b.empty() || b.rows == 1 ? 0 : b.rows_of_block(k);
  const std::size_t common = std::gcd(of_a, of_b);
  return common == 0 ? std::max<std::size_t>(k, 1) : common;
}

}  // namespace ulpscope::products
