// SPDX-License-Identifier: Apache-2.0
// Where ticks are: powers of ten, or 1, 2 and 5 times these where the data cover few of them.
#include "reports/axis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "emu/error.hpp"
#include "emu/math.hpp"

namespace ulpscope::reports {
namespace {

/// 10^exponent, correctly rounded for exponents of at most 22.
double power_of_ten(int exponent) {
  double power = 1;
  for (int i = 0; i < std::abs(exponent); ++i) power *= 10;
  return exponent < 0 ? 1 / power : power;
}

/// Of a decade beyond those that double holds, too.
std::string decade_text(int decade) {
  constexpr int far = 300;
  return std::abs(decade) > far ? fmt::format("1e{}", decade) : tick_text(power_of_ten(decade));
}

[[noreturn]] void refuse_range(double low, double high) {
  throw Error(fmt::format("no axis can show numbers from {:g} to {:g}", low, high));
}

}  // namespace

std::string tick_text(double value) {
  if (value == 0) return "0";
  const double magnitude = std::fabs(value);
  if (magnitude >= 1e-3 && magnitude < 1e5) return fmt::format("{:g}", value);
  std::string text = fmt::format("{:.0e}", value);
  for (const char* const zero : {"e-0", "e+0", "e+"})  // 1e-07, 1e+07, 1e+10
    if (const auto place = text.find(zero); place != std::string::npos)
      text.replace(place, std::string(zero).size(), zero[1] == '-' ? "e-" : "e");
  return text;
}

Axis log10_axis(double least, double most, int most_ticks) {
  if (!(least > 0 && least <= most && std::isfinite(most))) refuse_range(least, most);
  constexpr int far = 300;  // decades whose neighbours are numbers, too
  const int first = static_cast<int>(std::floor(emu::log10(least))), up = static_cast<int>(std::ceil(emu::log10(most)));
  const int last = first < -far || up > far ? std::max(up, first + 1) : up;
  Axis axis;
  if (last - first <= 2 && first >= -far && last <= far) {
    constexpr std::array steps{1, 2, 5};
    std::vector<double> values;
    for (int decade = first; decade <= last + 1; ++decade)
      for (const int step : steps) values.push_back(step * power_of_ten(decade));
    std::size_t low = 0, high = values.size() - 1;
    while (low + 1 < values.size() && values[low + 1] <= least) ++low;
    while (high > low + 1 && values[high - 1] >= most) --high;
    for (std::size_t i = low; i <= high; ++i) axis.ticks.push_back({emu::log10(values[i]), tick_text(values[i])});
  } else {
    const int step = 1 + (last - first - 1) / most_ticks;
    int low = first;
    while ((last - low) % step != 0) --low;
    for (int decade = low; decade <= last; decade += step)
      axis.ticks.push_back({static_cast<double>(decade), decade_text(decade)});
  }
  axis.low = axis.ticks.front().at, axis.high = axis.ticks.back().at;
  return axis;
}

Axis linear_axis(double low, double high, int most_ticks) {
  constexpr double least = 1e-300;  // of a difference: its ticks' decade is one whose power of ten is a number
  if (!(high - low >= least && std::isfinite(high - low))) refuse_range(low, high);
  Axis axis{.low = low, .high = high};
  const int decade = static_cast<int>(std::floor(emu::log10((high - low) / most_ticks)));
  for (const int digit : {1, 2, 5, 10}) {
    const auto step_at = [&](double n) {
      return decade < 0 ? n * digit / power_of_ten(-decade) : n * digit * power_of_ten(decade);
    };
    if (digit != 10 && (high - low) / step_at(1) > most_ticks) continue;
    // A tick that is near covers the data, too.
    const double below = std::floor(low / step_at(1)), above = std::ceil(high / step_at(1));
    if (low - step_at(below) < step_at(0.5)) axis.low = step_at(below);
    if (step_at(above) - high < step_at(0.5)) axis.high = step_at(above);
    const double last = std::min(above - below, most_ticks + 1.0);  // fewer, but where all are too near to count
    for (int i = 0; i <= last; ++i) {
      const double tick = step_at(below + i);
      if (tick >= axis.low && tick <= axis.high) axis.ticks.push_back({tick, tick_text(tick)});
    }
    break;
  }
  return axis;
}

Axis whole_axis(double low, double high, int most_ticks) {
  constexpr double most = 1 << 30;  // what is a step beyond is an int, too
  if (!(low >= -most && high <= most)) refuse_range(low, high);
  Axis axis{.low = low, .high = high};
  int step = 1;
  while ((high - low) / step > most_ticks) step *= 2;
  for (int k = static_cast<int>(std::ceil(low / step)) * step; k <= high; k += step)
    axis.ticks.push_back({static_cast<double>(k), std::to_string(k)});
  return axis;
}

}  // namespace ulpscope::reports
