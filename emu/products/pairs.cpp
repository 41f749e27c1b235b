// SPDX-License-Identifier: Apache-2.0
// Pairwise sums in float64 over blocks of outputs: the sums of a few products are formed in registers, and wait for each other
// upon a stack.
#include "emu/products/pairs.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "emu/products/pairs.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "emu/float_environment.hpp"
#include "emu/simd_targets-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace ulpscope::emu::detail::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using PairsTag = VectorTag<double>;

constexpr std::size_t pair_vectors = is_portable ? 1 : 2;

/// One row by neighbouring vectors of columns.
struct PairSums {
  hn::Vec<PairsTag> of[pair_vectors];

  HWY_INLINE PairSums() {}  // written out: what the compiler adds itself is not compiled for the target
};

/// The sum of `count` products by halves, the first of which may be the longer one.
template <std::size_t count>
HWY_INLINE PairSums halved(const double* a, const double* b) {
  const PairsTag d;
  PairSums sums;
  if constexpr (count == 1) {
    for (std::size_t v = 0; v < pair_vectors; ++v) sums.of[v] = hn::Mul(hn::Set(d, *a), hn::LoadU(d, b + v * hn::Lanes(d)));
  } else {
    constexpr std::size_t rest = count / 2, first = count - rest;
    const PairSums left = halved<first>(a, b), right = halved<rest>(a + first * panel_rows, b + first * panel_columns);
    for (std::size_t v = 0; v < pair_vectors; ++v) sums.of[v] = hn::Add(left.of[v], right.of[v]);
  }
  return sums;
}

HWY_INLINE PairSums leaf_sum(std::size_t products, const double* a, const double* b) {
  static_assert(PairLeaf::most == 8);
  switch (products) {
    case 1: return halved<1>(a, b);
    case 2: return halved<2>(a, b);
    case 3: return halved<3>(a, b);
    case 4: return halved<4>(a, b);
    case 5: return halved<5>(a, b);
    case 6: return halved<6>(a, b);
    case 7: return halved<7>(a, b);
    default: return halved<8>(a, b);
  }
}

void run_pairs(const FusedPanels<double>& panels, std::span<const PairLeaf> leaves, std::size_t height, double* sums) {
  const FloatEnvironment environment(Direction::nearest);
  const PairsTag d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t k = 0;
  for (const PairLeaf& leaf : leaves) {
    for (std::size_t i = 0; i < panels.rows; ++i)
      for (std::size_t j = 0; j < panel_columns; j += pair_vectors * lanes) {
        PairSums sum = leaf_sum(leaf.products, panels.a + k * panel_rows + i, panels.b + k * panel_columns + j);
        double* at = sums + (height * panel_rows + i) * panel_columns + j;
        for (std::size_t merge = 0; merge < leaf.merges; ++merge) {
          at -= panel_rows * panel_columns;
          for (std::size_t v = 0; v < pair_vectors; ++v) sum.of[v] = hn::Add(hn::LoadU(d, at + v * lanes), sum.of[v]);
        }
        for (std::size_t v = 0; v < pair_vectors; ++v) hn::StoreU(sum.of[v], d, at + v * lanes);
      }
    height += 1 - leaf.merges;
    k += leaf.products;
  }
}

}  // namespace
}  // namespace ulpscope::emu::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ulpscope::emu::detail {
namespace {

void add_leaves(std::size_t products, std::vector<PairLeaf>& leaves) {
  if (products <= PairLeaf::most) {
    leaves.push_back({products});
    return;
  }
  add_leaves(products - products / 2, leaves);
  add_leaves(products / 2, leaves);
  ++leaves.back().merges;
}

}  // namespace

std::vector<PairLeaf> pair_leaves(std::size_t depth, std::size_t step) {
  std::vector<PairLeaf> leaves;
  for (std::size_t k = 0; k < depth; k += step) {
    add_leaves(step, leaves);
    ++leaves.back().merges;
  }
  return leaves;
}

std::size_t pair_height(std::span<const PairLeaf> leaves) {
  std::size_t height = 1, most = 1;
  for (const PairLeaf& leaf : leaves) {
    most = std::max(most, height + 1);
    height += 1 - leaf.merges;
  }
  return most;
}

HWY_EXPORT(run_pairs);

void paired_doubles(const FusedPanels<double>& panels, std::span<const PairLeaf> leaves, std::size_t height, double* sums) {
  HWY_DYNAMIC_DISPATCH(run_pairs)(panels, leaves, height, sums);
}

}  // namespace ulpscope::emu::detail
#endif
