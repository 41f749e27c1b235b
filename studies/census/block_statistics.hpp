// SPDX-License-Identifier: Apache-2.0
// What becomes of the blocks of tensors, each under a scale of its own: a table, and what a report has of it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "emu/format.hpp"
#include "reports/table.hpp"
#include "studies/census/block_sums.hpp"
#include "studies/census/census.hpp"
#include "studies/census/groups.hpp"
#include "studies/census/scaling.hpp"
#include "studies/study.hpp"
#include "tensors/tensor.hpp"

namespace ulpscope::studies {

/// The blocks of one tensor in one format, or of a group of tensors, whose blocks may have several extents (`block_rows` 0).
struct BlockStatistics {
  /// Shares of blocks at which quantiles are told: the least value v with at least this share of the blocks at most v (Hyndman
  /// and Fan 1996, definition 1); 0 is the least value itself.
  static constexpr std::array<double, 5> scale_shares{0, 0.01, 0.5, 0.99, 1};
  /// The same of decibels.
  static constexpr std::array<double, 6> sqnr_shares{0, 0.01, 0.1, 0.5, 0.9, 1};

  std::string tensor;                               ///< its label
  emu::Format format;                               ///< of the elements
  std::uint64_t block_rows = 1, block_columns = 1;  ///< extents of a block
  BlockCounts counts = {};                          ///< of all blocks
  /// Quantiles of stored scales: of what codes are multiplied by, of nvfp4 before the tensor's own scale.
  std::array<float, scale_shares.size()> scales{};
  /// Quantiles of the signal to quantization noise in decibels, of their finite elements, over blocks with a finite element
  /// other than 0; NaN where there are none.
  std::array<double, sqnr_shares.size()> sqnr_db{};
  std::string worst_in = {};  ///< of a group: the label of the tensor that `worst` lies in
  std::uint64_t worst = 0;  ///< the first block of the least decibels; block (i, j) has the number i * blocks of a row + j
  std::uint64_t blocks_per_row = 1;  ///< of a row of blocks
};

/// Rows of blocks as they are found, of one tensor after the other. Quantiles are exact up to 2^16 different values; of more,
/// neighbours count as the greatest of them (Spread).
class BlockRows {
 public:
  /// Of these groups beside the tensors.
  BlockRows(Scaling scaling, std::vector<emu::Format> formats, const std::vector<Group>& groups);

  /// The next tensor, all blocks of which are in `sums`, one each format; none of a tensor without elements.
  void add(const tensors::Tensor& tensor, const std::vector<BlockSums>& sums);
  /// Of all tensors, in their order, and of each group behind them, format by format. Call it once.
  std::vector<BlockStatistics> finish();

 private:
  /// The blocks of the tensors of a group, as far as they are known.
  struct Together {
    BlockStatistics row = {};
    BlockSums sums = {};
  };
  static void put(Together& together, const BlockStatistics& row, const BlockSums& sums);

  Scaling scaling_;
  std::vector<emu::Format> formats_;
  std::size_t tensors_ = 0;                          ///< that were added
  std::vector<std::vector<std::size_t>> groups_of_;  ///< by tensor
  std::vector<std::vector<Together>> groups_;        ///< of each its formats
  std::vector<BlockStatistics> rows_;
};

/// Tensors whose blocks are held at a time: a Spread may have 1 MiB.
inline constexpr std::size_t block_tensors_at_a_time = 32;

/// Of all tensors and groups. @throws ulpscope::Error where the rule has one scale for a whole tensor
std::vector<BlockStatistics> block_statistics_all(const std::vector<tensors::Tensor>& tensors, const std::vector<Group>& groups,
                                                  const Scaling& scaling, const CensusConfig& config, const Progress& progress);

/// blocks.csv.
reports::Table blocks_table(const std::vector<BlockStatistics>& rows, const Scaling& scaling,
                            const emu::RoundingOptions& options);
/// The table, findings, and these remarks.
StudyResult blocks_result(const std::vector<BlockStatistics>& rows, const Scaling& scaling, const emu::RoundingOptions& options,
                          std::vector<std::string> remarks);

}  // namespace ulpscope::studies
