// SPDX-License-Identifier: Apache-2.0
// Fused and pairwise chains in float64, tile by tile, with what is put around them.
#include "emu/products/double_chains.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "emu/matmul_epilogue.hpp"
#include "emu/products/double_tiles.hpp"
#include "emu/products/pairs.hpp"
#include "emu/products/plan.hpp"

namespace ulpscope::emu::detail {
namespace {

constexpr std::size_t square = DoubleTile::square;
constexpr std::size_t stretch_products = 128;  // of a panel, 64 KiB

bool is_pairwise(const Engine& engine) {
  Engine pairs = fma_chain(float64);
  pairs.products = engine.products;
  pairs.stages[0].summing = Summing::pairwise;
  pairs.stages[0].terms = engine.stages[0].terms;
  pairs.nan_result = engine.nan_result;
  pairs.nan_code = engine.nan_code;
  return engine == pairs && (engine.stages[0].terms == Stage::all || engine.stages[0].terms == engine.products);
}

/// Continues the chains of a tile, each pair's at sums + pair * height * square, by the products of a part.
void run_fused(const EngineMatmul<double>& problem, const Part& part, DoubleTile& tile, double* sums) {
  const auto take = [](double x) { return x; };
  for (std::size_t k = part.begin; k < part.end; k += stretch_products) {
    const std::size_t end = std::min(part.end, k + stretch_products);
    tile.stretch(problem, k, end, end, take,
                 [&](std::size_t pair, const FusedPanels<double>& panels) { fused_doubles(panels, sums + pair * square); });
  }
}

void run_pairs(const EngineMatmul<double>& problem, const Part& part, std::span<const PairLeaf> leaves, std::size_t most,
               DoubleTile& tile, double* sums) {
  const auto take = [](double x) { return x; };
  std::size_t k = part.begin, height = 1;
  while (!leaves.empty()) {
    std::size_t count = 0, products = 0, after = height;
    for (; count < leaves.size() && products < stretch_products; ++count) {
      products += leaves[count].products;
      after += 1 - leaves[count].merges;
    }
    const auto some = leaves.first(count);
    tile.stretch(problem, k, std::min(part.end, k + products), k + products, take,
                 [&](std::size_t pair, const FusedPanels<double>& panels) {
                   paired_doubles(panels, some, height, sums + pair * most * square);
                 });
    leaves = leaves.subspan(count);
    k += products;
    height = after;
  }
}

}  // namespace

bool adds_in_doubles(const Engine& engine) { return is_fused_chain(engine, float64) || is_pairwise(engine); }

void double_chains(const EngineMatmul<double>& problem, const std::vector<Part>& parts, std::span<double> d) {
  const Epilogue<double> epilogue(problem);
  const bool pairs = is_pairwise(problem.engine), from_c = epilogue.chain_starts_with_c();
  const bool single = parts.size() == 1 && !software_scales(problem).along_k;
  const std::size_t columns = problem.b.columns();
  std::vector<std::vector<PairLeaf>> leaves(parts.size());
  std::size_t height = 1;
  for (std::size_t p = 0; pairs && p < parts.size(); ++p) {
    const std::size_t depth = parts[p].end - parts[p].begin;
    leaves[p] = pair_leaves(depth, problem.engine.products == Stage::all ? std::max<std::size_t>(depth, 1)
                                                                         : static_cast<std::size_t>(problem.engine.products));
    height = std::max(height, pair_height(leaves[p]));
  }
  const auto start_of = [&](std::size_t i, std::size_t j) { return from_c ? problem.c[i * columns + j] : 0.0; };
  // A NaN is the canonical one, as decode() gives it.
  const auto result = [](double sum) { return std::isnan(sum) ? std::numeric_limits<double>::quiet_NaN() : sum; };

  for_each_double_tile(problem, pairs ? 128 : 256, [&](DoubleTile& tile) {
    Lines<double> sums;
    sums.resize(tile.pairs() * height * square);
    const auto run = [&](std::size_t p) {
      pairs ? run_pairs(problem, parts[p], leaves[p], height, tile, sums.data())
            : run_fused(problem, parts[p], tile, sums.data());
    };
    const auto at_of = [&](std::size_t pair, std::size_t at) { return pair * height * square + at; };
    if (single) {
      tile.for_each_output(
          [&](std::size_t i, std::size_t j, std::size_t pair, std::size_t at) { sums[at_of(pair, at)] = start_of(i, j); });
      run(0);
      tile.for_each_output([&](std::size_t i, std::size_t j, std::size_t pair, std::size_t at) {
        d[i * columns + j] = epilogue.finish(result(sums[at_of(pair, at)]), i, j);
      });
      return;
    }
    std::vector<Total<double>> totals;
    tile.for_each_output([&](std::size_t i, std::size_t j, std::size_t, std::size_t) { totals.emplace_back(start_of(i, j)); });
    for (std::size_t p = 0; p < parts.size(); ++p) {
      std::fill_n(sums.data(), tile.pairs() * height * square, 0.0);
      run(p);
      std::size_t next = 0;
      tile.for_each_output([&](std::size_t i, std::size_t j, std::size_t pair, std::size_t at) {
        totals[next++].add(epilogue, parts[p], result(sums[at_of(pair, at)]), i, j);
      });
    }
    std::size_t next = 0;
    tile.for_each_output([&](std::size_t i, std::size_t j, std::size_t, std::size_t) {
      d[i * columns + j] = epilogue.finish(totals[next++].value(), i, j);
    });
  });
}

}  // namespace ulpscope::emu::detail
