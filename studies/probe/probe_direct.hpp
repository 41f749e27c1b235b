// SPDX-License-Identifier: Apache-2.0
// The probes that need no model of the engine: one or two inner products each, and what the answers say by themselves.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "studies/probe/probe.hpp"
#include "studies/probe/probe_bench.hpp"

namespace ulpscope::studies {

/// The code of every NaN result, as far as a NaN for c shows it.
emu::Code nan_result(const ProbeBench& bench);

/// Whether a product with an operand of zero takes part in the alignment with the exponent of the other operand, where the
/// published models differ: bfloat16, tf32 and float16 into float32. `no exponent` as in Khattak and Mikaitis; `the other
/// operand's exponent` as in MMA-Sim (arXiv 2511.10909v2); `not observable` where the unit would keep the bit that tells beside
/// a real product as well. Nothing for other formats.
std::optional<Finding> zero_operand_finding(const ProbeBench& bench);

/// Exact products, their normalisation, carries, monotonicity, zeros, infinities and NaNs. `step`: products of a step.
std::vector<Finding> direct_findings(const ProbeBench& bench, std::size_t step);

}  // namespace ulpscope::studies
