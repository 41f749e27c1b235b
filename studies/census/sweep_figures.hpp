// SPDX-License-Identifier: Apache-2.0
// A sweep's table as figures.
#pragma once

#include <vector>

#include "reports/page.hpp"

namespace ulpscope::studies {

/// From sweep.csv, or a table with more columns in front: losses over scales, for each tensor and rounding; of the first eight.
std::vector<reports::Figure> sweep_figures(const reports::Table& table);

}  // namespace ulpscope::studies
