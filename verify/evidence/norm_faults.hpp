// SPDX-License-Identifier: Apache-2.0
// What a bound can see of an epsilon that is wrong in a norm: outputs that are exact but for it, in float32 and in bfloat16.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "emu/format.hpp"
#include "reports/table.hpp"

namespace ulpscope::verify {

/// One fault in one norm.
struct NormFaultRow {
  std::string norm;  ///< `rms_norm` or `layer_norm`
  /// `eps_missing`, `eps_outside` (of the root), `eps_1e-6` (for 1e-5), `eps_per_sum` (added before the division by n)
  std::string fault;
  emu::Format out;             ///< of the output
  std::uint64_t depth = 0;     ///< `--sum-depth` of the bound; 0: any order
  std::uint64_t elements = 0;  ///< of the output
  std::uint64_t changed = 0;   ///< whose codes are not those of the right norm
  std::uint64_t beyond = 0;    ///< that the bound excludes
  double max_of_bound = 0;     ///< the greatest share of its bound that an element reaches
};

/// 64 rows of 1024 numbers of N(0, 1) in bfloat16, eps 1e-5; bounds of sums in float32 in any order and under `--sum-depth 64`,
/// of layer norm in two passes. Rows by norm, fault, output and bound.
std::vector<NormFaultRow> norm_faults(std::uint64_t seed, int threads);

/// norm_faults.csv.
reports::Table norm_faults_table(const std::vector<NormFaultRow>& rows);

}  // namespace ulpscope::verify
