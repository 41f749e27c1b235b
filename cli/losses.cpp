// SPDX-License-Identifier: Apache-2.0
// Thresholds that make a loss bad or a warning, and the order of the columns that rank rows.
#include "cli/losses.hpp"

namespace ulpscope::cli {

using emu::Outcome;
using reports::Verdict;

double percent_of(const studies::ErrorSums& sums, Outcome outcome) {
  return 100 * static_cast<double>(sums.of(outcome)) / static_cast<double>(sums.count());
}

Verdict::Severity severity(const studies::ErrorSums& sums) {
  constexpr double bad_percent = 1;
  if (sums.of(Outcome::overflow) != 0 || percent_of(sums, Outcome::to_zero) > bad_percent) return Verdict::Severity::bad;
  const bool notable = percent_of(sums, Outcome::subnormal) > notable_subnormals_percent;
  return sums.of(Outcome::to_zero) != 0 || notable ? Verdict::Severity::warning : Verdict::Severity::good;
}

std::vector<reports::Order> worst_first() {
  using Direction = reports::Order::Direction;
  return {{"overflow%", Direction::descending},
          {"to_zero%", Direction::descending},
          {"subnormal%", Direction::descending},
          {"sqnr_db", Direction::ascending}};
}

}  // namespace ulpscope::cli
