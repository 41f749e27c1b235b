// SPDX-License-Identifier: Apache-2.0
// Curves step by step, a summary recipe by recipe, roundings and findings place by place.
#include "training/train/train_tables.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>

#include "emu/names.hpp"
#include "reports/columns.hpp"
#include "training/train/recipe_runs.hpp"
#include "training/train/run_findings.hpp"

namespace ulpscope::training {
namespace {

using reports::whole;

bool has_two_losses(const std::vector<RunResult>& runs) {
  return std::any_of(runs.begin(), runs.end(), [](const RunResult& run) {
    return std::any_of(run.parameters.begin(), run.parameters.end(),
                       [](const auto& parameter) { return parameter.name.starts_with("discriminator."); });
  });
}

reports::Table curves_table(const std::vector<RunResult>& runs) {
  reports::Table table{
      "curves", {"recipe", "seed", "step", "loss", "grad_norm", "scale", "skipped", "lost_updates", "below_half_ulp"}, {}};
  const bool two = has_two_losses(runs);
  const bool guess = std::any_of(runs.begin(), runs.end(), [](const RunResult& run) {
    return std::any_of(run.steps.begin(), run.steps.end(), [](const TrainStep& step) { return step.asked > 0; });
  });
  if (guess) table.columns.emplace_back("accuracy");
  const auto share = [](std::uint64_t some, std::uint64_t all) {
    return all == 0 ? 0.0 : static_cast<double>(some) / static_cast<double>(all);
  };
  if (two) table.columns.insert(table.columns.end(), {"discriminator_loss", "discriminator_skipped"});
  for (const RunResult& run : runs)
    for (const TrainStep& step : run.steps) {
      auto& row = table.rows.emplace_back();
      row = {run.recipe,
             whole(run.seed),
             whole(step.step),
             step.loss,
             step.grad_norm,
             step.scale,
             whole(step.skipped ? 1 : 0),
             share(step.lost, step.wanted),
             share(step.small, step.wanted)};
      if (guess) row.emplace_back(share(step.right, step.asked));
      if (two) row.insert(row.end(), {step.other_loss, whole(step.other_skipped ? 1 : 0)});
    }
  return table;
}

reports::Table summary_table(const std::vector<RunResult>& runs) {
  const std::vector<RecipeRuns> recipes = by_recipe(runs);
  const auto base = std::find_if(recipes.begin(), recipes.end(), [](const RecipeRuns& t) { return t.recipe == "float32"; });
  reports::Table table{"summary", {}, {}};
  const bool two = has_two_losses(runs);
  for (const RecipeRuns& t : recipes) {
    const std::vector<double> losses = t.of(final_loss);
    const double gap = base == recipes.end() ? std::nan("") : mean_of(losses) - mean_of(base->of(final_loss));
    const std::vector<double> accuracies = t.accuracies();
    const auto cell = [](double x) { return std::isnan(x) ? reports::Cell(std::string()) : reports::Cell(x); };
    std::vector<reports::NamedCell> cells{
        {"recipe", t.recipe},
        {"runs", whole(t.runs.size())},
        {"diverged",
         whole(static_cast<std::uint64_t>(std::llround(mean_of(t.of(diverged)) * static_cast<double>(t.runs.size()))))},
        {"final_loss", cell(mean_of(losses))},
        {"final_loss_sd", cell(losses.size() < 2 ? std::nan("") : deviation_of(losses))},
        {"gap_to_float32", cell(gap)},
        {"paired_t", cell(base == recipes.end() || &*base == &t ? std::nan("") : student_t(differences(t, *base)))},
        {"accuracy", accuracies.empty() ? reports::Cell(std::string()) : reports::Cell(mean_of(accuracies))},
        {"accuracy_sd", accuracies.size() < 2 ? reports::Cell(std::string()) : reports::Cell(deviation_of(accuracies))},
        {"optimum", t.runs.front()->optimum ? reports::Cell(*t.runs.front()->optimum) : reports::Cell(std::string())},
        {"distance", t.distances().empty() ? reports::Cell(std::string()) : reports::Cell(mean_of(t.distances()))},
        {"skipped_steps", mean_of(t.of(skipped_in))},
        {"discriminator_skipped_steps", two ? reports::Cell(mean_of(t.of(others_skipped_in))) : reports::Cell(std::string())},
        {"lost_updates", mean_of(t.of(lost_share))},
        {"bytes_per_parameter", t.runs.front()->bytes_per_parameter},
        {"bytes_per_activation", t.runs.front()->bytes_per_activation},
        {"activation_bytes", whole(t.runs.front()->activation_bytes)},
        {"all_reduce_bytes", whole(t.runs.front()->all_reduce_bytes)}};
    if (const auto& time = t.runs.front()->step_time)
      cells.insert(cells.end(), {{"product_us", cell(time->covered > 0 ? time->microseconds : std::nan(""))},
                                 {"product_us_covers", time->covered}});
    table.add(cells);
  }
  return table;
}

reports::Table evaluations_table(const std::vector<RunResult>& runs) {
  reports::Table table{"evaluations", {"recipe", "seed", "evaluated_under", "loss", "accuracy"}, {}};
  for (const RunResult& run : runs)
    for (const Evaluation& e : run.evaluations)
      table.rows.push_back({run.recipe, whole(run.seed), e.recipe, e.loss,
                            e.accuracy ? reports::Cell(*e.accuracy) : reports::Cell(std::string())});
  return table;
}

}  // namespace

reports::Table tensors_table(const std::vector<RunResult>& runs) {
  reports::Table table{"tensors",
                       {"recipe", "seed", "step", "layer", "operation", "place", "format", "count", "nan", "infinite", "zero",
                        "exact", "rounded", "subnormal", "to_zero", "overflow", "sqnr_db"},
                       {}};
  for (const RunResult& run : runs)
    for (const WatchedPlace& watched : run.places) {
      const PlaceCounts& c = watched.counts;
      table.rows.push_back({run.recipe, whole(run.seed), whole(watched.step), watched.place.layer, watched.place.operation,
                            watched.place.place, emu::format_name(c.format), whole(c.count), whole(c.nan), whole(c.infinite),
                            whole(c.zero), whole(c.exact), whole(c.rounded()), whole(c.subnormal), whole(c.to_zero),
                            whole(c.overflow), c.sqnr_db()});
    }
  return table;
}

reports::Table findings_table(const std::vector<RunResult>& runs) {
  reports::Table table{"findings", {"recipe", "seed", "step", "layer", "place", "finding", "value", "threshold"}, {}};
  for (const RunResult& run : runs)
    for (const TrainFinding& found : watched_findings(run))
      table.rows.push_back({run.recipe, whole(run.seed), whole(found.step), found.layer, found.place, found.finding,
                            found.value, found.threshold});
  return table;
}

std::vector<reports::Table> train_tables(const std::vector<RunResult>& runs) {
  std::vector<reports::Table> tables{curves_table(runs), summary_table(runs), tensors_table(runs), findings_table(runs)};
  if (reports::Table evaluations = evaluations_table(runs); !evaluations.rows.empty()) tables.push_back(std::move(evaluations));
  return tables;
}

}  // namespace ulpscope::training
