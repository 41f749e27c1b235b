// SPDX-License-Identifier: Apache-2.0
// Exact sums by bounds, tile by tile. Rounding is monotonic: where both bounds are rounded to one number, so is what lies
// between.
#include "emu/products/exact_tiles.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "emu/bulk.hpp"
#include "emu/products/double_tiles.hpp"
#include "emu/products/fused.hpp"

namespace ulpscope::emu::detail {
namespace {

constexpr std::size_t bounds = DoubleTile::square;  // of a pair of panels
constexpr std::size_t bounds_stretch = 128;         // products of a panel, 64 KiB

/// Which rows of A, or columns of B, have infinities or NaN.
template <class Float>
std::vector<std::uint8_t> special_lines(const EngineOperand<Float>& operand, bool along_rows) {
  const bool lines_are_rows = along_rows != operand.transposed;
  std::vector<std::uint8_t> special(along_rows ? operand.rows() : operand.columns());
  for (std::size_t i = 0; i < operand.shape.rows; ++i)
    for (std::size_t j = 0; j < operand.shape.columns; ++j)
      if (!std::isfinite(operand.values[operand.shape.at(i, j)])) special[lines_are_rows ? i : j] = 1;
  return special;
}

/// Rounds the bounds of a pair of panels in place, the upper one being negated before.
void round_bounds(const Engine& engine, double* low, double* high) {
  RoundingOptions options;
  options.rounding = engine.stages[0].rounding;
  for (std::size_t at = 0; at < bounds; ++at) high[at] = -high[at];
  if (engine.accumulator == float32 && options.rounding == Rounding::nearest_even) {
    for (double* const bound : {low, high})
      for (std::size_t at = 0; at < bounds; ++at) bound[at] = static_cast<double>(static_cast<float>(bound[at]));
  } else if (engine.accumulator != float64) {
    for (double* const bound : {low, high})
      round_to(engine.accumulator, std::span<const double>(bound, bounds), std::span(bound, bounds), options);
  }
}

}  // namespace

template <class Float>
std::vector<std::size_t> exact_sums(const EngineMatmul<Float>& problem, const Part& part, bool from_c, std::span<Float> d) {
  const std::size_t columns = problem.b.columns();
  const auto special_rows = special_lines(problem.a, true), special_columns = special_lines(problem.b, false);
  const auto finite = [](Float x) { return std::isfinite(x) ? static_cast<double>(x) : 0.0; };
  std::vector<std::uint8_t> undecided(d.size());
  for_each_double_tile(problem, 256, [&](DoubleTile& tile) {
    Lines<double> low, high;
    low.resize(tile.pairs() * bounds);
    high.resize(tile.pairs() * bounds);
    std::fill_n(low.data(), tile.pairs() * bounds, 0.0);
    std::fill_n(high.data(), tile.pairs() * bounds, 0.0);
    if (from_c)
      tile.for_each_output([&](std::size_t i, std::size_t j, std::size_t pair, std::size_t at) {
        low[pair * bounds + at] = static_cast<double>(problem.c[i * columns + j]);
        high[pair * bounds + at] = -low[pair * bounds + at];
      });
    for (std::size_t k = part.begin; k < part.end; k += bounds_stretch) {
      const std::size_t end = std::min(part.end, k + bounds_stretch);
      tile.stretch(problem, k, end, end, finite, [&](std::size_t pair, const FusedPanels<double>& panels) {
        bracketed_doubles(panels, low.data() + pair * bounds, high.data() + pair * bounds);
      });
    }
    for (std::size_t pair = 0; pair < tile.pairs(); ++pair)
      round_bounds(problem.engine, low.data() + pair * bounds, high.data() + pair * bounds);
    tile.for_each_output([&](std::size_t i, std::size_t j, std::size_t pair, std::size_t at) {
      const double below = low[pair * bounds + at], above = high[pair * bounds + at];
      d[i * columns + j] = static_cast<Float>(below);
      undecided[i * columns + j] = below == above && below != 0 && (special_rows[i] | special_columns[j]) == 0 ? 0 : 1;
    });
  });
  std::vector<std::size_t> places;
  for (std::size_t at = 0; at < undecided.size(); ++at)
    if (undecided[at] != 0) places.push_back(at);
  return places;
}

template std::vector<std::size_t> exact_sums(const EngineMatmul<float>&, const Part&, bool, std::span<float>);
template std::vector<std::size_t> exact_sums(const EngineMatmul<double>&, const Part&, bool, std::span<double>);

}  // namespace ulpscope::emu::detail
