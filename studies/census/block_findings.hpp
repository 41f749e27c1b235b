// SPDX-License-Identifier: Apache-2.0
// What statistics of blocks, and magnitudes of checkpoints, are told as: findings and figures.
#pragma once

#include <vector>

#include "reports/page.hpp"
#include "reports/table.hpp"
#include "studies/census/amax_history.hpp"
#include "studies/census/block_statistics.hpp"

namespace ulpscope::studies {

/// A sentence for each row: what its blocks lose, the worst of them and the middle one. Nothing is decided of it.
std::vector<reports::Finding> block_findings(const std::vector<BlockStatistics>& rows);
/// Of blocks.csv, or a table with more columns in front: decibels of blocks, a panel for each format, the first 40 tensors.
std::vector<reports::Figure> block_figures(const reports::Table& table);

/// A sentence for each tensor and group that has grown beyond its history: by how much at most, and where.
std::vector<reports::Finding> history_findings(const std::vector<AmaxHistoryRow>& rows);
/// Of history.csv, or a table with more columns in front: magnitudes by checkpoint, the ten tensors that grew most.
std::vector<reports::Figure> history_figures(const reports::Table& table);

}  // namespace ulpscope::studies
