// SPDX-License-Identifier: Apache-2.0
// What becomes of the blocks of a tensor, each under a scale of its own.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "emu/format.hpp"
#include "reports/table.hpp"
#include "studies/census/census.hpp"
#include "studies/census/groups.hpp"
#include "studies/census/scaling.hpp"
#include "studies/study.hpp"
#include "tensors/tensor.hpp"

namespace ulpscope::studies {

/// The blocks of one tensor in one format, or of a group of tensors, whose blocks may have several extents (`block_rows` 0).
/// Elements of a block that lie beyond the tensor's edge are none of it.
struct BlockStatistics {
  /// Shares of blocks at which quantiles are told: the least value v with at least this share of the blocks at most v (Hyndman
  /// and Fan 1996, definition 1); 0 is the least value itself.
  static constexpr std::array<double, 5> scale_shares{0, 0.01, 0.5, 0.99, 1};
  /// The same of decibels.
  static constexpr std::array<double, 6> sqnr_shares{0, 0.01, 0.1, 0.5, 0.9, 1};

  std::string tensor;                               ///< its label
  emu::Format format;                               ///< of the elements
  std::uint64_t block_rows = 1, block_columns = 1;  ///< extents of a block
  std::uint64_t blocks = 0;                         ///< all of them
  std::uint64_t zero = 0;                           ///< blocks without a nonzero element
  std::uint64_t nonfinite = 0;                      ///< blocks with an infinity or a NaN
  std::uint64_t saturated = 0;                      ///< blocks with an element that overflows under their scale
  std::uint64_t with_to_zero = 0;                   ///< blocks in which a nonzero element becomes zero
  std::uint64_t all_to_zero = 0;                    ///< blocks of which nothing is left but zeros, and that had more
  /// Quantiles of stored scales: of what codes are multiplied by, of nvfp4 before the tensor's own scale.
  std::array<float, scale_shares.size()> scales{};
  /// Quantiles of the signal to quantization noise in decibels, of their finite elements, over blocks with a finite element
  /// other than 0; NaN where there are none.
  std::array<double, sqnr_shares.size()> sqnr_db{};
  std::string worst_in = {};  ///< of a group: the label of the tensor that `worst` lies in
  std::uint64_t worst = 0;  ///< the first block of the least decibels; block (i, j) has the number i * blocks of a row + j
  std::uint64_t blocks_per_row = 1;  ///< of a row of blocks
};

/// Of all tensors, in their order, and of each group behind them, format by format. Quantiles of a group are exact up to 2^16
/// different values; of more, neighbours count as the greatest of them (Spread). @throws
/// ulpscope::Error where the rule has one scale for a whole tensor
std::vector<BlockStatistics> block_statistics_all(const std::vector<tensors::Tensor>& tensors, const std::vector<Group>& groups,
                                                  const Scaling& scaling, const CensusConfig& config, const Progress& progress);

/// blocks.csv.
reports::Table blocks_table(const std::vector<BlockStatistics>& rows, const Scaling& scaling,
                            const emu::RoundingOptions& options);

}  // namespace ulpscope::studies
