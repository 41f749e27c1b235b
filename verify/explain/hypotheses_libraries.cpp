// SPDX-License-Identifier: Apache-2.0
// How the loops of CPU libraries cut K and share it among accumulators: OpenBLAS (driver/level3, param.h) and MKL, as their
// results on matrices of random numbers show it.
#include <algorithm>
#include <array>
#include <initializer_list>
#include <set>
#include <string>
#include <utility>

#include "verify/explain/hypotheses.hpp"

namespace ulpscope::verify {
namespace {

using std::to_string;

/// Lengths of blocks: GEMM_Q of OpenBLAS for single and double on x86-64 and Arm, and 192 of MKL.
constexpr std::array<std::size_t, 15> lengths{320, 448, 384, 512, 256, 192, 128, 640, 768, 240, 224, 352, 336, 400, 416};
/// What a half is rounded up to: by threads nothing but a whole number, by one thread GEMM_UNROLL_M.
constexpr std::array<std::size_t, 5> halves{0, 1, 16, 8, 4};
/// Accumulators of a block where there are several.
constexpr std::array<std::size_t, 2> unrolled_lanes{2, 4};

std::string word_of(const KBlocks& blocks) {
  const std::string half = blocks.halved_to > 1 ? to_string(blocks.halved_to) : "";
  return "blocks=" + to_string(blocks.length) + (blocks.halved_to == 0 ? "" : ":halves" + half);
}
std::string sentence_of(const KBlocks& blocks) {
  const std::string half = blocks.halved_to > 1 ? ", the first a multiple of " + to_string(blocks.halved_to) : "";
  return "blocks of " + to_string(blocks.length) + " of K, each summed from zero" +
         (blocks.halved_to == 0 ? "" : ", the last two halved" + half);
}

/// Blocks everywhere.
Cause blocks_cause(const KBlocks& blocks) {
  return {word_of(blocks), sentence_of(blocks), {}, [blocks](Kernel& kernel) { kernel.parts = {.blocks = blocks}; }};
}

/// Tiles, some of which are summed otherwise.
struct Elsewhere {
  std::string word, sentence;  ///< of what is otherwise
  Parts parts;                 ///< how K is cut there
};

/// K cut as `blocks` says, and otherwise in some tiles of so many rows and columns.
Cause tiles_cause(const KBlocks& blocks, bool is_cut, const Elsewhere& elsewhere, std::size_t rows, std::size_t columns) {
  const std::string tile = to_string(rows) + "x" + to_string(columns);
  return {(is_cut ? word_of(blocks) + "," : "") + elsewhere.word + ":" + tile,
          (is_cut ? sentence_of(blocks) + ", " : "") + "in some tiles of " + tile + " " + elsewhere.sentence,
          {},
          [=, parts = elsewhere.parts](Kernel& kernel) {
            kernel.parts = {.blocks = blocks};
            kernel.some = SomeTiles{.rows = rows, .columns = columns, .parts = parts};
          }};
}

/// Accumulators of each block that take turns, as unrolled loops have them.
Elsewhere unrolled(KBlocks blocks, std::size_t lanes) {
  blocks.lanes = lanes;
  return {"accumulators=" + to_string(lanes),
          "by " + to_string(lanes) + " accumulators that take turns in eights",
          {.blocks = blocks}};
}
/// The lanes of a vector, added up pairwise at the end.
Elsewhere in_lanes(std::size_t lanes) {
  return {"accumulators=" + to_string(lanes) + ",pairwise",
          "by " + to_string(lanes) + " accumulators that take turns, added pairwise",
          {.lanes = lanes, .reduction = Reduction::pairwise}};
}

/// Every way to cut K, once: the first of those that cut it alike.
std::vector<KBlocks> cuts(std::size_t k) {
  std::vector<KBlocks> all;
  std::set<std::vector<std::size_t>> seen{{k}};
  const auto add = [&](const KBlocks& blocks) {
    if (seen.insert(block_ends(blocks, k)).second) all.push_back(blocks);
  };
  for (const std::size_t halved_to : halves)
    for (const std::size_t length : lengths) add({.length = length, .halved_to = halved_to});
  if (k >= 2) add({.length = k / 2});
  return all;
}

}  // namespace

std::vector<Cause> library_causes(const Claim& claim, bool with_accumulators) {
  std::vector<Cause> causes;
  const std::size_t k = claim.shape.k;
  const Chain& chain = claim.kernel.chain;
  const bool one_by_one = chain.engine && !chain.exact && claim.step() == 1;
  if (!one_by_one || claim.config.a.scales || claim.config.b.scales || k < 2) return causes;
  const std::vector<KBlocks> blocks = cuts(k);
  for (const KBlocks& one : blocks) causes.push_back(blocks_cause(one));
  if (!with_accumulators) return causes;
  const auto add_tiles = [&](const KBlocks& one, bool is_cut, const Elsewhere& elsewhere) {
    constexpr std::size_t side = 4;
    causes.push_back(tiles_cause(one, is_cut, elsewhere, 1, side));
    causes.push_back(tiles_cause(one, is_cut, elsewhere, side, 1));
  };
  const KBlocks whole{.length = k};
  for (const std::size_t lanes : unrolled_lanes) add_tiles(whole, false, unrolled(whole, lanes));
  for (const std::size_t lanes : std::initializer_list<std::size_t>{4, 8, 16})
    if (lanes <= k) add_tiles(whole, false, in_lanes(lanes));
  for (const KBlocks& one : blocks)
    for (const std::size_t lanes : unrolled_lanes) add_tiles(one, true, unrolled(one, lanes));
  return causes;
}

}  // namespace ulpscope::verify
