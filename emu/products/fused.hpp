// SPDX-License-Identifier: Apache-2.0
// Chains of one fused multiply-add a product, over panels: the sums of a block of outputs stay in registers along K.
#pragma once

#include <cstddef>

#include "emu/products/panels.hpp"
#include "emu/products/stages.hpp"

namespace ulpscope::emu::detail {

/// Rows of A and columns of B over a stretch of K: element (i, k) at a[k * panel_rows + i], element (k, j) at
/// b[k * panel_columns + j]. The sum of output (i, j) stands at i * panel_columns + j.
template <class T>
struct FusedPanels {
  const T* a;
  const T* b;
  std::size_t rows;                     ///< of A that count; sums of others are not touched
  std::size_t depth;                    ///< products
  std::size_t columns = panel_columns;  ///< of B that count; anything may become of the sums of others
};

/// sum = fma(a, b, sum) for every k, ascending, to nearest even.
void fused_doubles(const FusedPanels<double>& panels, double* sums);

/// The same rounded down, and with the negated sum: low <= sum <= -negated_high, where the exact sum was between them before.
void bracketed_doubles(const FusedPanels<double>& panels, double* low, double* negated_high);

/// The sum to nearest even, and beside it the sum of what its roundings and those of the products took: but for the roundings
/// of `rest`, sums + rest is exact. Precondition: sums begin with more than all products come to.
void compensated_doubles(const FusedPanels<double>& panels, double* sums, double* rest);

/// Steps of one product, fused and rounded to nearest even in float32 or float16.
StagesRun fused_steps;

}  // namespace ulpscope::emu::detail
