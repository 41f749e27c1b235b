// SPDX-License-Identifier: Apache-2.0
// One chain of products for all outputs of a region.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "verify/explain/replay.hpp"

namespace ulpscope::verify {

/// Scales of blocks that an engine applies.
struct ChainScales {
  emu::Format format;       ///< of a scale
  std::size_t block = 0;    ///< products that share one; 0: there are none
  std::vector<float> a, b;  ///< rows by blocks of K, and blocks of K by columns
};

/// Operands in the storage of sums.
template <class Float>
struct ChainOperands {
  emu::Format a_format, b_format;  ///< of the elements
  std::vector<Float> a;            ///< rows by K
  std::vector<Float> b;            ///< K by columns
  std::size_t rows, columns, k;    ///< extents
  ChainScales scales = {};         ///< where the chain's engine applies them
};

/// The sums of the products at `ks`, in that order, that start from `start` (rows by columns; empty: zeros). A part of a block
/// that shares a scale is filled up with zeros.
/// @throws ulpscope::Error where the order leaves little of such blocks together.
template <class Float>
std::vector<Float> chain_sums(const Chain& chain, const ChainOperands<Float>& operands, std::span<const std::size_t> ks,
                              const std::vector<Float>& start);

}  // namespace ulpscope::verify
