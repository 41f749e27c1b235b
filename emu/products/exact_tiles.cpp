// SPDX-License-Identifier: Apache-2.0
// Exact sums by bounds, tile by tile. Rounding is monotonic: where both bounds are rounded to one number, so is what lies
// between. Bounds are a chain of doubles and how far it may be off, chains rounded down and up where that leaves too many
// undecided, and compensated sums for results of float64 and products that doubles do not hold.
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

/// How the bounds of sums are found.
enum class Way : std::uint8_t {
  chain,        ///< one chain, and a bound of its roundings
  brackets,     ///< one rounded down and one rounded up
  compensated,  ///< some ten instructions a product, which decide almost all results of float64
};

template <class Float>
Way way_of(const EngineMatmul<Float>& problem, const Part& part) {
  const Engine& engine = problem.engine;
  const int product = problem.a.format.precision() + problem.b.format.precision(), result = engine.accumulator.precision();
  if (engine.accumulator == float64) {
    constexpr int short_products = 32;  // bits; of those, many sums are exact
    return engine.stages[0].rounding == Rounding::nearest_even && product > short_products ? Way::compensated : Way::brackets;
  }
  // Sums of few more bits than a result has are often what lies half-way between two, which only brackets decide. The bound
  // of one chain grows as the square of K.
  constexpr int more_bits = 8;
  constexpr std::size_t short_chain = 4096;
  return product >= result + more_bits && part.end - part.begin <= short_chain ? Way::chain : Way::brackets;
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

/// What a compensated sum begins with, where magnitudes of terms have this sum, P: 1.5 * 2^m with 4 P < 2^m <= 8 P, so that
/// sums stay in one binade. Infinite where there is no such number.
double beginning(double magnitudes) noexcept {
  if (!(magnitudes < 0x1p1020)) return std::numeric_limits<double>::infinity();
  constexpr int least = -1020;
  return std::ldexp(1.5, magnitudes == 0 ? least : std::max(std::ilogb(magnitudes) + 3, least));
}

/// How far a compensated sum of so many terms (c and products) may be off, whose magnitudes have this sum, P.
///
/// With u = 2^-53 and m terms, an addition to the sum is off by at most 2^-53 * 8 P = 8 u P, the product by u P: what is added
/// of both is rounded, and so is the sum of these, at most 9 m u P: they are off by 9 u^2 m (m + 1) P and what powers of 1 + u
/// make of that, for which, and for the roundings of P, there is a factor of more than 1.7. A product that underflows is off by
/// half the least double, and so is its error.
double compensated_error(double terms, double magnitudes) noexcept {
  return (terms + 1) * (terms + 1) * 0x1p-102 * magnitudes + terms * std::numeric_limits<double>::denorm_min();
}

/// The same of a sum in the order of its terms. With u and m as above each of m additions, the product joining unrounded,
/// rounds a sum of at most (1 + u)^m P, so that all are off by at most m u (1 + u)^m P. There is a factor of 2 for the powers,
/// for the roundings of P and for that of a bound.
double chain_error(double terms, double magnitudes) noexcept {
  return (terms + 1) * 0x1p-52 * magnitudes + terms * std::numeric_limits<double>::denorm_min();
}

/// Sums of a part by bounds.
template <class Float>
class BoundedSums {
 public:
  BoundedSums(const EngineMatmul<Float>& problem, const Part& part, bool from_c, std::span<Float> d)
      : problem_(problem),
        part_(part),
        from_c_(from_c),
        d_(d),
        terms_(static_cast<double>(part.end - part.begin + 1)),
        way_(way_of(problem, part)),
        special_rows_(special_lines(problem.a, true)),
        special_columns_(special_lines(problem.b, false)),
        undecided_(d.size()) {
    if (way_ == Way::brackets) return;
    of_rows_ = magnitudes_of_rows(problem, part);
    of_columns_ = greatest_of_columns(problem, part);
  }

  void run(DoubleTile& tile) {
    constexpr std::size_t brackets_cost = 64;  // an undecided sum costs as much as the brackets of so many
    const std::size_t open = bound(tile, way_);
    if (way_ == Way::chain && open * brackets_cost > tile.pairs() * bounds) bound(tile, Way::brackets);
  }
  std::vector<std::size_t> undecided() const {
    std::vector<std::size_t> places;
    for (std::size_t at = 0; at < undecided_.size(); ++at)
      if (undecided_[at] != 0) places.push_back(at);
    return places;
  }

 private:
  /// @returns how many sums are not decided that are not zero
  std::size_t bound(DoubleTile& tile, Way way) {
    const auto finite = [](Float x) { return std::isfinite(x) ? static_cast<double>(x) : 0.0; };
    const std::size_t columns = problem_.b.columns();
    Lines<double> low, high;
    low.resize(tile.pairs() * bounds);
    high.resize(tile.pairs() * bounds);
    std::fill_n(low.data(), tile.pairs() * bounds, 0.0);
    std::fill_n(high.data(), tile.pairs() * bounds, 0.0);
    if (from_c_ || way == Way::compensated)
      tile.for_each_output([&](std::size_t i, std::size_t j, std::size_t pair, std::size_t at) {
        begin(way, i, j, low[pair * bounds + at], high[pair * bounds + at]);
      });
    for (std::size_t k = part_.begin; k < part_.end; k += bounds_stretch) {
      const std::size_t end = std::min(part_.end, k + bounds_stretch);
      tile.stretch(problem_, k, end, end, finite, [&](std::size_t pair, const FusedPanels<double>& panels) {
        double *const of_low = low.data() + pair * bounds, *const of_high = high.data() + pair * bounds;
        switch (way) {
          case Way::chain: return fused_doubles(panels, of_low);
          case Way::brackets: return bracketed_doubles(panels, of_low, of_high);
          case Way::compensated: return compensated_doubles(panels, of_low, of_high);
        }
      });
    }
    if (way != Way::brackets)
      tile.for_each_output([&](std::size_t i, std::size_t j, std::size_t pair, std::size_t at) {
        enclose(way, i, j, low[pair * bounds + at], high[pair * bounds + at]);
      });
    for (std::size_t pair = 0; pair < tile.pairs(); ++pair)
      round_bounds(problem_.engine, low.data() + pair * bounds, high.data() + pair * bounds);
    std::size_t open = 0;
    tile.for_each_output([&](std::size_t i, std::size_t j, std::size_t pair, std::size_t at) {
      const double below = low[pair * bounds + at], above = high[pair * bounds + at];
      const bool is_decided = below == above && below != 0 && (special_rows_[i] | special_columns_[j]) == 0;
      d_[i * columns + j] = static_cast<Float>(below);
      undecided_[i * columns + j] = is_decided ? 0 : 1;
      open += !is_decided && below + above != 0 ? 1 : 0;
    });
    return open;
  }

  double c(std::size_t i, std::size_t j) const {
    return from_c_ ? static_cast<double>(problem_.c[i * problem_.b.columns() + j]) : 0;
  }
  double magnitudes(std::size_t i, std::size_t j) const { return of_rows_[i] * of_columns_[j] + std::abs(c(i, j)); }

  /// What both chains of an output begin with.
  void begin(Way way, std::size_t i, std::size_t j, double& first, double& second) const {
    first = c(i, j);
    if (way == Way::brackets) second = -first;
    if (way != Way::compensated) return;
    const double start = beginning(magnitudes(i, j));
    first = start + c(i, j);
    second = c(i, j) - (first - start);
  }

  /// From what the chains came to, to the lower bound and the upper one negated.
  void enclose(Way way, std::size_t i, std::size_t j, double& low, double& high) const {
    const double all = magnitudes(i, j);
    double sum = low, rest = 0, off = chain_error(terms_, all);
    if (way == Way::compensated) {
      sum = low - beginning(all);
      rest = high;
      off = compensated_error(terms_, all) + 0x1p-52 * std::abs(rest);  // the roundings of rest -+ off are less
    }
    low = sum + (rest - off);
    high = -(sum + (rest + off));
  }

  const EngineMatmul<Float>& problem_;
  const Part& part_;
  bool from_c_;
  std::span<Float> d_;
  double terms_;
  Way way_;
  std::vector<std::uint8_t> special_rows_, special_columns_, undecided_;
  std::vector<double> of_rows_, of_columns_;
};

template <class Float>
std::vector<std::size_t> bounded(const EngineMatmul<Float>& problem, const Part& part, bool from_c, std::span<Float> d) {
  BoundedSums<Float> sums(problem, part, from_c, d);
  for_each_double_tile(problem, 256, [&](DoubleTile& tile) { sums.run(tile); });
  return sums.undecided();
}

}  // namespace

template <class Float>
std::vector<std::size_t> exact_sums(const EngineMatmul<Float>& problem, const Part& part, bool from_c, std::span<Float> d) {
  return bounded(problem, part, from_c, d);
}

template std::vector<std::size_t> exact_sums(const EngineMatmul<float>&, const Part&, bool, std::span<float>);
template std::vector<std::size_t> exact_sums(const EngineMatmul<double>&, const Part&, bool, std::span<double>);

}  // namespace ulpscope::emu::detail
