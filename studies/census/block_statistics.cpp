// SPDX-License-Identifier: Apache-2.0
// Goes through a tensor by rows of blocks: what a block needs is summed up while its rows pass.
#include "studies/census/block_statistics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include "emu/decode.hpp"
#include "emu/encode.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"
#include "emu/stop.hpp"
#include "studies/census/all_tensors.hpp"
#include "studies/census/error_sums.hpp"
#include "studies/census/round_and_count.hpp"
#include "studies/census/spread.hpp"

namespace ulpscope::studies {
namespace {

/// One block while its rows pass.
struct Block {
  SquareSum input, error;
  bool has_nonzero = false, has_nonfinite = false, saturates = false, has_to_zero = false, has_left = false;
};

/// Numbers of all blocks, of which quantiles are taken.
struct Collected {
  std::vector<float> scales;
  std::vector<double> decibels;
};

/// The blocks of several tensors, as far as is known.
struct BlocksTogether {
  BlockStatistics row = {};
  Spread scales = {}, decibels = {};

  /// Puts in those of one more tensor, or of one format of it.
  void add(const BlocksTogether& other) {
    const BlockStatistics& more = other.row;
    if (row.blocks == 0) {
      row.block_rows = more.block_rows, row.block_columns = more.block_columns;
    } else if (more.blocks != 0 && (row.block_rows != more.block_rows || row.block_columns != more.block_columns)) {
      row.block_rows = row.block_columns = 0;
    }
    const double before = decibels.quantile(0), after = other.decibels.quantile(0);
    if (!std::isnan(after) && !(before <= after))
      row.worst_in = more.tensor, row.worst = more.worst, row.blocks_per_row = more.blocks_per_row;
    row.blocks += more.blocks;
    row.zero += more.zero;
    row.nonfinite += more.nonfinite;
    row.saturated += more.saturated;
    row.with_to_zero += more.with_to_zero;
    row.all_to_zero += more.all_to_zero;
    scales.add(other.scales);
    decibels.add(other.decibels);
  }

  BlockStatistics finish() {
    std::ranges::transform(BlockStatistics::scale_shares, row.scales.begin(),
                           [&](double share) { return static_cast<float>(scales.quantile(share)); });
    std::ranges::transform(BlockStatistics::sqnr_shares, row.sqnr_db.begin(),
                           [&](double share) { return decibels.quantile(share); });
    return row;
  }
};

class Walk {
 public:
  Walk(const tensors::Tensor& tensor, emu::Format format, const Scaling& scaling, const CensusConfig& config)
      : tensor_(tensor),
        config_(config),
        is_nvfp4_(is_nvfp4(scaling.rule)),
        map_(scaling, format, tensor),
        max_finite_(emu::max_finite(format)) {
    out_.tensor = tensor.label;
    out_.format = format;
    out_.block_rows = map_.block_rows();
    out_.block_columns = map_.block_columns();
    out_.blocks_per_row = map_.blocks_per_row();
  }

  BlockStatistics run() {
    if (tensor_.count() != 0) tensor_.dtype.fits_float() ? go<float>() : go<double>();
    std::ranges::sort(collected_.scales);
    std::ranges::sort(collected_.decibels);
    std::ranges::transform(BlockStatistics::scale_shares, out_.scales.begin(),
                           [&](double share) { return quantile(collected_.scales, share); });
    std::ranges::transform(BlockStatistics::sqnr_shares, out_.sqnr_db.begin(),
                           [&](double share) { return quantile(collected_.decibels, share); });
    return out_;
  }

  /// What groups need of it. Precondition: run().
  BlocksTogether together() const {
    BlocksTogether together{.row = out_};
    together.scales.add(std::span(collected_.scales));
    together.decibels.add(std::span(collected_.decibels));
    return together;
  }

 private:
  template <class Number>
  static Number quantile(const std::vector<Number>& sorted, double share) {
    if (sorted.empty()) return std::numeric_limits<Number>::quiet_NaN();
    const double place = std::ceil(share * static_cast<double>(sorted.size()));
    return sorted[static_cast<std::size_t>(std::max(place, 1.0)) - 1];
  }

  /// By rows of blocks, or by the whole blocks that fit in a piece where there is one row in each.
  template <class Float>
  void go() {
    constexpr std::uint64_t piece = 1 << 16;
    const std::uint64_t columns = map_.columns(), rows = tensor_.count() / columns;
    std::vector<Float> values;
    std::vector<double> rounded;
    for (std::uint64_t row = 0; row < rows; row += map_.rows_from(row)) {
      const std::uint64_t begin = row * columns, end = begin + map_.rows_from(row) * columns;
      blocks_.assign(map_.blocks_per_row(), {});
      for (std::uint64_t first = begin; first < end; first += piece) {
        emu::stop_if_asked();
        values.resize(static_cast<std::size_t>(std::min(piece, end - first)));
        rounded.resize(values.size());
        tensor_.source->read(first, std::span<Float>(values));
        round_and_unscale(std::span<const Float>(values), first, out_.format, map_, tensor_.dtype, config_.options,
                          config_.seed, std::span<double>(rounded));
        for (std::size_t i = 0; i < values.size(); ++i) add(static_cast<double>(values[i]), rounded[i], first + i);
      }
      finish(map_.row_of_blocks(row) * map_.blocks_per_row());
      if (config_.progress) config_.progress(end);
    }
  }

