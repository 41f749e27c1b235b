// SPDX-License-Identifier: Apache-2.0
// Ways to cut the K of a matrix product into parts that are summed apart.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "studies/devices/product_models.hpp"

namespace ulpscope::studies {

/// All of K in one part.
KCut whole_k(std::size_t k);

/// Cuts in several parts, no two alike: consecutive ones of whole units of 16 to 256 products, as equal as can be, with the
/// longer ones first or last, or the last one taking what is over, or too short by it; and parts that take turns (warps of a
/// block that share a tile).
std::vector<KCut> k_cuts(std::size_t k, std::span<const int> split_k);

}  // namespace ulpscope::studies
