// SPDX-License-Identifier: Apache-2.0
// Chooses rows and columns with wrong elements, and scores a replay of them.
#include "verify/explain/explain_sample.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "emu/encode.hpp"
#include "emu/philox.hpp"
#include "tensors/parallel.hpp"

namespace ulpscope::verify {
namespace {

/// Outputs that are replayed at a time.
constexpr std::size_t tile_rows = 64, tile_columns = 256;

/// A term of a sum over elements in any order that tells outputs apart.
std::uint64_t digest_of(double x, std::size_t index) {
  const std::uint64_t code = std::isnan(x) ? ~std::uint64_t{0} : std::bit_cast<std::uint64_t>(x);
  const emu::PhiloxBlock block = emu::philox4x32(code, index);
  return std::uint64_t{block.word[0]} << 32 | block.word[1];
}

/// `count` of the indices, evenly spread.
std::vector<std::size_t> spread(const std::vector<std::size_t>& indices, std::size_t count) {
  if (count >= indices.size()) return indices;
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < count; ++i) out.push_back(indices[i * indices.size() / count]);
  return out;
}

std::vector<std::size_t> up_to(std::size_t count) {
  std::vector<std::size_t> all(count);
  for (std::size_t i = 0; i < count; ++i) all[i] = i;
  return all;
}

std::vector<std::size_t> range(std::size_t first, std::size_t end) {
  std::vector<std::size_t> out;
  for (std::size_t i = first; i < end; ++i) out.push_back(i);
  return out;
}

}  // namespace

bool same_value(double x, double y) {
  return std::bit_cast<std::uint64_t>(x) == std::bit_cast<std::uint64_t>(y) || (std::isnan(x) && std::isnan(y));
}

std::vector<std::size_t> chosen_lines(const std::vector<char>& marked, std::size_t count) {
  std::vector<std::size_t> with;
  for (std::size_t i = 0; i < marked.size(); ++i)
    if (marked[i] != 0) with.push_back(i);
  std::vector<std::size_t> chosen = spread(with, (count + 1) / 2);
  std::vector<char> taken(marked.size());
  for (const std::size_t i : chosen) taken[i] = 1;
  for (const std::size_t i : spread(up_to(marked.size()), count))
    if (chosen.size() < count && taken[i] == 0) taken[i] = 1, chosen.push_back(i);
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

void Score::add(const Score& other) noexcept {
  matched += other.matched;
  matched_of_wrong += other.matched_of_wrong;
  changed += other.changed;
  digest += other.digest;
}

ReplayedOutputs::ReplayedOutputs(const MatmulData& data, const Kernel& claimed, std::vector<double> d, int threads)
    : data_(data), d_(std::move(d)), claimed_(d_.size()), wrong_of_matrix_(data.shape.batch()), threads_(threads) {
  const std::vector<Region> regions = tiles();
  tensors::for_each_index(regions.size(), threads_, [&](std::size_t t) {
    const Region& region = regions[t];
    const std::vector<double> values = replay(data_, claimed, region);
    for (std::size_t i = 0; i < values.size(); ++i) claimed_[place(region, i)] = values[i];
  });
  const std::size_t size = data.shape.m * data.shape.n;
  for (std::size_t i = 0; i < d_.size(); ++i) wrong_of_matrix_[i / size] += same_value(d_[i], claimed_[i]) ? 0 : 1;
  for (const std::uint64_t wrong : wrong_of_matrix_) wrong_ += wrong;
}

bool ReplayedOutputs::is_wrong(std::size_t i) const { return !same_value(d_[i], claimed_[i]); }

std::uint64_t ReplayedOutputs::bits(emu::Format out, emu::Format wide) const {
  const auto place = [](emu::Format format, double x) {
    const emu::Code code = emu::encode(format, x);
    const auto magnitude = static_cast<std::int64_t>(code & format.magnitude_mask());
    return format.is_negative(code) ? -magnitude : magnitude;
  };
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < d_.size(); ++i) {
    if (same_value(d_[i], claimed_[i])) continue;
    const emu::Format format = same_value(emu::round_to(out, d_[i]).value, d_[i]) ? out : wide;
    const std::int64_t distance = place(format, d_[i]) - place(format, claimed_[i]);
    bits += static_cast<std::uint64_t>(std::bit_width(static_cast<std::uint64_t>(distance < 0 ? -distance : distance)));
  }
  return bits;
}

