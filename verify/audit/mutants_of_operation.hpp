// SPDX-License-Identifier: Apache-2.0
// Wrong outputs of operations beside the product: those of the correct output alone, and the exact outputs of requests that say
// something else. The list with its reasons: docs/audit.md.
#pragma once

#include <vector>

#include "verify/audit/mutants.hpp"
#include "verify/audit/operation_source.hpp"

namespace ulpscope::verify {

/// A way for an operation to be wrong.
using OperationMutant = MutantOf<OperationSource>;

/// All kinds that there are of this check, those that every check must reject first.
std::vector<OperationMutant> mutants_of(const OperationSource& source);

}  // namespace ulpscope::verify
