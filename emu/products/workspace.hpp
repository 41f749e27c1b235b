// SPDX-License-Identifier: Apache-2.0
// Memory that products take one after the other, each as much as it needs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "emu/products/operands.hpp"
#include "emu/products/panels.hpp"
#include "emu/products/plan.hpp"

namespace ulpscope::emu::detail {

/// A tile of D while it is worked on. Output (i, j) of panels (r, q) has its chain at (r * b.size() + q) * square + ...
struct Tile {
  static constexpr std::size_t square = panel_rows * panel_columns;

  std::size_t row = 0, column = 0;    ///< of D
  std::size_t rows = 0, columns = 0;  ///< within D
  std::size_t row_panels = 0, column_panels = 0;
  std::vector<RowPanel> a;     ///< at least row_panels
  std::vector<ColumnPanel> b;  ///< at least column_panels
  Lines<float> chains;
  std::vector<float> sums, joined;  ///< of products in parts, as `chains`
  std::vector<float> of_columns;    ///< scales

  void place(std::size_t first_row, std::size_t first_column, std::size_t row_count, std::size_t column_count) {
    row = first_row, column = first_column, rows = row_count, columns = column_count;
    row_panels = (rows + panel_rows - 1) / panel_rows, column_panels = (columns + panel_columns - 1) / panel_columns;
    if (a.size() < row_panels) a.resize(row_panels);
    if (b.size() < column_panels) b.resize(column_panels);
    chains.resize(outputs());
  }
  std::size_t outputs() const noexcept { return row_panels * column_panels * square; }
  /// Where the chains of panels (r, q) begin.
  std::size_t square_at(std::size_t r, std::size_t q) const noexcept { return (r * column_panels + q) * square; }
  /// Where the chains of row i begin in panel q.
  std::size_t row_at(std::size_t i, std::size_t q) const noexcept {
    return square_at(i / panel_rows, q) + i % panel_rows * panel_columns;
  }
  /// Columns of panel q within D.
  std::size_t columns_of(std::size_t q) const noexcept { return std::min(panel_columns, columns - q * panel_columns); }

  /// act(i, j, at): row and column of D, and where its chain is.
  template <class Act>
  void for_each_output(const Act& act) const {
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t q = 0; q < column_panels; ++q)
        for (std::size_t j = 0; j < columns_of(q); ++j) act(row + i, column + q * panel_columns + j, row_at(i, q) + j);
  }
};

/// What MatmulWorkspace holds.
class Workspace {
 public:
  Plans plans;
  CheckedOperand a, b;  ///< of the product at hand
  std::vector<float> scaled_a, scaled_b;  ///< operands that are multiplied in the place of their products

  /// A tile that nobody else has until give_back().
  std::unique_ptr<Tile> take_tile() {
    const std::lock_guard lock(guard_);
    if (tiles_.empty()) return std::make_unique<Tile>();
    std::unique_ptr<Tile> tile = std::move(tiles_.back());
    tiles_.pop_back();
    return tile;
  }
  void give_back(std::unique_ptr<Tile> tile) {
    const std::lock_guard lock(guard_);
    tiles_.push_back(std::move(tile));
  }

 private:
  std::mutex guard_;
  std::vector<std::unique_ptr<Tile>> tiles_;
};

}  // namespace ulpscope::emu::detail
