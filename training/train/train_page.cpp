// SPDX-License-Identifier: Apache-2.0
// Curves of training runs, the formats of their places, and what is said above them.
#include "training/train/train_page.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "emu/names.hpp"
#include "emu/suggestions.hpp"
#include "reports/columns.hpp"
#include "training/train/objective.hpp"
#include "training/train/recipe_precision.hpp"
#include "training/train/train_findings.hpp"
#include "training/train/train_tables.hpp"

namespace ulpscope::training {
namespace {

/// Rows of curves.csv: a curve for each recipe and seed, in the recipe's colour, of which the legend has one.
struct Curves {
  explicit Curves(const reports::Table& table) {
    const reports::Columns columns(table);
    for (const auto& row : table.rows) {
      const std::string recipe = columns.text(row, "recipe");
      const auto seed = static_cast<std::uint64_t>(columns.count(row, "seed"));
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

bool is_product(const std::string& operation) {
  return operation == "linear" || operation == "conv" || operation == "attention" || operation == "matmul";
}

/// Layers and the operations that they have, as a batch that is run shows them.
std::vector<std::pair<std::string, std::string>> operations_of(const TrainStudy& study) {
  std::vector<std::pair<std::string, std::string>> all;
  const auto told = [&](std::string_view operation, const std::string& layer) {
    const std::pair entry{layer, std::string(operation)};
    if (std::find(all.begin(), all.end(), entry) == all.end()) all.push_back(entry);
  };
  const Precision plain = uniform_precision(emu::float32);
  const Precision telling{[&](std::string_view operation, const std::string& layer) {
                            told(operation, layer);
                            return plain.operation(operation, layer);
                          },
                          [&](std::string_view operation, const std::string& layer) {
                            told(operation, layer);
                            return plain.product(operation, layer);
                          }};
  const Samples samples = read_samples(study);
  const std::vector<ParameterShape> shapes = parameters_of(study.model);
  Tape<float> tape(telling, 0, 1);
  std::vector<Variable> variables;
  for (const ParameterShape& shape : shapes) variables.push_back(tape.input(Array<float>(shape.shape), emu::float32, false));
  Buffers<float> buffers;
  for (const Objective& objective : objectives_of(study, shapes))
    loss_of(tape, study, objective, variables, samples, {0, 0}, 0, buffers);  // batch norms take two
  return all;
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
  reports::Table table{"places", {"recipe", "layer", "operation", "place", "format", "scaling", "rounding", "engine"}, {}};
  for (const std::string& word : study.run.recipes) {
    const recipes::Recipe recipe = recipes::open_recipe(word);
    const std::string& name = recipe.name;
    DelayedScales delayed;
    const Precision precision = on_engine(precision_of(recipe, delayed, product_layers(study.model)), study.run.engine);
    for (const auto& [layer, operation] : operations_of(study)) {
      if (!is_product(operation)) {
        const OperationPrecision p = precision.operation(operation, layer);
        const auto format = [](const std::optional<Storage>& s) {
          return s ? emu::format_name(s->format) : std::string("keep");
        };
        table.rows.push_back({name, layer, operation, "input", format(p.input), "", "", ""});
        table.rows.push_back({name, layer, operation, "output", format(p.output), "", "", ""});
        continue;
      }
      const ProductPrecision p = precision.product(operation, layer);
      const auto operand = [&](const char* place, const OperandPrecision& o) {
        table.rows.push_back({name, layer, operation, place, emu::format_name(o.storage.format), o.scaling.word,
                              std::string(emu::name_of(o.storage.options.rounding)), p.engine});
      };
      operand("input", p.input), operand("weight", p.weight), operand("grad_output", p.grad_output);
      const std::string promoted = p.promote == 0 ? "" : "promoted every " + std::to_string(p.promote);
      table.rows.push_back({name, layer, operation, "accumulate", emu::format_name(p.accumulate), promoted, "", p.engine});
      if (p.hadamard) table.rows.push_back({name, layer, operation, "grad_weight operands", "", "hadamard", "", p.engine});
      for (const auto& [place, storage] : {std::pair{"output", p.output},
                                           {"bias", p.output},
                                           {"grad_input", p.grad_input},
                                           {"grad_weight", p.grad_weight},
                                           {"grad_bias", p.grad_weight}})
        table.rows.push_back({name, layer, operation, place, emu::format_name(storage.format), "", "", p.engine});
    }
    const recipes::RecipeState& state = recipe.state;
    for (const auto& [place, format, scaling] :
         {std::tuple{"weights", state.weights, std::string()},
          {"average", state.average, ""},
          {"gradients", state.gradients, ""},
          {"first_moment", state.first_moment, state.first_moment_scaling},
          {"second_moment", state.second_moment, state.second_moment_scaling},
          {"orthogonal", state.orthogonal, ""},
          {"statistics", state.statistics, ""},
          {"all_reduce", state.all_reduce.empty() ? state.gradients : state.all_reduce, ""}}) {
      const std::optional<emu::Format> known = emu::parse_format(format);
      table.rows.push_back({name, "", "state", place, known ? emu::format_name(*known) : format,
                            scaling == "none" ? std::string() : scaling, place == std::string("weights") ? state.update : "",
                            ""});
    }
  }
  return table;
}

namespace {

/// Keys of a rule that speak of products.
std::vector<std::string> product_keys(recipes::RecipeRule rule) {
  std::vector<std::string> keys;
  for (const requests::Field& field : requests::fields_of(rule))
    if (!field.is_list() && field.name != "input" && field.name != "output" && !field.words().empty())
      keys.push_back(field.name);
  return keys;
}

std::string words_of_rule(const recipes::RecipeRule& rule) {
  return "the rule for operations " + emu::comma_separated(rule.operations) + " in layers " + emu::comma_separated(rule.layers);
}

/// Parameters whose moments are not stored as the recipe says.
std::string left_moments(const recipes::Recipe& recipe, const TrainStudy& study) {
  const StateStorage storage = state_storage_of(recipe);
  std::vector<std::string> names;
  for (const ParameterShape& parameter : parameters_of(study.model))
    if (const std::size_t count = count_of(parameter.shape);
        count >= recipe.state.moments_from && (is_left(storage.first, count) || is_left(storage.second, count)))
      names.push_back(parameter.name);
  if (names.empty()) return {};
  const std::size_t shown = std::min<std::size_t>(names.size(), 3), more = names.size() - shown;
  names.resize(shown);
  return "moments of " + emu::comma_separated(names) + (more > 0 ? " and " + std::to_string(more) + " more" : "") +
         " stay float32: they are no whole blocks";
}

}  // namespace

std::vector<std::string> idle_rules(const TrainStudy& study) {
  std::vector<std::string> sentences;
  std::vector<std::string> own;  // presets are for every model
  std::ranges::copy_if(study.run.recipes, std::back_inserter(own),
                       [](const std::string& word) { return word.ends_with(".toml"); });
  if (own.empty()) return sentences;
  const auto all = operations_of(study);
  for (const std::string& word : own) {
    const recipes::Recipe recipe = recipes::open_recipe(word);
    if (const std::string left = left_moments(recipe, study); !left.empty()) sentences.push_back(word + ": " + left);
    for (const recipes::RecipeRule& rule : recipe.rules) {
      const auto is_for = [&](const auto& o) { return recipes::is_for(rule, o.second, o.first); };
      const std::vector<std::string> keys = product_keys(rule);
      if (std::ranges::none_of(all, is_for))
        sentences.push_back(word + ": " + words_of_rule(rule) + " is for nothing in this model; --dry-run shows what there is");
      else if (!keys.empty() && std::ranges::none_of(all, [&](const auto& o) { return is_product(o.second) && is_for(o); }))
        sentences.push_back(word + ": " + words_of_rule(rule) + ": " + emu::comma_separated(keys) +
                            (keys.size() == 1 ? " has" : " have") + " no effect, as none of these is a product");
    }
  }
  return sentences;
}

namespace {

/// The same without columns in which every cell is empty.
reports::Table filled(const reports::Table& table) {
  reports::Table kept{table.name, {}, std::vector<std::vector<reports::Cell>>(table.rows.size())};
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const auto is_empty = [i](const auto& row) { return row[i] == reports::Cell(std::string()); };
    if (std::all_of(table.rows.begin(), table.rows.end(), is_empty)) continue;
    kept.columns.push_back(table.columns[i]);
    for (std::size_t row = 0; row < table.rows.size(); ++row) kept.rows[row].push_back(table.rows[row][i]);
  }
  return kept;
}

}  // namespace

reports::Page train_page(const std::vector<RunResult>& runs, const TrainStudy& study) {
  std::vector<reports::Table> tables = train_tables(runs);
  std::string model = study.model.kind;
  if (model == "layers") model = std::to_string(study.model.layers.size()) + " layers";
  reports::Page page{.title = "What training loses, by recipe",
                     .settings = "Model " + model + ", loss " + (model == "gan" ? "bce_with_logits" : study.loss) +
                                 ", optimizer " + study.optimizer.kind +
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
  page.blocks.emplace_back(filled(ranking));
  if (tables.size() > 4) page.blocks.emplace_back(tables[4]);
  page.sections.push_back(
      {.id = "findings", .title = "What the monitor found", .fold = reports::Section::Fold::closed, .blocks = {tables[3]}});
  return page;
}

}  // namespace ulpscope::training
