// SPDX-License-Identifier: Apache-2.0
// Goes through blocks by their rows: what a block needs is summed up while its rows pass.
#include "studies/census/block_sums.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <utility>

#include "emu/encode.hpp"
#include "emu/error.hpp"
#include "emu/magnitude.hpp"
#include "emu/stop.hpp"
#include "studies/census/error_sums.hpp"
#include "studies/census/in_order_kernels.hpp"
#include "studies/census/round_and_count.hpp"
#include "tensors/chunk.hpp"
#include "tensors/parallel.hpp"

namespace ulpscope::studies {
namespace {

/// One block while its rows pass.
struct Block {
  SquareSum input, error;
  bool has_nonzero = false, has_nonfinite = false, saturates = false, has_to_zero = false, has_left = false;
};

double greatest_in(std::span<const float> values) { return static_cast<double>(amax_of(values)); }
double greatest_in(std::span<const double> values) { return emu::greatest_magnitude(values); }

/// What becomes of the blocks of one format.
class BlockWalk {
 public:
  BlockWalk(const tensors::Tensor& tensor, emu::Format format, const Scaling& scaling, const ScaleMap& map,
            const CensusConfig& config, std::uint64_t first)
      : tensor_(tensor),
        config_(config),
        format_(format),
        is_nvfp4_(is_nvfp4(scaling.rule)),
        map_(map),
        max_finite_(emu::max_finite(format)) {
    sums_.first = first;
  }

  /// Goes on to so many blocks, of which `first` is the first.
  void begin(std::uint64_t first, std::uint64_t count) {
    first_ = first;
    blocks_.assign(static_cast<std::size_t>(count), {});
  }

  /// Elements of these from number `first` on.
  template <class Float>
  void add(std::uint64_t first, std::span<const Float> values) {
    rounded_.resize(values.size());
    round_and_unscale(values, first, format_, map_, tensor_.dtype, config_.options, config_.seed, std::span<double>(rounded_));
    const std::uint64_t before = first_ % map_.blocks_per_row();
    map_.for_each_run(first, values.size(), [&](std::uint64_t at, std::uint64_t count, const ElementScale& scale) {
      Block& block = blocks_[static_cast<std::size_t>(at % map_.columns() / map_.block_columns() - before)];
      const auto begin = static_cast<std::size_t>(at - first);
      for (std::size_t i = begin; i < begin + count; ++i) add(block, static_cast<double>(values[i]), rounded_[i], scale);
    });
  }

  /// All elements of these were added.
  void end() {
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      const Block& block = blocks_[i];
      const ElementScale scale = map_.block(static_cast<std::size_t>(first_) + i);
      const double stored = is_nvfp4_ ? scale.numerator : scale.numerator / scale.denominator;
      if (!std::isnan(stored)) scales_.push_back(static_cast<double>(static_cast<float>(stored)));
      ++sums_.counts.blocks;
      sums_.counts.zero += !block.has_nonzero && !block.has_nonfinite;
      sums_.counts.nonfinite += block.has_nonfinite;
      sums_.counts.saturated += block.saturates;
      sums_.counts.with_to_zero += block.has_to_zero;
      sums_.counts.all_to_zero += block.has_nonzero && !block.has_left;
      if (!block.has_nonzero) continue;
      const double sqnr = decibels(block.input, block.error);
      if (decibels_.empty() || sqnr < least_) least_ = sqnr, sums_.worst = first_ + i;
      decibels_.push_back(sqnr);
    }
  }

  /// Of all that were walked through.
  BlockSums finish() {
    std::ranges::sort(scales_);
    std::ranges::sort(decibels_);
    sums_.scales.add(std::span<const double>(scales_));
    sums_.decibels.add(std::span<const double>(decibels_));
    return std::move(sums_);
  }

 private:
  void add(Block& block, double x, double y, const ElementScale& scale) const {
    if (!std::isfinite(x)) {
      block.has_nonfinite = true;
      return;
    }
    block.has_nonzero |= x != 0;
    block.has_to_zero |= x != 0 && y == 0;
    block.has_left |= y != 0;
    block.saturates |= !map_.has_zero_points() && overflows(x, scale);
    block.input.add(x);
    // What overflows to NaN is an infinite error, as the census has it.
    block.error.add(std::isnan(y) ? std::numeric_limits<double>::infinity() : y - x);
  }

