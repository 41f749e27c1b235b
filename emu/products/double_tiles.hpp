// SPDX-License-Identifier: Apache-2.0
// Tiles of a product in doubles: panels are packed stretch by stretch of K, and kernels continue the sums of 64 by 64 outputs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "emu/engine_matmul.hpp"
#include "emu/matmul_parts.hpp"
#include "emu/products/fused.hpp"
#include "emu/products/panels.hpp"
#include "emu/stop.hpp"
#include "emu/tasks.hpp"

namespace ulpscope::emu::detail {

/// Lines of an operand (rows of A, columns of B) over a stretch of K as doubles: element (line, k) at k * lines + line.
class DoublePanel {
 public:
  static constexpr std::size_t lines = panel_rows;
  static_assert(panel_rows == panel_columns);

  /// Elements that take(element) makes of those of the operand; what is beyond it, and k from `end` to `filled`, are zeros.
  template <class Float, class Take>
  void pack(const EngineOperand<Float>& operand, bool along_rows, std::size_t first, std::size_t begin, std::size_t end,
            std::size_t filled, const Take& take) {
    const std::size_t count = std::min(lines, (along_rows ? operand.rows() : operand.columns()) - first);
    values_.resize((filled - begin) * lines);
    double* const out = values_.data();
    if (count < lines || filled > end) std::fill_n(out, (filled - begin) * lines, 0.0);
    if (begin >= end) return;
    const bool neighbours = along_rows == operand.transposed;  // lines stand side by side in memory
    const Float* const from =
        operand.values.data() + (neighbours ? operand.shape.at(begin, first) : operand.shape.at(first, begin));
    const std::size_t stride = operand.shape.stride;
    constexpr std::size_t strip = 8;  // of K, whose cache lines are filled together
    for (std::size_t k = 0; k < end - begin; k += strip) {
      const std::size_t last = std::min(k + strip, end - begin);
      if (neighbours) {
        for (std::size_t x = k; x < last; ++x)
          for (std::size_t line = 0; line < count; ++line) out[x * lines + line] = take(from[x * stride + line]);
      } else {
        for (std::size_t line = 0; line < count; ++line)
          for (std::size_t x = k; x < last; ++x) out[x * lines + line] = take(from[line * stride + x]);
      }
    }
  }
  const double* data() const noexcept { return values_.data(); }

 private:
  Lines<double> values_;
};

/// A tile of D: where it lies, and its panels.
class DoubleTile {
 public:
  static constexpr std::size_t square = panel_rows * panel_columns;

  DoubleTile(std::size_t row, std::size_t column, std::size_t rows, std::size_t columns)
      : row_(row), column_(column), rows_(rows), columns_(columns), a_(panels_in(rows)), b_(panels_in(columns)) {}

  /// Pairs of a panel of rows and one of columns.
  std::size_t pairs() const noexcept { return a_.size() * b_.size(); }

  /// Packs products [begin, end) and calls run(pair, panels) for each pair. `filled` as in DoublePanel::pack.
  template <class Float, class Take, class Run>
  void stretch(const EngineMatmul<Float>& problem, std::size_t begin, std::size_t end, std::size_t filled, const Take& take,
               const Run& run) {
    for (std::size_t r = 0; r < a_.size(); ++r) a_[r].pack(problem.a, true, row_ + r * panel_rows, begin, end, filled, take);
    for (std::size_t q = 0; q < b_.size(); ++q)
      b_[q].pack(problem.b, false, column_ + q * panel_columns, begin, end, filled, take);
    for (std::size_t q = 0; q < b_.size(); ++q)
      for (std::size_t r = 0; r < a_.size(); ++r) {
        stop_if_asked();
        run(r * b_.size() + q,
            FusedPanels<double>{a_[r].data(), b_[q].data(), std::min(panel_rows, rows_ - r * panel_rows), filled - begin});
      }
  }

  /// act(i, j, pair, at): row and column of D, its pair of panels, and which of the pair's outputs it is.
  template <class Act>
  void for_each_output(const Act& act) const {
    for (std::size_t i = 0; i < rows_; ++i)
      for (std::size_t j = 0; j < columns_; ++j)
        act(row_ + i, column_ + j, i / panel_rows * b_.size() + j / panel_columns,
            i % panel_rows * panel_columns + j % panel_columns);
  }

 private:
  static std::size_t panels_in(std::size_t extent) { return (extent + panel_rows - 1) / panel_rows; }

  std::size_t row_, column_, rows_, columns_;
  std::vector<DoublePanel> a_, b_;
};

/// Calls work(tile) for the tiles of a product, in threads. Large tiles share their packing, small ones keep all threads busy.
template <class Float, class Work>
void for_each_double_tile(const EngineMatmul<Float>& problem, std::size_t largest, const Work& work) {
  const std::size_t rows = problem.a.rows(), columns = problem.b.columns();
  const std::size_t threads = threads_wanted(problem.threads);
  std::size_t extent = largest;
  const auto tiles_in = [&](std::size_t size) { return (size + extent - 1) / extent; };
  while (extent > panel_rows && threads > 1 && tiles_in(rows) * tiles_in(columns) < 2 * threads) extent /= 2;
  const std::size_t across = tiles_in(columns);
  for_each_task(tiles_in(rows) * across, problem.threads, [&](std::size_t task) {
    const std::size_t row = task / across * extent, column = task % across * extent;
    DoubleTile tile(row, column, std::min(extent, rows - row), std::min(extent, columns - column));
    work(tile);
  });
}

}  // namespace ulpscope::emu::detail
