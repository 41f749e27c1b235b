// SPDX-License-Identifier: Apache-2.0
// Quantiles of what was counted, and groups of tensors.
#include "studies/census/block_statistics.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "emu/names.hpp"
#include "studies/census/all_tensors.hpp"
#include "studies/census/block_findings.hpp"

namespace ulpscope::studies {
namespace {

/// `sqnr_p10_db`, `scale_min`
std::string column_of(const std::string& what, double share, const std::string& unit) {
  const std::string at = share == 0 ? "min" : share == 1 ? "max" : "p" + std::to_string(std::lround(100 * share));
  return what + "_" + at + unit;
}

/// What is told of all blocks in `sums`.
void tell(BlockStatistics& row, const BlockSums& sums) {
  row.counts = sums.counts;
  std::ranges::transform(BlockStatistics::scale_shares, row.scales.begin(),
                         [&](double share) { return static_cast<float>(sums.scales.quantile(share)); });
  std::ranges::transform(BlockStatistics::sqnr_shares, row.sqnr_db.begin(),
                         [&](double share) { return sums.decibels.quantile(share); });
}

}  // namespace

BlockRows::BlockRows(Scaling scaling, std::vector<emu::Format> formats, const std::vector<Group>& groups)
    : scaling_(std::move(scaling)), formats_(std::move(formats)) {
  for (const Group& group : groups) {
    for (const std::size_t member : group.members) {
      if (groups_of_.size() <= member) groups_of_.resize(member + 1);
      groups_of_[member].push_back(groups_.size());
    }
    std::vector<Together>& of_formats = groups_.emplace_back(formats_.size());
    for (std::size_t i = 0; i < formats_.size(); ++i)
      of_formats[i].row.tensor = group.label, of_formats[i].row.format = formats_[i];
  }
}

void BlockRows::add(const tensors::Tensor& tensor, const std::vector<BlockSums>& sums) {
  const ScaleMap layout = ScaleMap::laid_out(scaling_, tensor);
  for (std::size_t i = 0; i < formats_.size(); ++i) {
    BlockStatistics row{.tensor = tensor.label,
                        .format = formats_[i],
                        .block_rows = layout.block_rows(),
                        .block_columns = layout.block_columns(),
                        .blocks_per_row = layout.blocks_per_row()};
    const BlockSums of_format = i < sums.size() ? sums[i] : BlockSums{};
    tell(row, of_format);
    row.worst = of_format.worst;
    if (tensors_ < groups_of_.size())
      for (const std::size_t group : groups_of_[tensors_]) put(groups_[group][i], row, of_format);
    rows_.push_back(std::move(row));
  }
  ++tensors_;
}

void BlockRows::put(Together& together, const BlockStatistics& row, const BlockSums& sums) {
  BlockStatistics& all = together.row;
  if (together.sums.counts.blocks == 0) {
    all.block_rows = row.block_rows, all.block_columns = row.block_columns;
  } else if (row.counts.blocks != 0 && (all.block_rows != row.block_rows || all.block_columns != row.block_columns)) {
    all.block_rows = all.block_columns = 0;
  }
  if (has_worse(sums.decibels, together.sums.decibels))
    all.worst_in = row.tensor, all.worst = row.worst, all.blocks_per_row = row.blocks_per_row;
  together.sums.merge(sums);
}

std::vector<BlockStatistics> BlockRows::finish() {
  for (std::vector<Together>& group : groups_)
    for (Together& of_format : group) {
      tell(of_format.row, of_format.sums);
      rows_.push_back(std::move(of_format.row));
    }
  return std::move(rows_);
}

std::vector<BlockStatistics> block_statistics_all(const std::vector<tensors::Tensor>& tensors, const std::vector<Group>& groups,
                                                  const Scaling& scaling, const CensusConfig& config,
                                                  const Progress& progress) {
  check_has_blocks(scaling);
  BlockRows rows(scaling, config.formats, groups);
  for_each_tensor(
      tensors, config, progress,
      [&](const tensors::Tensor& tensor, const CensusConfig& told) {
        return run_blocks(tensor, scaling, told, {0, tensor.count()}).sums;
      },
      [&](std::size_t tensor, const std::vector<BlockSums>& sums) {
        rows.add(tensors[tensor], sums);
        return true;
      },
      block_tensors_at_a_time);
  return rows.finish();
}

reports::Table blocks_table(const std::vector<BlockStatistics>& rows, const Scaling& scaling,
                            const emu::RoundingOptions& options) {
  reports::Table table{"blocks",
                       {"tensor", "format", "rounding", "policy", "scale", "block", "blocks", "zero", "nonfinite", "saturated",
                        "with_to_zero", "all_to_zero"},
                       {}};
  for (const double share : BlockStatistics::scale_shares) table.columns.push_back(column_of("scale", share, ""));
  for (const double share : BlockStatistics::sqnr_shares) table.columns.push_back(column_of("sqnr", share, "_db"));
  table.columns.emplace_back("worst_block");
  for (const BlockStatistics& row : rows) {
    std::vector<reports::Cell> cells{
        row.tensor,
        emu::format_name(row.format),
        std::string(emu::name_of(options.rounding)),
        std::string(emu::name_of(options.policy)),
        scaling.word,
        row.block_rows == 0 ? "mixed" : std::to_string(row.block_rows) + "x" + std::to_string(row.block_columns)};
    const BlockCounts& of = row.counts;
    for (const std::uint64_t count : {of.blocks, of.zero, of.nonfinite, of.saturated, of.with_to_zero, of.all_to_zero})
      cells.push_back(reports::whole(count));
    for (const float scale : row.scales) cells.emplace_back(static_cast<double>(scale));
    for (const double sqnr : row.sqnr_db) cells.emplace_back(sqnr);
    const bool is_none = std::isnan(row.sqnr_db.front());  // no block has a finite element other than 0
    const std::string worst =
        std::to_string(row.worst / row.blocks_per_row) + ";" + std::to_string(row.worst % row.blocks_per_row);
    cells.emplace_back(is_none ? "" : row.worst_in.empty() ? worst : row.worst_in + " " + worst);
    table.rows.push_back(std::move(cells));
  }
  return table;
}

StudyResult blocks_result(const std::vector<BlockStatistics>& rows, const Scaling& scaling, const emu::RoundingOptions& options,
                          std::vector<std::string> remarks) {
  return {.tables = {blocks_table(rows, scaling, options)}, .findings = block_findings(rows), .remarks = std::move(remarks)};
}

}  // namespace ulpscope::studies
