// SPDX-License-Identifier: Apache-2.0
// What a grouped product should have been: each group as the plain product that it is.
#pragma once

#include <functional>
#include <memory>

#include "verify/expected.hpp"
#include "verify/grouped/grouped_inputs.hpp"
#include "verify/grouped/row_groups.hpp"

namespace ulpscope::verify {

/// What is expected of the product of some rows, of which there are `count`.
using GroupExpectation = std::function<std::unique_ptr<Expectation>(const products::Product&, std::uint64_t count)>;

/// Rows in no group are expected to be 0. Wrong elements are judged again by the matrices of other groups.
/// @throws ulpscope::Error as products::resolve() and `expect`
std::unique_ptr<Expectation> expect_grouped_matmul(GroupedInputs inputs, RowGroups groups, const GroupExpectation& expect);

}  // namespace ulpscope::verify
