// SPDX-License-Identifier: Apache-2.0
// Chooses the instance of the fast kernel that a plan asks for.
#include "gpu/cuda/aligned_kernel.cuh"

namespace ulpscope::gpu::cuda {
namespace {

using Kernel = void (*)(AlignedProduct);

template <AlignedKind kind, int block, bool paired, bool added>
constexpr Kernel multiply = &aligned::multiply<kind.half, kind.wide, kind.chained, kind.summed, block, paired, added>;

template <AlignedKind kind, bool added>
Kernel kernel_of(const AlignedPlan& plan) {
  if constexpr (kind.summed) {
    return multiply<kind, 32, false, added>;
  } else if constexpr (kind.chained) {
    return plan.block == 16 ? multiply<kind, 16, false, added> : multiply<kind, 32, false, added>;
  } else {
    if constexpr (!kind.wide)
      if (plan.paired) return multiply<kind, 16, true, added>;
    switch (plan.block) {
      case 4: return multiply<kind, 4, false, added>;
      case 8: return multiply<kind, 8, false, added>;
      case 16: return multiply<kind, 16, false, added>;
      default: return multiply<kind, 32, false, added>;
    }
  }
}
template <bool added>
Kernel kernel_of(const AlignedPlan& plan) {
  const AlignedKind& kind = plan.rule.kind;
  if (kind.summed) return kernel_of<AlignedKind{.summed = true}, added>(plan);
  if (kind.chained)
    return kind.half ? kernel_of<AlignedKind{.half = true, .chained = true}, added>(plan)
                     : kernel_of<AlignedKind{.chained = true}, added>(plan);
  if (kind.wide) return kernel_of<AlignedKind{.wide = true}, added>(plan);
  return kind.half ? kernel_of<AlignedKind{.half = true}, added>(plan) : kernel_of<AlignedKind{}, added>(plan);
}

}  // namespace

std::size_t blocks_of(const AlignedPlan& plan, const ProductParts& parts) { return parts.steps * (plan.paired ? 2 : 1); }

void start(const AlignedProduct& product) {
  const dim3 grid(static_cast<unsigned>(product.b.padded / tile_outputs),
                  static_cast<unsigned>(product.a.padded / tile_outputs));
  launch("the emulated product", product.parts.added() ? kernel_of<true>(product.plan) : kernel_of<false>(product.plan), grid,
         dim3(tile_threads), 0, product);
}

}  // namespace ulpscope::gpu::cuda