Region ReplayedOutputs::sample(std::size_t outputs, std::size_t products) const {
  const auto& shape = data_.shape;
  Region region;
  region.matrix =
      static_cast<std::size_t>(std::max_element(wrong_of_matrix_.begin(), wrong_of_matrix_.end()) - wrong_of_matrix_.begin());
  const auto is_wrong = [&](std::size_t i, std::size_t j) {
    return this->is_wrong((region.matrix * shape.m + i) * shape.n + j);
  };
  std::vector<char> rows(shape.m), columns(shape.n);
  for (std::size_t i = 0; i < shape.m; ++i)
    for (std::size_t j = 0; j < shape.n; ++j)
      if (is_wrong(i, j)) rows[i] = 1;
  constexpr std::size_t least_outputs = 16;
  const std::size_t most = std::min(outputs, std::max(least_outputs, products / std::max<std::size_t>(shape.k, 1)));
  std::size_t side = 1;
  while ((side + 1) * (side + 1) <= most) ++side;
  const std::size_t row_count = std::min(shape.m, std::max(side, most / std::max<std::size_t>(shape.n, 1)));
  region.rows = chosen_lines(rows, row_count);
  for (const std::size_t i : region.rows)
    for (std::size_t j = 0; j < shape.n; ++j)
      if (is_wrong(i, j)) columns[j] = 1;
  region.columns =
      chosen_lines(columns, std::min(shape.n, std::max<std::size_t>(most / std::max<std::size_t>(row_count, 1), 1)));
  return region;
}

std::size_t ReplayedOutputs::place(const Region& region, std::size_t i) const noexcept {
  const std::size_t row = region.rows[i / region.columns.size()], column = region.columns[i % region.columns.size()];
  return (region.matrix * data_.shape.m + row) * data_.shape.n + column;
}

/// The outputs; of each tile that may have been computed in two ways those of the way that is nearer to D.
std::vector<double> ReplayedOutputs::replayed(const Kernel& kernel, const Region& region) const {
  if (kernel.only) return replayed_in_tiles(kernel, region);
  std::vector<double> values = replay(data_, kernel, region);
  if (!kernel.some) return values;
  const SomeTiles& tile = *kernel.some;
  Kernel other_kernel = kernel;
  other_kernel.parts = tile.parts;
  const std::vector<double> others = replay(data_, other_kernel, region);
  const auto tile_of = [&](std::size_t i) {
    return std::pair(region.rows[i / region.columns.size()] / tile.rows,
                     region.columns[i % region.columns.size()] / tile.columns);
  };
  std::map<std::pair<std::size_t, std::size_t>, int> more;  // elements that the other way has right, less those of this one
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double wanted = d_[place(region, i)];
    more[tile_of(i)] += (same_value(others[i], wanted) ? 1 : 0) - (same_value(values[i], wanted) ? 1 : 0);
  }
  for (std::size_t i = 0; i < values.size(); ++i)
    if (more[tile_of(i)] > 0) values[i] = others[i];
  return values;
}

/// The claim, but in the tiles that the kernel's deviations are limited to.
std::vector<double> ReplayedOutputs::replayed_in_tiles(const Kernel& kernel, const Region& region) const {
  std::vector<double> values(region.count());
  std::vector<std::size_t> inside;
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = claimed_[place(region, i)];
    if (kernel.only->has(region.matrix, region.rows[i / region.columns.size()], region.columns[i % region.columns.size()]))
      inside.push_back(i);
  }
  if (inside.empty()) return values;
  Kernel everywhere = kernel;
  everywhere.only.reset();
  const std::vector<double> others = replayed(everywhere, region);
  for (const std::size_t i : inside) values[i] = others[i];
  return values;
}

Score ReplayedOutputs::score(const Kernel& kernel, const Region& region) const {
  Score score;
  const std::vector<double> values = replayed(kernel, region);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t at = place(region, i);
    const bool matches = same_value(values[i], d_[at]);
    score.matched += matches ? 1 : 0;
    score.matched_of_wrong += matches && !same_value(claimed_[at], d_[at]) ? 1 : 0;
    score.changed += same_value(values[i], claimed_[at]) ? 0 : 1;
    score.digest += digest_of(values[i], at);
  }
  return score;
}

Score ReplayedOutputs::score_all(const Kernel& kernel) const {
  const std::vector<Region> regions = tiles();
  std::vector<Score> scores(regions.size());
  tensors::for_each_index(regions.size(), threads_, [&](std::size_t t) { scores[t] = score(kernel, regions[t]); });
  Score total;
  for (const Score& part : scores) total.add(part);
  return total;
}

std::uint64_t ReplayedOutputs::choices(const Kernel& kernel) const {
  std::set<const OtherMatrices*> others;
  for (const OperandPath* path : {&kernel.a, &kernel.b}) others.insert({path->elements.get(), path->scales.get()});
  std::uint64_t only = kernel.only ? kernel.only->choices() : 0;
  for (const OtherMatrices* other : others) only += other == nullptr ? 0 : other->choices;
  if (!kernel.some) return only;
  const SomeTiles& tile = *kernel.some;
  const auto& shape = data_.shape;
  return only +
         std::uint64_t{shape.batch()} * ((shape.m + tile.rows - 1) / tile.rows) * ((shape.n + tile.columns - 1) / tile.columns);
}

std::vector<Region> ReplayedOutputs::tiles() const {
  const auto& shape = data_.shape;
  std::vector<Region> regions;
  for (std::size_t matrix = 0; matrix < shape.batch(); ++matrix)
    for (std::size_t i = 0; i < shape.m; i += tile_rows)
      for (std::size_t j = 0; j < shape.n; j += tile_columns)
        regions.push_back({matrix, range(i, std::min(shape.m, i + tile_rows)), range(j, std::min(shape.n, j + tile_columns))});
  return regions;
}

}  // namespace ulpscope::verify
