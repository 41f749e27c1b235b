// SPDX-License-Identifier: Apache-2.0
// Chains on engines, in IEEE operations, and by rounding to odd where float64 does not suffice.
#include "verify/explain/replay_chain.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "emu/bits.hpp"
#include "emu/bulk.hpp"
#include "emu/catalogue.hpp"
#include "emu/engine_matmul.hpp"
#include "emu/error.hpp"
#include "emu/split_matmul.hpp"
#include "emu/stop.hpp"

namespace ulpscope::verify {
namespace {

template <class Float>
constexpr emu::Format storage = std::is_same_v<Float, double> ? emu::float64 : emu::float32;

/// Products in the order in which an engine takes them, K for a zero; and the blocks of those that share scales.
struct Places {
  std::vector<std::size_t> ks, blocks;
};

/// Whether the product at `k` goes on with the block of those from `begin` on: all of one block, none twice.
bool goes_on(std::span<const std::size_t> ks, std::size_t begin, std::size_t at, std::size_t block) {
  const auto so_far = ks.subspan(begin, at - begin);
  return ks[begin] / block == ks[at] / block && std::find(so_far.begin(), so_far.end(), ks[at]) == so_far.end();
}

/// Where they have no scales, `ks`. A part of a block has its own places among zeros; the last zeros are not taken.
Places places_of(std::span<const std::size_t> ks, std::size_t block, std::size_t k) {
  if (block == 0) return {{ks.begin(), ks.end()}, {}};
  Places places;
  for (std::size_t begin = 0; begin < ks.size();) {
    std::size_t end = begin + 1;
    while (end < ks.size() && goes_on(ks, begin, end, block)) ++end;
    const auto run = ks.subspan(begin, end - begin);
    const std::size_t first = places.ks.size();
    places.blocks.push_back(run.front() / block);
    if (run.size() == block) {
      places.ks.insert(places.ks.end(), run.begin(), run.end());
    } else {
      places.ks.resize(first + block, k);
      for (const std::size_t at : run) places.ks[first + at % block] = at;
    }
    begin = end;
    if (places.ks.size() > 2 * (end + block)) throw Error("blocks of scales in pieces");
  }
  while (!places.ks.empty() && places.ks.back() == k) places.ks.pop_back();
  return places;
}

/// The sums of what `multiply` makes of the products at `ks`.
template <class Float, class Multiply>
std::vector<Float> matmul_sums(const emu::Engine& engine, const ChainOperands<Float>& operands, std::span<const std::size_t> ks,
                               const std::vector<Float>& start, const Multiply& multiply) {
  const std::size_t rows = operands.rows, columns = operands.columns;
  const Places places = places_of(ks, operands.scales.block, operands.k);
  std::vector<Float> a, b, d(rows * columns);
  for (std::size_t i = 0; i < rows; ++i)
    for (const std::size_t k : places.ks) a.push_back(k == operands.k ? Float{0} : operands.a[i * operands.k + k]);
  for (const std::size_t k : places.ks) {
    if (k == operands.k)
      b.resize(b.size() + columns);
    else
      b.insert(b.end(), operands.b.begin() + static_cast<std::ptrdiff_t>(k * columns),
               operands.b.begin() + static_cast<std::ptrdiff_t>((k + 1) * columns));
  }
  const std::size_t blocks = places.blocks.size(), each = operands.scales.block,
                    of_all = each == 0 ? 0 : (operands.k + each - 1) / each;
  std::vector<float> scale_a, scale_b;
  for (std::size_t i = 0; i < rows; ++i)
    for (const std::size_t block : places.blocks) scale_a.push_back(operands.scales.a[i * of_all + block]);
  for (const std::size_t block : places.blocks)
    for (std::size_t j = 0; j < columns; ++j) scale_b.push_back(operands.scales.b[block * columns + j]);
  const auto grid = [&](const std::vector<float>& values, std::size_t grid_rows, std::size_t grid_columns) {
    return emu::ScaleGrid{.format = operands.scales.format, .values = values, .rows = grid_rows, .columns = grid_columns};
  };
  emu::ScaleGrid grid_a = grid(scale_a, rows, blocks), grid_b = grid(scale_b, blocks, columns);
  grid_a.row_block = grid_b.column_block = 1;
  grid_a.column_block = grid_b.row_block = each;
  const std::size_t depth = places.ks.size();
  const emu::EngineMatmul<Float> problem{.engine = engine,
                                         .a = {operands.a_format, a, {rows, depth}},
                                         .b = {operands.b_format, b, {depth, columns}},
                                         .c = start,
                                         .scale_a = grid_a,
                                         .scale_b = grid_b,
                                         .beta = {},
                                         .out = storage<Float>,
                                         .threads = 1};
  multiply(problem, std::span(d));
  return d;
}

template <class Float>
std::vector<Float> engine_sums(const emu::Engine& engine, const ChainOperands<Float>& operands, std::span<const std::size_t> ks,
                               const std::vector<Float>& start) {
  return matmul_sums(engine, operands, ks, start,
                     [](const emu::EngineMatmul<Float>& problem, std::span<Float> d) { emu::engine_matmul(problem, d); });
}

template <class Float>
std::vector<Float> split_sums(const emu::SplitProduct& split, const ChainOperands<Float>& operands,
                              std::span<const std::size_t> ks, const std::vector<Float>& start) {
  return matmul_sums(split.model, operands, ks, start, [&](const emu::EngineMatmul<Float>& problem, std::span<Float> d) {
    emu::split_matmul(split, problem, d);
  });
}

/// x + y rounded to odd in float64: a second rounding to fewer than 52 bits gives the exact sum's. The error of the sum by
/// Knuth's two-sum (TAOCP 2, 4.2.2, theorem B); where it is not zero, the last bit of the sum is made one, toward the exact
/// sum.
double sum_to_odd(double x, double y) noexcept {
  const double sum = x + y;
  if (!std::isfinite(sum)) return sum;
  const double of_y = sum - x, error = (x - (sum - of_y)) + (y - of_y);
  if (error == 0) return sum;
  auto code = std::bit_cast<std::uint64_t>(sum);
  if ((code & 1) == 0) code += (error > 0) == (sum > 0) ? 1 : std::uint64_t{0} - 1;
  return std::bit_cast<double>(code);
}

/// One product after another by float64, in which products of two float32 numbers are exact. Additions are rounded to odd
/// before their rounding to the accumulator.
std::vector<float> rounded_sums(const Chain& chain, const ChainOperands<float>& operands, std::span<const std::size_t> ks,
                                const std::vector<float>& start) {
  const std::size_t columns = operands.columns;
  std::vector<float> out;
  std::vector<double> sum(columns), products(columns);
  const auto round = [&](std::vector<double>& x) {
    emu::round_to(chain.accumulator, std::span<const double>(x), std::span<double>(x), chain.rounding, {});
  };
  for (std::size_t i = 0; i < operands.rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) sum[j] = start.empty() ? 0 : static_cast<double>(start[i * columns + j]);
    for (const std::size_t k : ks) {
      const auto a = static_cast<double>(operands.a[i * operands.k + k]);
      for (std::size_t j = 0; j < columns; ++j) products[j] = a * static_cast<double>(operands.b[k * columns + j]);
      if (chain.products == emu::Products::rounded) round(products);
      for (std::size_t j = 0; j < columns; ++j) sum[j] = sum_to_odd(sum[j], products[j]);
      round(sum);
    }
    for (const double x : sum) out.push_back(static_cast<float>(x));
  }
  return out;
}

/// Products and sums in the storage's own arithmetic.
template <class Float>
std::vector<Float> native_sums(const ChainOperands<Float>& operands, std::span<const std::size_t> ks,
                               const std::vector<Float>& start) {
  const std::size_t columns = operands.columns;
  std::vector<Float> sums = start;
  sums.resize(operands.rows * columns);
  for (std::size_t i = 0; i < operands.rows; ++i) {
    Float* const sum = sums.data() + i * columns;
    for (const std::size_t k : ks) {
      const Float a = operands.a[i * operands.k + k];
      const Float* const b = operands.b.data() + k * columns;
      for (std::size_t j = 0; j < columns; ++j) sum[j] += a * b[j];
    }
  }
  return sums;
}

}  // namespace

template <class Float>
std::vector<Float> chain_sums(const Chain& chain, const ChainOperands<Float>& operands, std::span<const std::size_t> ks,
                              const std::vector<Float>& start) {
  emu::stop_if_asked();
  if (chain.split) return split_sums(*chain.split, operands, ks, start);
  if (chain.engine) return engine_sums(*chain.engine, operands, ks, start);
  const bool plain = chain.accumulator == storage<Float> && chain.rounding == emu::RoundingOptions{};
  if (plain && chain.products == emu::Products::rounded) return native_sums(operands, ks, start);
  if constexpr (std::is_same_v<Float, float>) return rounded_sums(chain, operands, ks, start);
  return engine_sums(emu::fma_chain(emu::float64), operands, ks, start);
}

template std::vector<float> chain_sums(const Chain&, const ChainOperands<float>&, std::span<const std::size_t>,
                                       const std::vector<float>&);
template std::vector<double> chain_sums(const Chain&, const ChainOperands<double>&, std::span<const std::size_t>,
                                        const std::vector<double>&);

}  // namespace ulpscope::verify
