// SPDX-License-Identifier: Apache-2.0
// Matrices of a batch that are read in the place of others: a stride that is forgotten, a head that is counted otherwise.
#pragma once

#include <vector>

#include "verify/explain/explain_sample.hpp"
#include "verify/explain/hypotheses.hpp"
#include "verify/explain/replay_data.hpp"

namespace ulpscope::verify {

/// Of A, of B and of both, with their scales, without them, and of scales alone: what is much nearer to D, in real numbers and
/// whatever the order of the sums, than what the claim reads. Of a batch whose wrong matrices times those of an operand are
/// more than 65,536, only neighbours, the first, and what a division or a remainder of the place in the batch gives are tried.
std::vector<Cause> other_matrix_causes(const Claim& claim, const MatmulData& data, const ReplayedOutputs& outputs);

}  // namespace ulpscope::verify
