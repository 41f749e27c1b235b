// SPDX-License-Identifier: Apache-2.0
// One block whose scale is not applied as it should be, read off D: which lines are wrong says which rows or columns it has,
// and the difference from the claim, which is a multiple of the block's sum, its place along K.
#pragma once

#include <cstdint>
#include <vector>

#include "verify/explain/explain_sample.hpp"
#include "verify/explain/hypotheses.hpp"
#include "verify/explain/replay_data.hpp"

namespace ulpscope::verify {

/// What may have become of the scales of the blocks that fit best.
struct OffBlocks {
  std::vector<Cause> causes;  ///< applied twice, left out, or a neighbour's, of A and of B
  std::uint64_t tried = 0;    ///< blocks that were compared: as many chances to fit by accident
};

/// Those of a claim's D. Empty without scales, and where what is wrong is not in one block's rows or columns.
OffBlocks off_blocks(const Claim& claim, const MatmulData& data, const ReplayedOutputs& outputs);

}  // namespace ulpscope::verify
