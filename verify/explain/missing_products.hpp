// SPDX-License-Identifier: Apache-2.0
// Which products of K an output lacks, or has twice, read off D: what D lacks of the claim is, but for roundings, a sum of
// neighbouring products, whichever they are.
#pragma once

#include <cstdint>
#include <vector>

#include "emu/product_chains.hpp"
#include "verify/explain/explain_sample.hpp"
#include "verify/explain/hypotheses.hpp"
#include "verify/explain/replay_data.hpp"

namespace ulpscope::verify {

/// An output that is finite and not the claim's.
struct WrongOutput {
  std::size_t row = 0, column = 0;  ///< of the region
  double lacks = 0;                 ///< what the claim has and D has not
};
/// Up to 64 of a region, those that are furthest from the claim first.
std::vector<WrongOutput> wrong_outputs(const Region& region, const ReplayedOutputs& outputs);
/// What software multiplies the product at k of an output by: alpha and all scales.
double factor_of(const Claim& claim, const MatmulData& data, const Region& region, const WrongOutput& output, std::size_t k);

/// Neighbouring products.
struct ProductsOff {
  emu::KRange range;   ///< of K
  bool twice = false;  ///< taken twice; else left out
  double share = 0;    ///< of the squared difference between D and the claim that this accounts for
};

/// What fits best, the best first.
struct MissingProducts {
  std::vector<ProductsOff> found;  ///< at most six
  std::uint64_t tried = 0;         ///< ranges that were compared: as many chances to fit by accident
};

/// Those of a claim's D on a sample of outputs. Of a K beyond 8192 ranges begin and end at multiples of K / 8192, rounded up.
/// Empty where no range accounts for half of the squared difference, or fewer than 8 outputs are finite and not the claim's.
MissingProducts missing_products(const Claim& claim, const MatmulData& data, const ReplayedOutputs& outputs);

}  // namespace ulpscope::verify
