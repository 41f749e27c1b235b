// SPDX-License-Identifier: Apache-2.0
// An operand whose panels are all packed before the product, for several products.
#pragma once

#include <cstddef>
#include <vector>

#include "emu/engine_matmul.hpp"
#include "emu/products/operands.hpp"
#include "emu/products/panels.hpp"
#include "emu/products/plan.hpp"

namespace ulpscope::emu::detail {

/// What PreparedOperand holds.
class Prepared {
 public:
  Prepared(const EngineMatmul<float>& problem, MatmulOperand which);

  const CheckedOperand& checked() const noexcept { return checked_; }
  /// The panel of a stretch whose first row, or column, is `line`.
  ///@{
  const RowPanel& rows(std::size_t stretch, std::size_t line) const noexcept { return rows_[at(stretch, line)]; }
  const ColumnPanel& columns(std::size_t stretch, std::size_t line) const noexcept { return columns_[at(stretch, line)]; }
  ///@}

  /// @throws Error where the operand was not prepared for this product
  void check(const EngineMatmul<float>& problem, const MatmulPlan& plan, MatmulOperand which) const;

 private:
  std::size_t at(std::size_t stretch, std::size_t line) const noexcept { return stretch * panels_ + line / panel_rows; }

  MatmulOperand which_;
  Engine engine_;
  ScaleGrid scales_;
  CheckedOperand checked_;
  std::vector<PanelLayout> layouts_;  ///< of each part
  std::vector<Stretch> stretches_;
  std::size_t panels_ = 0;  ///< of a stretch
  std::vector<RowPanel> rows_;
  std::vector<ColumnPanel> columns_;
};
static_assert(panel_rows == panel_columns);

}  // namespace ulpscope::emu::detail
