// SPDX-License-Identifier: Apache-2.0
// Numbers in float64, as results and saved runs keep them.
#pragma once

#include <vector>

namespace ulpscope::training {

/// The same numbers.
///@{
inline std::vector<double> wide(const std::vector<float>& values) { return {values.begin(), values.end()}; }
inline std::vector<double> wide(const std::vector<double>& values) { return values; }
///@}

}  // namespace ulpscope::training
