// SPDX-License-Identifier: Apache-2.0
// Curves of training runs, the formats of their places, and the page.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>

#include "emu/names.hpp"
#include "reports/columns.hpp"
#include "training/train/recipe_precision.hpp"
#include "training/train/train_request.hpp"

namespace ulpscope::training {
namespace {

/// Rows of curves.csv: a curve for each recipe and seed, in the recipe's colour, of which the legend has one.
struct Curves {
  explicit Curves(const reports::Table& table) {
    const reports::Columns columns(table);
    for (const auto& row : table.rows) {
      const std::string recipe = columns.text(row, "recipe");
      const auto seed = static_cast<std::uint64_t>(columns.number(row, "seed"));
      const std::size_t place = reports::place_of(names, recipe + " seed " + std::to_string(seed));
      if (place == rows.size()) {
        const std::size_t known = recipes.size(), colour = reports::place_of(recipes, recipe);
        rows.emplace_back();
        seeds.push_back(seed);
        lines.push_back({.name = recipe, .colour = colour, .listed = recipes.size() > known});
      }
      rows[place].push_back(&row);
    }
  }

  std::vector<std::string> recipes, names;                           ///< names: of curves
  std::vector<std::uint64_t> seeds;                                  ///< by curve
  std::vector<reports::Steps::Line> lines;                           ///< without points
  std::vector<std::vector<const std::vector<reports::Cell>*>> rows;  ///< by curve
};

reports::Figure figure_of(const char* name, const char* title, const char* y_label, reports::Steps steps) {
  steps.x_label = "step", steps.y_label = y_label;
  return {.name = name,
          .title = title,
          .caption = "",
          .description = std::string(title) + " over the steps, by recipe.",
          .data = steps};
}

reports::Steps drawn(const Curves& curves, const reports::Columns& columns, const char* column, reports::Steps::Axis axis) {
  reports::Steps steps{.axis = axis, .lines = curves.lines};
  for (std::size_t i = 0; i < steps.lines.size(); ++i) {
    steps.lines[i].stairs = axis == reports::Steps::Axis::log2;
    for (const auto* const row : curves.rows[i]) {
      steps.lines[i].x.push_back(columns.number(*row, "step"));
      steps.lines[i].y.push_back(columns.number(*row, column));
    }
  }
  return steps;
}

/// How far each loss is from that of float32 with the same seed, at every step.
reports::Steps gaps(const Curves& curves, const reports::Columns& columns) {
  const reports::Steps losses = drawn(curves, columns, "loss", reports::Steps::Axis::log10);
  reports::Steps steps{.axis = reports::Steps::Axis::log10};
  for (std::size_t i = 0; i < losses.lines.size(); ++i) {
    const std::string base = "float32 seed " + std::to_string(curves.seeds[i]);
    const auto found = std::find(curves.names.begin(), curves.names.end(), base);
    if (found == curves.names.end() || curves.names[i] == base) continue;
    const reports::Steps::Line& other = losses.lines[static_cast<std::size_t>(found - curves.names.begin())];
    reports::Steps::Line line = losses.lines[i];
    for (std::size_t k = 0; k < line.y.size(); ++k)
      line.y[k] = k < other.y.size() ? std::fabs(line.y[k] - other.y[k]) : std::nan("");
    steps.lines.push_back(std::move(line));
  }
  return steps;
}

}  // namespace

std::vector<reports::Figure> train_figures(const std::vector<reports::Table>& tables) {
  using Axis = reports::Steps::Axis;
  const reports::Table& table = tables.front();
  const reports::Columns columns(table);
  const Curves curves(table);
  std::vector<reports::Figure> figures{figure_of("loss", "Loss", "loss", drawn(curves, columns, "loss", Axis::log10))};
  if (reports::Steps steps = gaps(curves, columns); !steps.lines.empty())
    figures.push_back(figure_of("gap", "Distance of the loss from that of float32 with the same seed",
                                "|loss - loss of float32|", std::move(steps)));
  figures.push_back(
      figure_of("grad_norm", "Norm of all gradients", "grad_norm", drawn(curves, columns, "grad_norm", Axis::log10)));
  const std::size_t scale = table.column("scale");
  if (std::any_of(table.rows.begin(), table.rows.end(), [&](const auto& row) { return row[scale] != reports::Cell(1.0); }))
    figures.push_back(figure_of("scale", "Loss scale", "scale", drawn(curves, columns, "scale", Axis::log2)));
  return figures;
}

reports::Table places_table(const TrainStudy& study) {
  reports::Table table{"places", {"recipe", "layer", "operation", "place", "format", "scaling", "engine"}, {}};
  for (const std::string& word : study.run.recipes) {
    const recipes::Recipe recipe = recipes::open_recipe(word);
    DelayedScales delayed;
    const Precision precision = precision_of(recipe, delayed);
    const auto operation = [&](const std::string& layer, const std::string& name) {
      const OperationPrecision p = precision.operation(name, layer);
      const auto format = [](const std::optional<Storage>& s) { return s ? emu::format_name(s->format) : std::string("keep"); };
      table.rows.push_back({word, layer, name, "input", format(p.input), "", ""});
      table.rows.push_back({word, layer, name, "output", format(p.output), "", ""});
    };
    for (std::size_t i = 0; i < study.model.layers.size(); ++i) {
      const Layer& layer = study.model.layers[i];
      const std::string name = std::to_string(i);
      if (layer.kind != "linear" && layer.kind != "conv") {
        if (layer.kind != "flatten" && layer.kind != "reshape" && layer.kind != "max_pool") operation(name, layer.kind);
        continue;
      }
      const ProductPrecision p = precision.product(layer.kind, name);
      const auto operand = [&](const char* place, const OperandPrecision& o) {
        table.rows.push_back({word, name, layer.kind, place, emu::format_name(o.storage.format), o.scaling.word, p.engine});
      };
      operand("input", p.input), operand("weight", p.weight), operand("grad_output", p.grad_output);
      for (const auto& [place, storage] :
           {std::pair{"output", p.output}, {"grad_input", p.grad_input}, {"grad_weight", p.grad_weight}})
        table.rows.push_back({word, name, layer.kind, place, emu::format_name(storage.format), "", p.engine});
    }
    if (study.loss != "sum") operation("loss", study.loss);
    const recipes::RecipeState& state = recipe.state;
    for (const auto& [place, format, scaling] : {std::tuple{"weights", state.weights, std::string()},
                                                 {"average", state.average, ""},
                                                 {"gradients", state.gradients, ""},
                                                 {"first_moment", state.first_moment, state.first_moment_scaling},
                                                 {"second_moment", state.second_moment, state.second_moment_scaling},
                                                 {"orthogonal", state.orthogonal, ""}}) {
      const std::optional<emu::Format> known = emu::parse_format(format);
      table.rows.push_back({word, "", "state", place, known ? emu::format_name(*known) : format,
                            scaling == "none" ? std::string() : scaling, ""});
    }
  }
  return table;
}

reports::Page train_page(const std::vector<RunResult>& runs, const TrainStudy& study) {
  std::vector<reports::Table> tables = train_tables(runs);
  std::string model = study.model.kind;
  if (model == "layers") model = std::to_string(study.model.layers.size()) + " layers";
  reports::Page page{.title = "What training loses, by recipe",
                     .settings = "Model " + model + ", loss " + study.loss + ", optimizer " + study.optimizer.kind +
                                 (study.scaler.empty() ? "" : ", scaler " + study.scaler) + ".",
                     .command = {},
                     .blocks = {},
                     .sections = {}};
  page.blocks.emplace_back(reports::FindingList{train_findings(runs, study.expect)});
  for (reports::Figure& figure : train_figures(tables)) page.blocks.emplace_back(std::move(figure));
  // The least loss first; runs that diverged last.
  reports::Table ranking = tables[1];
  const std::size_t loss = ranking.column("final_loss");
  const auto value = [&](const std::vector<reports::Cell>& row) {
    const auto* const x = std::get_if<double>(&row[loss]);
    return x == nullptr ? std::numeric_limits<double>::infinity() : *x;
  };
  std::stable_sort(ranking.rows.begin(), ranking.rows.end(), [&](const auto& a, const auto& b) { return value(a) < value(b); });
  page.blocks.emplace_back(std::move(ranking));
  page.sections.push_back(
      {.id = "findings", .title = "What the monitor found", .fold = reports::Section::Fold::closed, .blocks = {tables[3]}});
  return page;
}

}  // namespace ulpscope::training
