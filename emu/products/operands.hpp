// SPDX-License-Identifier: Apache-2.0
// Operands of a matrix product, checked and cut into panels. Infinities and NaNs are left out of the panels and listed apart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "emu/engine_matmul.hpp"
#include "emu/error.hpp"
#include "emu/products/panels.hpp"

namespace ulpscope::emu::detail {

/// How operands lie in panels.
struct PanelLayout {
  std::size_t products;  ///< of a step
  bool exponents;        ///< whether there are any
  bool wide;             ///< exponents of 16 bits
  bool flush;            ///< subnormal operands count as zero
  bool positive_zeros;   ///< and zeros have no sign
  bool as_float16;       ///< exponents are those of Engine::operands_become_float16
};

Error not_of_format(const char* name, Format format, std::size_t row, std::size_t column, double value);

/// An operand whose elements are values of its format.
class CheckedOperand {
 public:
  CheckedOperand() = default;
  /// `name` is what the error calls the matrix. `along_rows`: K runs along the rows (A), else down the columns (B).
  /// @throws Error at the first element, as stored, that is no value of the format
  void check(const char* name, const EngineOperand<float>& operand, bool along_rows, int threads);

  const EngineOperand<float>& operand() const noexcept { return operand_; }
  /// Values of k whose element of row (or column) `line` is infinite or NaN, ascending.
  std::span<const std::uint32_t> specials(std::size_t line) const noexcept;
  /// Has `k` looked at for this line although its element is finite.
  void add_special(std::size_t line, std::size_t k);
  bool has_specials() const noexcept { return !specials_.empty(); }

  /// Rows [row, row + panel_rows) and k in [begin, end), padded with zeros to full steps.
  void pack_rows(const PanelLayout& layout, std::size_t row, std::size_t begin, std::size_t end, RowPanel& panel) const;
  /// Columns [column, column + panel_columns) likewise.
  void pack_columns(const PanelLayout& layout, std::size_t column, std::size_t begin, std::size_t end,
                    ColumnPanel& panel) const;

 private:
  const float* stored(std::size_t i, std::size_t j) const noexcept;
  void list_specials(bool lines_are_rows);

  EngineOperand<float> operand_ = {};
  int least_exponent_ = 0;
  std::size_t lines_ = 0;
  std::vector<std::vector<std::uint32_t>> specials_;  ///< by line; empty where no line has any
};

}  // namespace ulpscope::emu::detail
