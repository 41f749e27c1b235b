// SPDX-License-Identifier: Apache-2.0
// Products of float32 and float64 numbers that are made of products of narrower ones: how operands are split, which products of
// their parts are formed and in which order they are added. docs/split-products.md says where each comes from.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "emu/catalogue.hpp"
#include "emu/engine.hpp"
#include "emu/format.hpp"
#include "emu/rounding.hpp"

namespace ulpscope::emu {

/// What operands are split into.
enum class SplitScheme : std::uint8_t {
  parts,     ///< numbers of a narrower format whose sum is the operand, or nearly so; a matrix engine multiplies them
  slices,    ///< Ozaki scheme I: integers of 7 bits and a sign, aligned by row of A and by column of B
  residues,  ///< Ozaki scheme II: remainders of integers, put together by the Chinese remainder theorem
};

/// Which parts are multiplied; 0 is the greatest part.
struct PartPair {
  std::uint8_t a, b;  ///< of A and of B

  friend constexpr bool operator==(const PartPair&, const PartPair&) = default;
};

/// One way to split a product. A value: a new one is a change of fields.
struct SplitProduct {
  static constexpr int most_parts = 3;  ///< of an operand

  SplitScheme scheme = SplitScheme::parts;  ///< what operands are split into
  std::string name;                         ///< the word of the command line
  int count = 0;                            ///< parts of an operand, slices of it, or moduli

  Format part = bfloat16;  ///< parts: their format
  /// parts: how each is rounded, from what the ones before it leave.
  std::array<Rounding, most_parts> roundings = {Rounding::nearest_even, Rounding::nearest_even, Rounding::nearest_even};
  std::array<PartPair, static_cast<std::size_t>(most_parts)* most_parts> pairs =
      {};              ///< parts: in the order in which their products are added
  int pair_count = 0;  ///< parts: the first of them are used
  /// parts: pairs take turns at every instruction of 8 products; if not, each goes through a whole block of K.
  bool takes_turns = false;
  /// parts: a sum of all pairs but the last that is NaN becomes 0 before the last is added, so that an infinity stays one.
  bool zeroes_nans = false;
  std::string engine;  ///< parts: the name of what multiplies them
  Engine model = {};   ///< parts: the same
  std::size_t block =
      0;  ///< parts: products of K whose sum starts from 0 and joins the total by an addition in float32; 0: all
  /// parts: the sums of blocks meet in a tree: those whose numbers differ only in bit join[0] are added, then those of the rest
  /// that differ only in join[1], and so on. Zeros stand for blocks that K does not have. Empty: each joins the total in turn.
  std::vector<std::uint8_t> join = {};

  friend bool operator==(const SplitProduct&, const SplitProduct&) = default;
};

/// What a scheme is, for tables.
struct SplitEntry {
  std::string_view words;                    ///< as parse_split() takes them, with the least that must be said
  std::string_view computes;                 ///< which products, in which order
  std::string_view source;                   ///< where it is published
  std::string_view operands = "float32";     ///< formats, with bars between them
  std::string_view accumulator = "float32";  ///< in which sums are added
};
/// All of them: 3xtf32, tf32x3, bf16x3, bf16x6, bf16x9, the single products tf32x1, bf16x1 and f32x1, ozaki1 and ozaki2.
std::span<const SplitEntry> split_entries();

/// Whether words begin with the name of one of them.
bool is_split(std::string_view words) noexcept;

/// The greatest number of products that sums of 8 bit integers take in int32: 2^17.
inline constexpr std::size_t most_integer_products = std::size_t{1} << 17;

/// `3xtf32`, `tf32x3`, `bf16x3`, `bf16x6`, `bf16x9`, `tf32x1`, `bf16x1` or `f32x1`, which may be followed by `:` and keys,
/// `ozaki1:slices=8` or `ozaki2:moduli=15`.
/// Keys, with commas between them:
///   engine  of parts: what multiplies them (sm_90; of f32x1: fma); it has the parts' format and sums in float32
///   k       of parts: products of a block of K; zeros fill up the last step of the engine in each
///   join    of parts, with k: bits of the numbers of blocks, with dots between, in the order in which their sums meet (2.0.1
///           of up to 8 blocks): each of 0 to n - 1 once, n up to 10
///   slices  of ozaki1: 2 to 18
///   moduli  of ozaki2: 2 to 20
/// @throws Error in one line
SplitProduct parse_split(std::string_view words);

/// The words of a scheme that parse_split() made.
std::string split_words(const SplitProduct& split);

/// How many blocks of K a join takes: 2 to the number of its bits.
std::size_t blocks_of_join(const SplitProduct& split) noexcept;

/// The moduli of Ozaki scheme II, pairwise coprime; the first `moduli` of them are used.
std::span<const int> ozaki_moduli() noexcept;

/// The products that are added before the pairs take turns: those of an instruction, as a multiple of the engine's step.
std::size_t products_of_turn(const SplitProduct& split) noexcept;

}  // namespace ulpscope::emu
