// SPDX-License-Identifier: Apache-2.0
// Fits the difference from the claim by the sum of each block of K.
#include "verify/explain/block_scales.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "verify/explain/missing_products.hpp"
#include "verify/explain/replay_operands.hpp"

namespace ulpscope::verify {
namespace {

/// Blocks of which the causes are replayed.
constexpr std::size_t most_blocks = 2;

/// The place along the lines that all wrong outputs have in common.
std::optional<std::size_t> common_lines(const ReplayedOutputs& outputs, const products::MatmulShape& shape,
                                        const DataScales& scales, bool of_b) {
  std::optional<std::size_t> lines;
  for (std::size_t i = 0; i < outputs.count(); ++i) {
    if (!outputs.is_wrong(i)) continue;
    const std::size_t own = scales.block_of(of_b ? i % shape.n : i / shape.n % shape.m, 0).lines;
    if (lines && *lines != own) return std::nullopt;
    lines = own;
  }
  return lines;
}

/// Places of blocks along K, the best fit first: the least rest of the squared difference behind a multiple of their sums.
std::vector<std::size_t> best_fits(const Claim& claim, const MatmulData& data, const ReplayedOutputs& outputs,
                                   const DataScales& scales) {
  constexpr std::size_t sampled = 1024, products = std::size_t{1} << 22;
  const Region region = outputs.sample(sampled, products);
  const std::vector<WrongOutput> wrong = wrong_outputs(region, outputs);
  const RegionOperands operands = fetch_operands(data, claim.kernel, region);
  const std::size_t k = data.shape.k, blocks = scales.block_of(0, k - 1).k + 1;
  std::vector<double> fits(blocks), sums(blocks), squares(blocks);
  for (const WrongOutput& output : wrong) {
    std::fill(sums.begin(), sums.end(), 0);
    for (std::size_t at = 0; at < k; ++at)
      sums[scales.block_of(0, at).k] += operands.a[output.row * k + at] *
                                        operands.b[at * region.columns.size() + output.column] *
                                        factor_of(claim, data, region, output, at);
    for (std::size_t b = 0; b < blocks; ++b) fits[b] += sums[b] * output.lacks, squares[b] += sums[b] * sums[b];
  }
  std::vector<std::size_t> best(blocks);
  for (std::size_t b = 0; b < blocks; ++b) best[b] = b, fits[b] = squares[b] == 0 ? 0 : fits[b] * fits[b] / squares[b];
  std::stable_sort(best.begin(), best.end(), [&](std::size_t x, std::size_t y) { return fits[x] > fits[y]; });
  if (best.size() > most_blocks) best.resize(most_blocks);
  return best;
}

std::string place_words(ScaleBlock block) { return fmt::format("{},{}", block.lines, block.k); }

void add_causes(std::vector<Cause>& causes, const Claim& claim, const products::MatmulScales& scales, bool of_b,
                ScaleBlock block) {
  const std::string name = of_b ? "b" : "a", here = place_words(block),
                    words = fmt::format("the scale of block ({}) of {}", here, of_b ? "B" : "A");
  const auto add = [&](const std::string& word, const std::string& sentence, BlockScale off, TwiceAt at) {
    causes.push_back({fmt::format("scale/{}[{}]={}", name, here, word), words + sentence, {}, [off, at](Kernel& kernel) {
                        kernel.epilogue.block = off;
                        kernel.epilogue.twice_at = at;
                      }});
  };
  for (const auto& [at, suffix, how] : twice_ways(claim))
    add(std::string("twice") + suffix, std::string(" applied twice") + how, {.of_b = of_b, .block = block, .twice = true}, at);
  add("none", " not applied", {.of_b = of_b, .block = block}, TwiceAt::scale);
  const auto neighbour = [&](std::size_t lines, std::size_t k) {
    if (lines >= scales.for_lines || k >= scales.for_k) return;  // -1 too
    const ScaleBlock other{lines, k};
    add("of:" + place_words(other), fmt::format(" taken for that of ({})", place_words(other)),
        {.of_b = of_b, .block = block, .other = other}, TwiceAt::scale);
  };
  neighbour(block.lines, block.k - 1), neighbour(block.lines, block.k + 1);
  neighbour(block.lines - 1, block.k), neighbour(block.lines + 1, block.k);
}

}  // namespace

OffBlocks off_blocks(const Claim& claim, const MatmulData& data, const ReplayedOutputs& outputs) {
  OffBlocks off;
  for (const bool of_b : {false, true}) {
    const DataScales& scales = of_b ? data.scale_b : data.scale_a;
    if (scales.empty() || data.shape.k == 0 || (scales.scales->for_lines == 1 && scales.scales->for_k == 1)) continue;
    const auto lines = common_lines(outputs, data.shape, scales, of_b);
    if (!lines) continue;
    off.tried += scales.scales->for_k;
    for (const std::size_t k : best_fits(claim, data, outputs, scales))
      add_causes(off.causes, claim, *scales.scales, of_b, {*lines, k});
  }
  return off;
}

}  // namespace ulpscope::verify
