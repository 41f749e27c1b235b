// SPDX-License-Identifier: Apache-2.0
// The page of a training report: curves, the ranking of recipes, and the formats of all places.
#pragma once

#include <string>
#include <vector>

#include "reports/page.hpp"
#include "reports/table.hpp"
#include "training/train/run.hpp"

namespace ulpscope::training {

/// The formats of every place of the model under each recipe: what `--dry-run` shows.
reports::Table places_table(const TrainStudy& study);

/// Sentences on rules of the user's own recipes that are for no operation and layer of the model: a word in them is misspelt,
/// or meant for another model; on keys that speak of products where it has none; and on moments that
/// blocks do not fit.
std::vector<std::string> idle_rules(const TrainStudy& study);

/// From train_tables(), or tables with more columns in front: losses, norms and scales over the steps.
std::vector<reports::Figure> train_figures(const std::vector<reports::Table>& tables);

/// Findings, figures, and the ranking of recipes.
reports::Page train_page(const std::vector<RunResult>& runs, const TrainStudy& study);

}  // namespace ulpscope::training
