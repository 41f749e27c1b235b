// SPDX-License-Identifier: Apache-2.0
// The log-sum-exp that attention kernels return beside their output, for backward passes and to put parts of the keys together.
#pragma once

#include <memory>

#include "verify/operations/attention_scores.hpp"

namespace ulpscope::verify {

/// ln of the sum of e^s over the keys of each row, and of e^sink.
std::unique_ptr<Expectation> expect_lse(std::shared_ptr<const AttentionRows> rows, const LastRounding& last);

}  // namespace ulpscope::verify
