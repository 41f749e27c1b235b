// SPDX-License-Identifier: Apache-2.0
// Pairwise sums in float64 as a list of leaves: a tree of halves in the order in which its products come.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "emu/products/fused.hpp"

namespace ulpscope::emu::detail {

/// A few products that stand together, and what to do with their sum.
struct PairLeaf {
  static constexpr std::size_t most = 8;  ///< products

  std::size_t products;
  std::size_t merges = 0;  ///< additions of the topmost two sums, after this leaf's sum has been put upon the others
};

/// The leaves of the steps of `step` products that `depth` products make, the last one filled up. Below all sums lies c, to
/// which the last merge of every step adds.
std::vector<PairLeaf> pair_leaves(std::size_t depth, std::size_t step);

/// How many sums lie upon each other at most, c among them.
std::size_t pair_height(std::span<const PairLeaf> leaves);

/// Puts the sums of leaves, which have panels.depth products together, upon `height` others and merges them. Sum (i, j) at
/// height h is at (h * panel_rows + i) * panel_columns + j. Every product and every sum is rounded to nearest even.
void paired_doubles(const FusedPanels<double>& panels, std::span<const PairLeaf> leaves, std::size_t height, double* sums);

}  // namespace ulpscope::emu::detail
