// SPDX-License-Identifier: Apache-2.0
// Exact sums by bounds, tile by tile. Rounding is monotonic: where both bounds are rounded to one number, so is what lies
// between. Bounds are chains of doubles rounded down and up or, for results of float64 and products that doubles do not hold,
// compensated sums and how far they may be off.
#include "emu/products/exact_tiles.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>

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

/// Whether sums are compensated: that decides almost all results of float64, for some ten instructions a product.
template <class Float>
bool compensates(const EngineMatmul<Float>& problem) {
  const Engine& engine = problem.engine;
  constexpr int short_products = 32;  // bits; of those, many sums are exact
  return engine.accumulator == float64 && engine.stages[0].rounding == Rounding::nearest_even &&
         problem.a.format.precision() + problem.b.format.precision() > short_products;
}

/// Sums of magnitudes of the rows of A.
template <class Float>
std::vector<double> magnitudes_of_rows(const EngineMatmul<Float>& problem, const Part& part) {
  std::vector<double> sums(problem.a.rows());
  for (std::size_t i = 0; i < sums.size(); ++i)
    for (std::size_t k = part.begin; k < part.end; ++k) sums[i] += std::abs(static_cast<double>(problem.a.at(i, k)));
  return sums;
}

/// The greatest magnitudes of the columns of B.
template <class Float>
std::vector<double> greatest_of_columns(const EngineMatmul<Float>& problem, const Part& part) {
  std::vector<double> greatest(problem.b.columns());
  for (std::size_t k = part.begin; k < part.end; ++k)
    for (std::size_t j = 0; j < greatest.size(); ++j)
      greatest[j] = std::max(greatest[j], std::abs(static_cast<double>(problem.b.at(k, j))));
  return greatest;
}

/// How far a compensated sum of so many terms (c and products) may be off, whose magnitudes have this sum, P.
///
/// With u = 2^-53 and m terms, sums are at most (1 + u)^m P, so that the error of a product and that of its addition are
/// together at most u (|a b| + P) (1 + u)^(m + 2). Adding these rounds m times, sums of at most u (m + 1) P: they are off by
/// u^2 (m + 1)^2 P and what powers of 1 + u make of that, for which, and for the roundings of P, there is a factor of 2. A
/// product that underflows is off by half the least double, and so is its error.
double compensated_error(double terms, double magnitudes) noexcept {
  return (terms + 1) * (terms + 1) * 0x1p-105 * magnitudes + terms * std::numeric_limits<double>::denorm_min();
}

}  // namespace

template <class Float>
std::vector<std::size_t> exact_sums(const EngineMatmul<Float>& problem, const Part& part, bool from_c, std::span<Float> d) {
  const std::size_t columns = problem.b.columns();
  const auto special_rows = special_lines(problem.a, true), special_columns = special_lines(problem.b, false);
  const auto finite = [](Float x) { return std::isfinite(x) ? static_cast<double>(x) : 0.0; };
  std::vector<std::uint8_t> undecided(d.size());
  const bool compensated = compensates(problem);
  const auto terms = static_cast<double>(part.end - part.begin + 1);
  const std::vector<double> of_rows = compensated ? magnitudes_of_rows(problem, part) : std::vector<double>();
  const std::vector<double> of_columns = compensated ? greatest_of_columns(problem, part) : std::vector<double>();
  for_each_double_tile(problem, 256, [&](DoubleTile& tile) {
    Lines<double> low, high;
    low.resize(tile.pairs() * bounds);
    high.resize(tile.pairs() * bounds);
    std::fill_n(low.data(), tile.pairs() * bounds, 0.0);
    std::fill_n(high.data(), tile.pairs() * bounds, 0.0);
    if (from_c)
      tile.for_each_output([&](std::size_t i, std::size_t j, std::size_t pair, std::size_t at) {
        low[pair * bounds + at] = static_cast<double>(problem.c[i * columns + j]);
        if (!compensated) high[pair * bounds + at] = -low[pair * bounds + at];
      });
    for (std::size_t k = part.begin; k < part.end; k += bounds_stretch) {
      const std::size_t end = std::min(part.end, k + bounds_stretch);
      tile.stretch(problem, k, end, end, finite, [&](std::size_t pair, const FusedPanels<double>& panels) {
        (compensated ? compensated_doubles : bracketed_doubles)(panels, low.data() + pair * bounds,
                                                                high.data() + pair * bounds);
      });
    }
    if (compensated)
      tile.for_each_output([&](std::size_t i, std::size_t j, std::size_t pair, std::size_t at) {
        double &of_low = low[pair * bounds + at], &of_high = high[pair * bounds + at];
        const double sum = of_low, rest = of_high, c = from_c ? static_cast<double>(problem.c[i * columns + j]) : 0;
        const double error = compensated_error(terms, of_rows[i] * of_columns[j] + std::abs(c));
        const double off = error + 0x1p-52 * std::abs(rest);  // the roundings of rest -+ off are less
        of_low = sum + (rest - off);
        of_high = sum + (rest + off);
      });
    for (std::size_t pair = 0; pair < tile.pairs() && !compensated; ++pair)
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
