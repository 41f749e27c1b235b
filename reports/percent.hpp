// SPDX-License-Identifier: Apache-2.0
// Percentages for people: only zero reads as 0, only the whole reads as 100.
#pragma once

#include <string>

namespace ulpscope::reports {

/// `0`, `<0.0001`, three significant digits, `>99.9`, `100`; without the sign.
std::string percent_text(double percent);

}  // namespace ulpscope::reports