  /// As the census has it: of the product that is rounded, which is formed in float32 where the tensor's numbers are.
  bool overflows(double x, const ElementScale& scale) const {
    const double product = map_.multiplies_in_float() ? static_cast<double>(scale.onto(static_cast<float>(x))) : scale.onto(x);
    return std::fabs(product) > max_finite_ && emu::round_to(format_, product).outcome == emu::Outcome::overflow;
  }

  const tensors::Tensor& tensor_;
  const CensusConfig& config_;
  emu::Format format_;
  bool is_nvfp4_;
  const ScaleMap& map_;
  double max_finite_, least_ = 0;
  std::uint64_t first_ = 0;
  std::vector<Block> blocks_;
  std::vector<double> rounded_, scales_, decibels_;
  BlockSums sums_{};
};

/// Calls act(first, size) for elements that lie next to each other and in these blocks of one row of blocks.
template <class Act>
void for_each_stretch(const ScaleMap& map, const BlockRange& blocks, Act act) {
  constexpr std::uint64_t most = 1 << 16;
  const auto pieces = [&](std::uint64_t first, std::uint64_t end) {
    for (; first < end; first += most) act(first, static_cast<std::size_t>(std::min(most, end - first)));
  };
  const std::uint64_t columns = map.columns(), row_of_blocks = blocks.first / map.blocks_per_row();
  const std::uint64_t row = map.first_row(row_of_blocks), rows = map.rows_from(row);
  const std::uint64_t before = row_of_blocks * map.blocks_per_row();
  const std::uint64_t first = (blocks.first - before) * map.block_columns(),
                      end = std::min((blocks.end - before) * map.block_columns(), columns);
  if (first == 0 && end == columns) return pieces(row * columns, (row + rows) * columns);
  for (std::uint64_t i = row; i < row + rows; ++i) pieces(i * columns + first, i * columns + end);
}

/// Of a range of blocks, which is read once for all formats.
template <class Float>
ScaledBlocks walked(const tensors::Tensor& tensor, const Scaling& scaling, const std::vector<ScaleMap>& maps,
                    const CensusConfig& config, const BlockRange& range) {
  ScaledBlocks piece;
  std::vector<BlockWalk> walks;
  for (std::size_t i = 0; i < maps.size(); ++i)
    walks.emplace_back(tensor, config.formats[i], scaling, maps[i], config, range.first);
  const std::uint64_t per_row = maps.front().blocks_per_row();
  for (std::uint64_t first = range.first; first < range.end;) {
    const BlockRange here{first, std::min(range.end, (first / per_row + 1) * per_row)};
    for (BlockWalk& walk : walks) walk.begin(here.first, here.end - here.first);
    for_each_stretch(maps.front(), here, [&](std::uint64_t at, std::size_t size) {
      emu::stop_if_asked();
      const tensors::Chunk<Float> read(tensor, at, size);
      piece.amax = std::max(piece.amax, greatest_in(read.values()));
      for (BlockWalk& walk : walks) walk.add(at, read.values());
    });
    for (BlockWalk& walk : walks) walk.end();
    first = here.end;
  }
  for (BlockWalk& walk : walks) piece.sums.push_back(walk.finish());
  return piece;
}

/// Calls act(range) for ranges of `size` blocks, but that they end at multiples of it.
template <class Act>
void for_each_range(const BlockRange& all, std::uint64_t size, Act act) {
  for (std::uint64_t first = all.first; first < all.end;) {
    const std::uint64_t end = std::min(all.end, (first / size + 1) * size);
    act(BlockRange{first, end});
    first = end;
  }
}

}  // namespace

void BlockCounts::merge(const BlockCounts& other) noexcept {
  blocks += other.blocks;
  zero += other.zero;
  nonfinite += other.nonfinite;
  saturated += other.saturated;
  with_to_zero += other.with_to_zero;
  all_to_zero += other.all_to_zero;
}

