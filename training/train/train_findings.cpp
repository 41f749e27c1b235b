// SPDX-License-Identifier: Apache-2.0
// A recipe's loss, its accuracy, and the most telling findings of one run.
#include "training/train/train_findings.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <set>

#include "studies/census/sweep.hpp"
#include "training/train/recipe_runs.hpp"
#include "training/train/run_findings.hpp"

namespace ulpscope::training {
namespace {

using studies::digits;

/// `layer 2, linear grad_output: gradient_underflow (0.31 at step 0)`.
std::string mechanism(const TrainFinding& found) {
  const std::string where =
      (found.layer.empty() ? "" : "layer " + found.layer + (found.place.empty() ? "" : ", ")) + found.place;
  return found.finding + (where.empty() ? "" : " in " + where) + " (" + digits(found.value, 3) + " at step " +
         std::to_string(found.step) + ")";
}

/// Of the findings of a run one of each kind, the most telling first.
std::vector<TrainFinding> one_of_each(const RunResult& run) {
  const std::vector<std::string> order{
      "non_finite",  "scaler_raised", "reload_lost",        "stagnation",         "exploding",
      "spike",       "vanishing",     "scaler_on_floor",    "scaler_on_cap",      "exploding_tensor",
      "moved_wider", "overflow",      "gradient_underflow", "average_stagnation", "statistics_stagnation"};
  std::vector<TrainFinding> findings;
  std::set<std::string> seen;
  for (const std::string& name : order)
    for (const TrainFinding& found : watched_findings(run))
      if (found.finding == name && seen.insert(name).second) findings.push_back(found);
  return findings;
}

}  // namespace

std::vector<reports::Finding> train_findings(const std::vector<RunResult>& runs, const std::string& expect) {
  std::vector<reports::Finding> findings;
  for (const RecipeRuns& t : by_recipe(runs)) {
    const double failed = mean_of(t.of(diverged));
    const std::vector<double> losses = t.of(final_loss);
    std::string text = t.recipe + ": ";
    if (failed > 0)
      text += std::to_string(std::lround(failed * static_cast<double>(t.runs.size()))) + " of " +
              std::to_string(t.runs.size()) + " runs diverged";
    else
      text += "loss " + digits(mean_of(losses), 4) + (losses.size() > 1 ? " +- " + digits(deviation_of(losses), 2) : "");
    if (t.runs.front()->optimum && failed == 0) text += " (optimum " + digits(*t.runs.front()->optimum, 4) + ")";
    const auto of_some = [&](const std::vector<double>& values) {  // those that diverged have none
      return values.size() == t.runs.size() ? std::string()
                                            : " (of " + std::to_string(values.size()) +
                                                  (values.size() == 1 ? " run" : " runs") + ", not of the others' seeds)";
    };
    if (const std::vector<double> accuracies = t.accuracies(); !accuracies.empty())
      text += ", accuracy " + digits(100 * mean_of(accuracies), 4) + " %" + of_some(accuracies);
    if (const std::vector<double> distances = t.distances(); !distances.empty())
      text += ", Frechet distance " + digits(mean_of(distances), 3) + of_some(distances);
    const std::string a_run = t.runs.size() > 1 ? " a run" : "";
    if (const double skipped = mean_of(t.of(skipped_in)); skipped > 0)
      text += ", " + digits(skipped, 3) + (skipped == 1 ? " step" : " steps") + " skipped" + a_run;
    if (const double skipped = mean_of(t.of(others_skipped_in)); skipped > 0)
      text += ", " + digits(skipped, 3) + (skipped == 1 ? " step" : " steps") + " of the discriminator skipped" + a_run;
    ProductCounts products;
    for (const RunResult* const one : t.runs)
      for (const auto& [what, count] : one->products) products[what] += count;
    if (!products.empty()) text += "; " + words_of(products);
    // Of the first run, or where some diverged of the first that did.
    const auto telling = std::ranges::find_if(t.runs, [](const RunResult* run) { return run->diverged; });
    const std::vector<TrainFinding> of_first = one_of_each(telling == t.runs.end() ? *t.runs.front() : **telling);
    for (std::size_t i = 0; i < std::min<std::size_t>(3, of_first.size()); ++i) text += "; " + mechanism(of_first[i]);
    const bool expected = expect == "diverges";
    findings.push_back({.what = "final_loss",
                        .where = t.recipe,
                        .value = mean_of(losses),
                        .threshold = failed > 0 ? reports::Cell("finite") : reports::Cell(""),
                        .source = failed > 0 ? "a loss or weight that is infinite or NaN trains no further" : "",
                        .severity = failed > 0 && !expected ? reports::Severity::bad
                                    : of_first.empty()      ? reports::Severity::good
                                                            : reports::Severity::warning,
                        .sentence = text + "."});
  }
  return findings;
}

}  // namespace ulpscope::training
