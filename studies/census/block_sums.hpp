// SPDX-License-Identifier: Apache-2.0
// What becomes of blocks that follow one another in a tensor, each under a scale of its own: parts of one tensor, measured
// anywhere, make the whole.
#pragma once

#include <cstdint>
#include <vector>

#include "studies/census/census.hpp"
#include "studies/census/scaling.hpp"
#include "studies/census/spread.hpp"
#include "tensors/tensor.hpp"

namespace ulpscope::studies {

/// What becomes of blocks. Elements of a block that lie beyond the tensor's edge are none of it.
struct BlockCounts {
  std::uint64_t blocks = 0;        ///< all of them
  std::uint64_t zero = 0;          ///< blocks without a nonzero element
  std::uint64_t nonfinite = 0;     ///< blocks with an infinity or a NaN
  std::uint64_t saturated = 0;     ///< blocks with an element that overflows under their scale
  std::uint64_t with_to_zero = 0;  ///< blocks in which a nonzero element becomes zero
  std::uint64_t all_to_zero = 0;   ///< blocks of which nothing is left but zeros, and that had more

  /// Adds those of other blocks.
  void merge(const BlockCounts& other) noexcept;
};

/// Blocks that follow one another, in one format.
struct BlockSums {
  std::uint64_t first = 0;  ///< the number of the first: block (i, j) has the number i * blocks of a row + j
  BlockCounts counts = {};  ///< of all of them
  /// Stored scales, but of blocks that have none: of what codes are multiplied by, of nvfp4 before the tensor's own scale.
  Spread scales = {};
  /// The signal to quantization noise in decibels, of their finite elements, over blocks with a finite element other than 0.
  Spread decibels = {};
  std::uint64_t worst = 0;  ///< the number of the first block of the least decibels; 0 where there are none

  /// Adds the blocks that follow.
  void merge(const BlockSums& next);
};

/// Whether the worst of some blocks is worse than all of those before, or there are none of these.
bool has_worse(const Spread& decibels, const Spread& before);

/// The blocks whose first element lies in a part of a tensor.
struct ScaledBlocks {
  std::vector<BlockSums> sums;        ///< one each format
  std::vector<double> tensor_scales;  ///< one each format: the scale of the whole tensor, where the rule has one; else 1
  double amax = 0;                    ///< the largest magnitude of their elements; a NaN is passed over
};

/// Finds the scales and rounds under them, piece by piece where there are more than `config.most_blocks`. The result depends on
/// neither threads nor machine. Precondition: check_has_blocks()
ScaledBlocks run_blocks(const tensors::Tensor& tensor, const Scaling& scaling, const CensusConfig& config,
                        const ElementRange& part);

/// @throws ulpscope::Error where the rule has one scale for a whole tensor
void check_has_blocks(const Scaling& scaling);

}  // namespace ulpscope::studies
