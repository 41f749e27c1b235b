// SPDX-License-Identifier: Apache-2.0
// Percentages for people: what is not zero never reads as 0, what is not all never reads as 100.
#pragma once

#include <string>

namespace ulpscope::reports {

/// `0`, `<0.0001`, three significant digits, `>99.9`, `100`; without the sign.
std::string percent_text(double percent);

}  // namespace ulpscope::reports
