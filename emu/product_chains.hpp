// SPDX-License-Identifier: Apache-2.0
// How an inner product is put together from chains: where K is cut, in which order the sums of chains are added, and how scales
// that software applies meet a sum. The product itself, `explain`, and the models of libraries' products share these words.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ulpscope::emu {

/// Products begin to end - 1 of an inner product.
struct KRange {
  std::size_t begin = 0, end = 0;  ///< the first, and the one after the last

  friend bool operator==(const KRange&, const KRange&) = default;
};
/// The products of one chain, ascending.
using KPart = std::vector<KRange>;

/// K as `parts` consecutive chains of equal length, a multiple of `step`; the last one may be shorter, and where K is too short
/// there are fewer. None where k is 0. `parts` and `step` are at least 1.
std::vector<KRange> equal_chains(std::size_t k, std::size_t parts, std::size_t step);

/// Chains that take turns: products i * run to (i + 1) * run - 1 go to chain i mod `chains`. Empty chains are left out.
/// `chains` and `run` are at least 1.
std::vector<KPart> chains_in_turns(std::size_t k, std::size_t chains, std::size_t run);

/// A chain cut into pieces, each of which is summed from zero: every `promote` products from its beginning (0: never), and at
/// the multiples of every number of `blocks`, which share scales along K. One piece, the chain, where nothing cuts it.
std::vector<KRange> pieces_of(KRange chain, std::size_t promote, std::span<const std::size_t> blocks);

/// In which order the sums of chains are added. Pairwise: the first half (the larger one) by itself, the rest by itself, and
/// the sum of the two.
enum class Reduction : std::uint8_t { ascending, descending, pairwise };

/// How the scale of a line of A, and that of a line of B, multiply a sum x; every multiplication rounds.
struct ScaleRule {
  /// Which product is formed first.
  enum class First : std::uint8_t {
    both,  ///< x * (a * b)
    a,     ///< (x * a) * b
    b,     ///< (x * b) * a
  };
  First first = First::both;  ///< the order
  bool fused = false;         ///< whether the last product is added to what is there by one fused multiply-add

  /// `onto` and the scaled sum, added.
  template <class Float>
  Float add(Float onto, Float x, Float a, Float b) const noexcept {
    const Float once = first == First::both ? x : first == First::a ? x * a : x * b;
    const Float then = first == First::both ? a * b : first == First::a ? b : a;
    return fused ? std::fma(once, then, onto) : once * then + onto;
  }
};

}  // namespace ulpscope::emu
