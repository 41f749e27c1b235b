// SPDX-License-Identifier: Apache-2.0
// Enough digits that a loss never reads as 0 and a remainder never as 100.
#include "reports/percent.hpp"

#include <fmt/format.h>

#include <cmath>

#include "emu/math.hpp"

namespace ulpscope::reports {

std::string percent_text(double percent) {
  if (std::isnan(percent)) return "nan";
  if (percent == 0) return "0";
  if (percent == 100) return "100";
  if (percent < 0.0001) return "<0.0001";
  if (percent > 99.9) return percent >= 99.99 ? ">99.99" : fmt::format("{:.2f}", percent);
  const int decimals = percent >= 10 ? 1 : 2 - static_cast<int>(std::floor(emu::log10(percent)));
  std::string text = fmt::format("{:.{}f}", percent, decimals);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

}  // namespace ulpscope::reports
