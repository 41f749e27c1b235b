// SPDX-License-Identifier: Apache-2.0
// Two verdicts and the ratio of their errors.
#include "verify/baseline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>

namespace ulpscope::verify {
namespace {

constexpr double error_of_zeros = 1;  // relative Frobenius: their error is the exact result

/// Nothing is known of the baseline that a kernel could be held to.
bool says_nothing(const Verdict& baseline) { return baseline.nonfinite != 0 || std::isnan(baseline.rel_frobenius_error); }

}  // namespace

double BaselineVerdict::ratio() const {
  const double of_kernel = kernel.rel_frobenius_error, of_baseline = baseline.rel_frobenius_error;
  return of_kernel == 0 && of_baseline == 0 ? 1 : of_kernel / of_baseline;
}

Outcome BaselineVerdict::outcome() const {
  if (kernel.nonfinite != 0) return Outcome::fail;
  if (kernel.count == 0 || baseline.nonfinite != 0) return Outcome::vacuous;
  if (overflows_more()) return Outcome::fail;
  if (says_nothing(baseline)) return Outcome::vacuous;
  if (!(ratio() <= at_most)) return Outcome::fail;
  return baseline.rel_frobenius_error * at_most >= error_of_zeros ? Outcome::vacuous : Outcome::pass;
}

std::string BaselineVerdict::sentence() const {
  const std::string figures =
      fmt::format("relative Frobenius error {:.4g}, the baseline's {:.4g}: {:.4g} times that, at most {:.4g} allowed",
                  kernel.rel_frobenius_error, baseline.rel_frobenius_error, ratio(), at_most);
  switch (outcome()) {
    case Outcome::pass: return "pass: " + figures;
    case Outcome::fail:
      if (kernel.nonfinite != 0)
        return fmt::format("FAIL: {} elements are infinite or NaN where the exact result is finite, or finite where it is not",
                           kernel.nonfinite);
      if (overflows_more())
        return fmt::format("FAIL: {} elements are infinite or NaN where the exact result is finite, of the baseline {}",
                           kernel.nonfinite_admitted, baseline.nonfinite_admitted);
      return "FAIL: " + figures;
    case Outcome::vacuous: break;
  }
  if (kernel.count == 0) return "VACUOUS: there are no elements";
  if (baseline.nonfinite != 0)
    return fmt::format(
        "VACUOUS: the baseline itself is wrong: {} of its elements are infinite or NaN where the exact result is "
        "finite, or finite where it is not",
        baseline.nonfinite);
  if (says_nothing(baseline))
    return std::string("VACUOUS: no element of the ") + (baseline.nonfinite_admitted == 0 ? "exact result" : "baseline") +
           " is finite";
  return fmt::format("VACUOUS: an output of zeros would pass: {}", figures);
}

BaselineVerdict verify_against_baseline(const Expectation& expectation, const tensors::Tensor& output,
                                        const tensors::Tensor& baseline, const VerdictOptions& options, double at_most) {
  return {verify(expectation, output, options), verify(expectation, baseline, options), at_most};
}

reports::Table baseline_table(const BaselineVerdict& verdict) {
  reports::Table table = verdict_table(verdict.kernel);
  table.rows.push_back(verdict_table(verdict.baseline).rows.front());
  const auto own = std::find(table.columns.begin(), table.columns.end(), "verdict") - table.columns.begin();
  table.rows[0][static_cast<std::size_t>(own)] = std::string(name_of(verdict.outcome()));  // not that by the bound
  table.rows[1][static_cast<std::size_t>(own)] = "";                                       // of which nothing is asked
  table.columns.insert(table.columns.begin(), "role");
  table.rows[0].insert(table.rows[0].begin(), "kernel");
  table.rows[1].insert(table.rows[1].begin(), "baseline");
  // Before what was added later: the order of columns stays.
  const auto at = static_cast<std::ptrdiff_t>(table.column("nonfinite_admitted"));
  table.columns.insert(table.columns.begin() + at, "frobenius_of_baseline");
  table.rows[0].insert(table.rows[0].begin() + at, verdict.ratio());
  table.rows[1].insert(table.rows[1].begin() + at, 1.0);
  return table;
}

}  // namespace ulpscope::verify
