// SPDX-License-Identifier: Apache-2.0
// How far functions move where their arguments do.
#pragma once

#include <string_view>

namespace ulpscope::verify {

/// An upper bound of |f'| over [x - reach, x + reach], reach >= 0; infinite where a pole or the end of the domain is that near.
using Slope = double (*)(double x, double reach);

/// That of a name of elementwise_words().
Slope slope_of(std::string_view function);

}  // namespace ulpscope::verify
