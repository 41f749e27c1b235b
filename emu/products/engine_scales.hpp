// SPDX-License-Identifier: Apache-2.0
// Scales that an engine applies itself, as its kernel reads them, and as numbers that may be NaN.
#pragma once

#include <cstddef>

#include "emu/engine_matmul.hpp"
#include "emu/products/operands.hpp"
#include "emu/products/panels.hpp"
#include "emu/products/plan.hpp"

namespace ulpscope::emu::detail {

/// The scale that the engine applies to element (i, j) of an operand, 1 where there is none.
float engine_scale(const ScaleGrid& grid, const EngineOperand<float>& operand, std::size_t i, std::size_t j) noexcept;

/// Scales of a stretch for the rows of A, or columns of B, of a panel, the first of which is `row`, or `column`. NaN counts as
/// 1 here: it is a special.
///@{
void pack_row_scales(const Engine& engine, const Kernel& kernel, const Stretch& stretch, const ScaleGrid& grid,
                     const EngineOperand<float>& a, std::size_t row, RowPanel& panel);
void pack_column_scales(const Engine& engine, const Kernel& kernel, const Stretch& stretch, const ScaleGrid& grid,
                        const EngineOperand<float>& b, std::size_t column, ColumnPanel& panel);
///@}

/// Products whose scale is NaN become specials of their lines: rows of A, else columns of B.
void look_at_scales(const Engine& engine, const ScaleGrid& grid, bool along_rows, CheckedOperand& operand);

}  // namespace ulpscope::emu::detail