void BlockSums::merge(const BlockSums& next) {
  if (has_worse(next.decibels, decibels)) worst = next.worst;
  counts.merge(next.counts);
  scales.add(next.scales);
  decibels.add(next.decibels);
}

bool has_worse(const Spread& decibels, const Spread& before) {
  const double least = decibels.quantile(0);
  return !std::isnan(least) && !(before.quantile(0) <= least);
}

void check_has_blocks(const Scaling& scaling) {
  if (scaling.rule < ScaleRule::row)
    throw Error("--blocks: --scale " + scaling.word +
                " has one scale for a tensor; give row, 1x128, 128x128, mx:floor|ceil|rceil|even or nvfp4");
}

ScaledBlocks run_blocks(const tensors::Tensor& tensor, const Scaling& scaling, const CensusConfig& config,
                        const ElementRange& part) {
  constexpr std::uint64_t piece_elements = 1 << 18, piece_blocks = 1 << 13;
  constexpr std::size_t pieces_in_flight = 32;  // bounds memory; changes nothing else
  const ScaleMap layout = ScaleMap::laid_out(scaling, tensor);
  const std::uint64_t count = tensor.count(), per_row = layout.blocks_per_row();
  const BlockRange own{layout.blocks_before(part.first), layout.blocks_before(part.first + part.count)};
  const std::uint64_t of_block = layout.rows_from(0) * std::min(layout.block_columns(), layout.columns());
  const std::uint64_t piece = layout.whole_rows(std::min(piece_blocks, piece_elements / of_block));
  const std::uint64_t at_once = layout.whole_rows(std::max(config.most_blocks, layout.block_rows() > 1 ? per_row : 1));

  Scaling known = scaling;
  const bool is_all = own.first == 0 && own.end == layout.blocks() && own.end <= at_once;
  if (has_tensor_scale(scaling.rule) && !known.shared_amax && !is_all) known.shared_amax = amax_of(tensor, {}, config.threads);
  ScaledBlocks all{.sums = std::vector<BlockSums>(config.formats.size()), .tensor_scales = {}};
  for (BlockSums& sums : all.sums) sums.first = own.first;
  for_each_range(own, at_once, [&](const BlockRange& here) {
    std::vector<ScaleMap> maps;
    for (const emu::Format format : config.formats)
      maps.emplace_back(known, format, tensor, config.threads,
                        is_all ? std::nullopt : std::optional(layout.elements_of(here, count)));
    std::vector<BlockRange> pieces;
    for_each_range(here, piece, [&](const BlockRange& range) { pieces.push_back(range); });
    for (std::size_t begin = 0; begin < pieces.size(); begin += pieces_in_flight) {
      std::vector<ScaledBlocks> found(std::min(pieces_in_flight, pieces.size() - begin));
      tensors::for_each_index(found.size(), config.threads, [&](std::size_t i) {
        const BlockRange& range = pieces[begin + i];
        found[i] = tensor.dtype.fits_float() ? walked<float>(tensor, scaling, maps, config, range)
                                             : walked<double>(tensor, scaling, maps, config, range);
      });
      for (const ScaledBlocks& of_piece : found) {
        for (std::size_t f = 0; f < all.sums.size(); ++f) all.sums[f].merge(of_piece.sums[f]);
        all.amax = std::max(all.amax, of_piece.amax);
      }
      const double done = static_cast<double>(pieces[begin + found.size() - 1].end - own.first);
      if (config.progress)
        config.progress(
            static_cast<std::uint64_t>(static_cast<double>(part.count) * (done / static_cast<double>(own.end - own.first))));
    }
  });
  if (tensor.source != nullptr) tensor.source->check();
  if (config.progress) config.progress(part.count);
  const double amax = known.shared_amax.value_or(all.amax);
  for (const emu::Format format : config.formats)
    all.tensor_scales.push_back(is_nvfp4(scaling.rule) ? static_cast<double>(nvfp4_tensor_scale(format, amax)) : 1);
  return all;
}

}  // namespace ulpscope::studies
