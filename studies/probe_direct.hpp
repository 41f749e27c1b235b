// SPDX-License-Identifier: Apache-2.0
// The probes that need no model of the engine: one or two inner products each, and what the answers say by themselves.
#pragma once

#include <cstddef>
#include <vector>

#include "studies/probe.hpp"
#include "studies/probe_bench.hpp"

namespace ulpscope::studies {

/// The code of every NaN result, as far as a NaN for c shows it.
emu::Code nan_result(const ProbeBench& bench);

/// Exact products, their normalisation, carries, monotonicity, zeros, infinities and NaNs. `step`: products of a step.
std::vector<Finding> direct_findings(const ProbeBench& bench, std::size_t step);

}  // namespace ulpscope::studies