  void add(double x, double y, std::uint64_t index) {
    Block& block = blocks_[static_cast<std::size_t>(index % map_.columns() / map_.block_columns())];
    if (!std::isfinite(x)) {
      block.has_nonfinite = true;
      return;
    }
    block.has_nonzero |= x != 0;
    block.has_to_zero |= x != 0 && y == 0;
    block.has_left |= y != 0;
    block.saturates |= !map_.has_zero_points() && overflows(x, map_.at(index));
    block.input.add(x);
    // What overflows to NaN is an infinite error, as the census has it.
    block.error.add(std::isnan(y) ? std::numeric_limits<double>::infinity() : y - x);
  }

  /// As the census has it: of the product that is rounded, which is formed in float32 where the tensor's numbers are.
  bool overflows(double x, const ElementScale& scale) const {
    const double product = map_.multiplies_in_float() ? static_cast<double>(scale.onto(static_cast<float>(x))) : scale.onto(x);
    return std::fabs(product) > max_finite_ && emu::round_to(out_.format, product).outcome == emu::Outcome::overflow;
  }

  void finish(std::uint64_t first) {
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      const Block& block = blocks_[i];
      const ElementScale scale = map_.block(static_cast<std::size_t>(first) + i);
      const double stored = is_nvfp4_ ? scale.numerator : scale.numerator / scale.denominator;
      if (!std::isnan(stored)) collected_.scales.push_back(static_cast<float>(stored));
      ++out_.blocks;
      out_.zero += !block.has_nonzero && !block.has_nonfinite;
      out_.nonfinite += block.has_nonfinite;
      out_.saturated += block.saturates;
      out_.with_to_zero += block.has_to_zero;
      out_.all_to_zero += block.has_nonzero && !block.has_left;
      if (!block.has_nonzero) continue;
      const double sqnr = decibels(block.input, block.error);
      if (collected_.decibels.empty() || sqnr < least_) least_ = sqnr, out_.worst = first + i;
      collected_.decibels.push_back(sqnr);
    }
  }

  const tensors::Tensor& tensor_;
  const CensusConfig& config_;
  bool is_nvfp4_;
  ScaleMap map_;
  double max_finite_, least_ = 0;
  std::vector<Block> blocks_;
  Collected collected_;
  BlockStatistics out_{};
};

/// `sqnr_p10_db`, `scale_min`
std::string column_of(const std::string& what, double share, const std::string& unit) {
  const std::string at = share == 0 ? "min" : share == 1 ? "max" : "p" + std::to_string(std::lround(100 * share));
  return what + "_" + at + unit;
}

/// Of each format; `spread` where groups need them.
std::vector<BlocksTogether> blocks_of(const tensors::Tensor& tensor, const Scaling& scaling, const CensusConfig& config,
                                      bool spread) {
  if (scaling.rule < ScaleRule::row)
    throw Error("--blocks: --scale " + scaling.word +
                " has one scale for a tensor; give row, 1x128, 128x128, mx:floor|ceil|rceil|even or nvfp4");
  std::vector<BlocksTogether> all;
  for (const emu::Format format : config.formats) {
    Walk walk(tensor, format, scaling, config);
    BlocksTogether of_format{.row = walk.run()};
    if (spread) of_format = walk.together();
    all.push_back(std::move(of_format));
  }
  return all;
}

}  // namespace

std::vector<BlockStatistics> block_statistics_all(const std::vector<tensors::Tensor>& tensors, const std::vector<Group>& groups,
                                                  const Scaling& scaling, const CensusConfig& config,
                                                  const Progress& progress) {
  std::vector<BlockStatistics> rows;
  std::vector<std::vector<std::size_t>> groups_of(tensors.size());
  std::vector<std::vector<BlocksTogether>> of_groups;
  for (const Group& group : groups) {
    for (const std::size_t member : group.members) groups_of[member].push_back(of_groups.size());
    std::vector<BlocksTogether>& formats = of_groups.emplace_back(config.formats.size());
    for (std::size_t i = 0; i < formats.size(); ++i)
      formats[i].row.tensor = group.label, formats[i].row.format = config.formats[i];
  }
  for_each_tensor(
      tensors, config, progress,
      [&](const tensors::Tensor& tensor, const CensusConfig& of_tensor) {
        return blocks_of(tensor, scaling, of_tensor, !groups.empty());
      },
      [&](std::size_t tensor, const std::vector<BlocksTogether>& formats) {
        for (std::size_t i = 0; i < formats.size(); ++i) {
          rows.push_back(formats[i].row);
          for (const std::size_t group : groups_of[tensor]) of_groups[group][i].add(formats[i]);
        }
        return true;
      });
  for (std::vector<BlocksTogether>& group : of_groups)
    for (BlocksTogether& of_format : group) rows.push_back(of_format.finish());
  return rows;
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
    for (const std::uint64_t count : {row.blocks, row.zero, row.nonfinite, row.saturated, row.with_to_zero, row.all_to_zero})
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

}  // namespace ulpscope::studies
