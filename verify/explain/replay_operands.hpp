// SPDX-License-Identifier: Apache-2.0
// Operands of some outputs as a kernel sees them: fetched by its layout, rounded as it rounds.
#pragma once

#include <vector>

#include "verify/explain/replay.hpp"

namespace ulpscope::verify {

/// Operands of a region: A as rows by K, B as K by columns, both row-major.
struct RegionOperands {
  std::vector<double> a, b;  ///< after all that their paths do to them
};
/// Those that `kernel` multiplies for `region`.
RegionOperands fetch_operands(const MatmulData& data, const Kernel& kernel, const Region& region);

/// C at the outputs of a region, rounded; empty where there is none.
std::vector<double> fetch_c(const MatmulData& data, const Kernel& kernel, const Region& region);

}  // namespace ulpscope::verify
