// SPDX-License-Identifier: Apache-2.0
// Sums of products in float64, to enclose exact ones: sum a(i,k) b(k,j) and sum |a(i,k)| |b(k,j)|, k ascending.
//
// Products of two float32 are exact in float64, so that only additions round, each once: every SIMD path and processor gives
// the same doubles. The sum of n products is wrong by at most gamma_(n-1) sum |a||b|, u = 2^-53 (Higham, Accuracy and Stability
// of Numerical Algorithms, 2nd ed., 4.2); the sum of magnitudes by as much.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "emu/engine_matmul.hpp"

namespace ulpscope::verify {

/// A K by N matrix laid out for the kernel.
class ColumnPanels {
 public:
  static constexpr std::size_t width = 16;  ///< columns of a panel

  /// @pre b is not transposed.
  explicit ColumnPanels(const emu::EngineOperand<float>& b);

  /// Rows of B: the length of the sums.
  std::size_t depth() const noexcept { return depth_; }
  /// Columns of B.
  std::size_t columns() const noexcept { return columns_; }
  /// Panels.
  std::size_t count() const noexcept { return (columns_ + width - 1) / width; }
  /// Columns, those of the last panel filled up.
  std::size_t padded_columns() const noexcept { return count() * width; }
  /// Element (k, p * width + c) stands at k * width + c.
  const float* panel(std::size_t p) const noexcept { return values_.data() + p * depth_ * width; }

 private:
  std::size_t depth_, columns_;
  std::vector<float> values_;
};

/// Adds products [k_first, k_last) of rows of A (row-major, `stride` apart) to `sums`, and their magnitudes to `magnitudes`;
/// both have rows of b.padded_columns().
void add_float64_sums(std::span<const float> a, std::size_t rows, std::size_t stride, const ColumnPanels& b,
                      std::size_t k_first, std::size_t k_last, std::span<double> sums, std::span<double> magnitudes);

}  // namespace ulpscope::verify
