// SPDX-License-Identifier: Apache-2.0
// What rules that are in use elsewhere say of an output, and what each would have let through.
#pragma once

#include <string>
#include <vector>

#include "products/product.hpp"
#include "reports/table.hpp"
#include "verify/expected.hpp"

namespace ulpscope::cli {

/// One row a rule: its verdict of `output` against the exact result rounded once, and which wrong outputs that every check must
/// reject it accepts, on the first lines of this very product (on all of it where there are scales or batches).
/// @throws ulpscope::Error for a word that is no rule
reports::Table rules_table(const std::vector<std::string>& rules, const products::Product& product,
                           const verify::Expectation& expectation, const tensors::Tensor& output);

}  // namespace ulpscope::cli
