// SPDX-License-Identifier: Apache-2.0
// Reads off D where tiles of operands may begin: a tile's first row is read right, and so are the lines before it.
#include "verify/explain/last_tiles.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace ulpscope::verify {
namespace {

constexpr std::size_t least_tile = 8, most_tile = 256;

/// For each row of D, or each column, whether all of it is the claim's.
std::vector<char> right_lines(const ReplayedOutputs& outputs, const products::MatmulShape& shape, bool rows) {
  std::vector<char> right(rows ? shape.m : shape.n, 1);
  for (std::size_t i = 0; i < outputs.count(); ++i)
    if (outputs.is_wrong(i)) right[rows ? i / shape.n % shape.m : i % shape.n] = 0;
  return right;
}

std::size_t first_wrong_of(const std::vector<char>& right) {
  return static_cast<std::size_t>(std::find(right.begin(), right.end(), 0) - right.begin());
}

/// The last of `starts` up to `most`; none where all are greater.
std::optional<std::size_t> last_up_to(const std::vector<std::size_t>& starts, std::size_t most) {
  for (const std::size_t start : starts)
    if (start <= most) return start;
  return std::nullopt;
}

/// Tiles of an operand whose rows, as it is stored, are lines of D: a tile's first line is right.
std::vector<LastTiles> tiles_of_lines(const std::vector<char>& right, std::size_t k) {
  std::vector<LastTiles> tiles;
  const std::size_t rows = right.size(), first_wrong = first_wrong_of(right);
  std::vector<std::size_t> columns = last_tile_starts(k);
  columns.push_back(0);
  if (first_wrong == 0) return tiles;
  if (const auto row = last_up_to(last_tile_starts(rows), first_wrong - 1))
    for (const std::size_t column : columns) tiles.push_back({*row, column, rows - *row});
  for (const std::size_t height : tile_heights(rows)) {
    bool fits = true;
    for (std::size_t i = 0; i < rows; i += height) fits = fits && right[i] != 0;
    if (!fits) continue;
    for (const std::size_t column : columns) tiles.push_back({0, column, height});
    break;
  }
  return tiles;
}

/// Tiles of an operand whose columns, as it is stored, are lines of D: lines are wrong from a tile on.
std::vector<LastTiles> tiles_across(const std::vector<char>& right, std::size_t k) {
  std::vector<LastTiles> tiles;
  const std::size_t column = last_up_to(last_tile_starts(right.size()), first_wrong_of(right)).value_or(0);
  for (const std::size_t row : last_tile_starts(k)) tiles.push_back({row, column, k - row});
  for (const std::size_t height : tile_heights(k)) tiles.push_back({0, column, height});
  return tiles;
}

void add_operand(std::vector<Cause>& causes, const Claim& claim, const ReplayedOutputs& outputs, bool is_a) {
  const products::MatmulShape& shape = claim.shape;
  const bool transposed = is_a ? claim.config.a.input.transposed : claim.config.b.input.transposed;
  const bool lines_are_rows = is_a != transposed;
  const std::vector<char> right = right_lines(outputs, shape, is_a);
  const std::size_t rows = lines_are_rows ? right.size() : shape.k, columns = lines_are_rows ? shape.k : right.size();
  if (rows < 2) return;
  const std::string name = is_a ? "A" : "B";
  for (LastTiles tiles : lines_are_rows ? tiles_of_lines(right, shape.k) : tiles_across(right, shape.k))
    for (const std::size_t stride : other_strides(columns, shape)) {
      tiles.stride = stride;
      causes.push_back({name + "=" + word_of(tiles, rows, columns),
                        sentence_of(tiles, rows, columns, name + (transposed ? ", as it is stored," : "") + " read"),
                        {},
                        [=](Kernel& kernel) {
                          OperandPath& path = is_a ? kernel.a : kernel.b;
                          path.last = tiles;
                          path.is_transposed = transposed;
                        }});
    }
}

}  // namespace

std::vector<std::size_t> last_tile_starts(std::size_t extent) {
  std::vector<std::size_t> starts;
  for (std::size_t tile = least_tile; tile <= most_tile && tile < extent; tile *= 2)
    if (const std::size_t start = (extent - 1) / tile * tile; starts.empty() || starts.back() != start) starts.push_back(start);
  return starts;
}

std::vector<std::size_t> tile_heights(std::size_t rows) {
  std::vector<std::size_t> heights;
  for (std::size_t height = least_tile; height <= most_tile && height < rows; height *= 2) heights.push_back(height);
  heights.push_back(rows);
  return heights;
}

std::vector<std::size_t> other_strides(std::size_t columns, const products::MatmulShape& shape) {
  std::vector<std::size_t> strides;
  for (std::size_t by = 1; by <= 64; by *= 2) {
    if (by < columns) strides.push_back(columns - by);
    strides.push_back(columns + by);
  }
  for (const std::size_t extent : {shape.m, shape.n, shape.k})
    if (extent != columns && std::find(strides.begin(), strides.end(), extent) == strides.end()) strides.push_back(extent);
  return strides;
}

std::string word_of(const LastTiles& tiles, std::size_t rows, std::size_t columns) {
  const std::size_t height = rows - tiles.row, width = columns - tiles.column;
  const std::string stride = fmt::format("stride:{}", tiles.stride);
  const std::string part = tiles.row != 0 && tiles.column != 0 ? fmt::format("last-tile:{}x{},", height, width)
                           : tiles.row != 0                    ? fmt::format("last-rows:{},", height)
                           : tiles.column != 0                 ? fmt::format("last-columns:{},", width)
                                                               : "";
  return part + stride + (tiles.height < height ? fmt::format(",every:{}", tiles.height) : "");
}

std::string sentence_of(const LastTiles& tiles, std::size_t rows, std::size_t columns, const std::string& matrix_is) {
  const std::size_t height = rows - tiles.row, width = columns - tiles.column;
  const std::string part = tiles.row != 0 && tiles.column != 0 ? fmt::format("the last {}x{} tile of ", height, width)
                           : tiles.row != 0                    ? fmt::format("the last {} rows of ", height)
                           : tiles.column != 0                 ? fmt::format("the last {} columns of ", width)
                                                               : "";
  return part + fmt::format("{} with a leading dimension of {}, not {}", matrix_is, tiles.stride, columns) +
         (tiles.height < height ? fmt::format(", anew every {} rows", tiles.height) : "");
}

std::vector<Cause> last_tile_causes(const Claim& claim, const ReplayedOutputs& outputs) {
  std::vector<Cause> causes;
  add_operand(causes, claim, outputs, true);
  add_operand(causes, claim, outputs, false);
  return causes;
}

}  // namespace ulpscope::verify
