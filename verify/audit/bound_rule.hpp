// SPDX-License-Identifier: Apache-2.0
// Our own rule: what `ulpscope verify` says against the exact value, as a rule that is audited like all others.
#pragma once

#include "products/product.hpp"
#include "verify/audit/rules.hpp"
#include "verify/matmul.hpp"

namespace ulpscope::verify {

/// What a correct kernel may be off by: as the engine that multiplies, or as sums in the accumulator's format in any order,
/// whichever is more.
Allowance correct_allowance(const products::Product& product);

/// `bound`: no element is beyond correct_allowance(), or what the expectation of another operation allows. The figure is the
/// number of elements that are; the limit 0. Where the bound is worth nothing the rule gives no verdict. Asks for the operands:
/// of tensors alone it knows nothing, and says so.
Rule bound_rule();

}  // namespace ulpscope::verify
