// SPDX-License-Identifier: Apache-2.0
// One tensor as figures: where its elements are, and what a loss scale would change.
#pragma once

#include <string>

#include "studies/census/census_page.hpp"

namespace ulpscope::studies {

/// Its dtype, shape, count and range.
std::string facts_of(const TensorResults& results);

/// How many elements have each binary exponent. `name`: of the figure's file; empty: it has none.
reports::Figure histogram_of(const TensorResults& results, const std::string& name);
/// What each loss scale loses. `name`: of the figure's file; empty: it has none.
reports::Figure window_of(const TensorResults& results, const std::string& name);

}  // namespace ulpscope::studies
