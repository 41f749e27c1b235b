// SPDX-License-Identifier: Apache-2.0
// Looks scales up block by block, and lays them out beside the panels of their operands.
#include "emu/products/engine_scales.hpp"

#include <cmath>

#include "emu/matmul_parts.hpp"

namespace ulpscope::emu::detail {
namespace {

double finite(float scale) noexcept { return std::isnan(scale) ? 1.0 : static_cast<double>(scale); }

/// act(step, block, k) for every block of a stretch, k being its first product.
template <class Act>
void for_each_block(const Engine& engine, const Kernel& kernel, const Stretch& stretch, Act act) {
  for (std::size_t s = 0; s < stretch.steps; ++s)
    for (std::size_t block = 0; block < kernel.blocks(); ++block)
      act(s, block, stretch.begin + s * kernel.products() + block * static_cast<std::size_t>(engine.scale_products));
}

}  // namespace

float engine_scale(const ScaleGrid& grid, const EngineOperand<float>& operand, std::size_t i, std::size_t j) noexcept {
  return grid.empty() ? 1.0F : std::abs(scale_at(grid, operand.rows(), operand.columns(), i, j));
}

void pack_row_scales(const Engine& engine, const Kernel& kernel, const Stretch& stretch, const ScaleGrid& grid,
                     const EngineOperand<float>& a, std::size_t row, RowPanel& panel) {
  const std::size_t blocks = kernel.blocks();
  panel.scales.resize(stretch.steps * panel_rows * blocks);
  for_each_block(engine, kernel, stretch, [&](std::size_t s, std::size_t block, std::size_t k) {
    for (std::size_t i = 0; i < panel.rows; ++i)
      panel.scales[(s * panel_rows + i) * blocks + block] = k < a.columns() ? finite(engine_scale(grid, a, row + i, k)) : 1;
  });
}

void pack_column_scales(const Engine& engine, const Kernel& kernel, const Stretch& stretch, const ScaleGrid& grid,
                        const EngineOperand<float>& b, std::size_t column, ColumnPanel& panel) {
  const std::size_t blocks = kernel.blocks();
  panel.scales.resize(stretch.steps * blocks * panel_columns);
  for_each_block(engine, kernel, stretch, [&](std::size_t s, std::size_t block, std::size_t k) {
    for (std::size_t j = 0; j < panel_columns; ++j) {
      const bool within = k < b.rows() && j < panel.columns;
      panel.scales[(s * blocks + block) * panel_columns + j] = within ? finite(engine_scale(grid, b, k, column + j)) : 1;
    }
  });
}

void look_at_scales(const Engine& engine, const ScaleGrid& grid, bool along_rows, CheckedOperand& checked) {
  const EngineOperand<float>& operand = checked.operand();
  const std::size_t depth = along_rows ? operand.columns() : operand.rows();
  const std::size_t lines = along_rows ? operand.rows() : operand.columns();
  for (std::size_t k = 0; k < depth; k += static_cast<std::size_t>(engine.scale_products))
    for (std::size_t line = 0; line < lines; ++line) {
      const float scale = along_rows ? engine_scale(grid, operand, line, k) : engine_scale(grid, operand, k, line);
      if (std::isnan(scale)) checked.add_special(line, k);
    }
}

}  // namespace ulpscope::emu::detail
