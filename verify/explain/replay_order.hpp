// SPDX-License-Identifier: Apache-2.0
// The order in which the products of an inner product meet: a permutation of K, and how it is cut into chains.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "emu/format.hpp"
#include "emu/product_chains.hpp"

namespace ulpscope::verify {

/// An order of 0 .. K - 1, or of some of them.
struct KOrder {
  /// How 0 .. K - 1 is gone through.
  enum class Kind : std::uint8_t {
    ascending,
    descending,
    strided,            ///< 0, n, 2n, ..., then 1, n + 1, ...; n = 2: the even ones, then the odd ones
    blocks_descending,  ///< blocks of n, the last block first, ascending in a block
    blocks_reversed,    ///< blocks of n in their order, descending in a block
    pairs_in_turn,      ///< in each block of n first those with k mod 4 < 2, then the others
  };
  Kind kind = Kind::ascending;  ///< the order
  std::size_t n = 1;            ///< of the kinds that have blocks
  /// Before the order is changed, within K.
  ///@{
  emu::KRange skipped = {};  ///< products left out
  emu::KRange twice = {};    ///< products taken once more, behind themselves
  ///@}
};
/// The products of a chain of length k, in the order of their addition.
std::vector<std::size_t> indices(const KOrder& order, std::size_t k);

using emu::Reduction;

/// How the loops of a library cut K: into blocks that are summed from zero, one after another, and added to what is there.
struct KBlocks {
  std::size_t length = 0;  ///< of a block; 0: no blocks
  /// What is left, if longer than a block and shorter than two, becomes two: a half that is rounded up to a multiple of this,
  /// and the rest; 0: a block, and the rest (OpenBLAS, driver/level3).
  std::size_t halved_to = 0;
  /// Accumulators of a block, added pairwise: they take turns while 8 products are left, then the first has all.
  std::size_t lanes = 1;

  bool operator==(const KBlocks&) const = default;
};
/// Ends of the blocks of 0 .. k - 1, ascending. Precondition: blocks.length > 0.
std::vector<std::size_t> block_ends(const KBlocks& blocks, std::size_t k);

/// The chains into which an order is cut.
struct Parts {
  std::size_t split = 1;    ///< chains of equal length, each a multiple of the step
  std::size_t lanes = 1;    ///< chains that take turns: chain (i / run) mod lanes has the i-th product
  std::size_t run = 1;      ///< for `lanes`
  std::optional<std::size_t> lost = {};  ///< the chain whose sum is not added
  std::size_t promote = 0;  ///< each chain begins anew after this many products; its pieces are added ascending; 0: never
  Reduction reduction = Reduction::ascending;  ///< how sums of chains are added
  /// In place of the reduction: chains whose numbers differ only in bit join[0] are added, then those of the rest that differ
  /// only in join[1], and so on. There are no more than 2 to the number of bits.
  std::vector<std::uint8_t> join = {};
  std::optional<emu::Format> sum_format = {};  ///< what the sum of a chain is rounded to
  std::optional<emu::Format> added_in = {};    ///< what sums of chains are rounded to after each addition; never pairwise
  /// With `promote`: a piece starts from the sum so far of the block that shares scales, rounded to this; so is that of all of
  /// it, before it is scaled.
  std::optional<emu::Format> carried = {};
  std::optional<emu::Format> kept = {};  ///< with `promote`: what the sum is rounded to whenever a piece has been added
  KBlocks blocks = {};                   ///< a chain each, in place of all above but `reduction`; without scales of blocks
};

/// A chain: pieces, each summed from zero.
using ChainPieces = std::vector<std::vector<std::size_t>>;

/// Chains of `order` for an engine that takes `step` products at a time. Pieces end, in addition, where the index enters
/// another block of `block` (0: no blocks), unless `parts.blocks` cuts them. At least one chain with one piece, which is empty
/// where no product is left.
std::vector<ChainPieces> cut(std::span<const std::size_t> order, const Parts& parts, std::size_t step, std::size_t block);

/// The sum of equally long vectors, element by element, each addition rounded to nearest even in Float. `start` is first.
template <class Float>
std::vector<Float> reduced(std::vector<Float> start, const std::vector<std::vector<Float>>& parts, Reduction reduction);

/// The same, in the tree that Parts::join says.
template <class Float>
std::vector<Float> reduced_in_tree(std::vector<Float> start, std::vector<std::vector<Float>> parts,
                                   std::span<const std::uint8_t> join);

}  // namespace ulpscope::verify
