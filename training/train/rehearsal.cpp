// SPDX-License-Identifier: Apache-2.0
// Steps without products, and rules without a model.
#include "training/train/rehearsal.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "emu/error.hpp"
#include "emu/names.hpp"
#include "emu/suggestions.hpp"
#include "training/tape/multiplier.hpp"
#include "training/tape/operations.hpp"
#include "training/train/objective.hpp"
#include "training/train/product_times.hpp"
#include "training/train/recipe_precision.hpp"
#include "training/train/run_parts.hpp"
#include "training/train/schedule.hpp"

namespace ulpscope::training {
namespace {

using recipes::Recipe, recipes::RecipeRule;

/// Products as zeros: operands and engines are looked at before they get here.
class NoProducts final : public Multiplier {
 public:
  void multiply(const AskedProduct<float>&, std::span<float> d) override { std::ranges::fill(d, 0.0F); }
  void multiply(const AskedProduct<double>&, std::span<double> d) override { std::ranges::fill(d, 0.0); }
};

/// Which of a step's passes are taken.
enum class Passes { forward, both };

template <class Real>
void rehearse_step(RunParts<Real>& run, const Precision& precision, Passes passes) {
  std::vector<std::size_t> batch = run.batches.at(0);
  batch.resize(std::min<std::size_t>(batch.size(), 2));  // batch norms take two
  NoProducts none;
  for (const OptimizedPart& part : run.parts) {
    Tape<Real> tape = run.tape_of(precision, 0);
    tape.multiply_by(&none);
    const std::vector<Variable> variables = run.parameters_on(tape, part.objective.begin, part.objective.end);
    Buffers<Real> buffers = run.buffers;
    const Variable loss = loss_of(tape, run.study, part.objective, variables, run.samples, batch, 0, buffers);
    if (passes == Passes::both) tape.backward(loss);
  }
}

/// All layers as if they had moved to the wider recipe.
DynamicLayers moved(const Recipe& recipe, const std::vector<std::string>& layers) {
  std::map<std::string, std::vector<double>> state;
  for (const std::string& layer : layers) state[layer] = {1, 1, 0, 0};
  DynamicLayers all(recipe.dynamic);
  all.set_state(state);
  return all;
}

template <class Real>
void rehearse_in(const TrainStudy& study, const Samples& samples, const Recipe& recipe) {
  const RunOptions options{.threads = 1};
  RunResult result;
  RunParts<Real> run(study, samples, recipe, study.run.seeds.front(), options, result);
  const std::vector<std::string> layers = product_layers(study.model);
  const auto rehearse_under = [&](const Recipe& other, const DynamicLayers* dynamic, Passes passes) {
    DelayedScales delayed;
    rehearse_step(run, on_engine(precision_of(other, delayed, layers, dynamic), study.run.engine), passes);
  };
  rehearse_step(run, run.precision, Passes::both);
  if (!recipe.dynamic.wider.empty()) {
    const DynamicLayers all = moved(recipe, layers);
    rehearse_under(recipe, &all, Passes::both);
  }
  for (const std::string& word : study.run.evaluate)
    if (const Recipe other = recipes::open_recipe(word); other.name != recipe.name)
      rehearse_under(other, nullptr, Passes::forward);
}

constexpr std::string_view product_operations[] = {"linear", "matmul", "conv", "attention"};
/// Whose precision is asked for beside that of products; moves round nothing.
constexpr std::string_view other_operations[] = {
    "add",     "subtract",   "multiply",    "divide",   "affine",     "exp",           "log", "sqrt",
    "square",  "relu",       "sigmoid",     "tanh",     "gelu",       "silu",          "sum", "mean",
    "softmax", "layer_norm", "log_softmax", "rms_norm", "batch_norm", "cross_entropy", "mse", "bce_with_logits"};

/// A layer among others, as rules by depth see it.
struct Standing {
  std::string layer;
  std::vector<std::string> layers;
};

/// Where a layer may stand: by itself, which all depths are for, at either end, between, and among none.
std::vector<Standing> standings_of(const Recipe& recipe, const std::string& layer) {
  std::size_t most = 0;
  for (const RecipeRule& rule : recipe.rules)
    for (const std::string& word : rule.depth) most = std::max<std::size_t>(most, std::stoull(word.substr(word.find(':') + 1)));
  std::vector<Standing> all{{layer, {}}};
  if (most == 0) return all;
  most = std::min<std::size_t>(most, 1000);
  const std::string other = layer + "\n";
  for (const auto& [before, behind] : {std::pair{std::size_t{0}, std::size_t{0}}, {0, most}, {most, most}, {most, 0}}) {
    std::vector<std::string> layers(before + 1 + behind, other);
    layers[before] = layer;
    all.push_back({layer, std::move(layers)});
  }
  return all;
}

/// Whether a rule names the operation, and is not for all of them.
bool names(RecipeRule rule, std::string_view operation) {
  std::erase(rule.operations, "*");
  rule.layers = {"*"};
  return recipes::is_for(rule, operation, "");
}

recipes::Depth depth_of(const Standing& standing) {
  const auto found = std::find(standing.layers.begin(), standing.layers.end(), standing.layer);
  if (found == standing.layers.end()) return {};
  return {static_cast<std::size_t>(found - standing.layers.begin()), standing.layers.size()};
}

/// Whether formats are missing.
bool says_too_little(const Recipe& recipe, std::string_view operation, const Standing& standing) {
  const RecipeRule rule = recipes::resolve(recipe, operation, standing.layer, depth_of(standing));
  return std::ranges::any_of(
      std::vector{rule.input, rule.weight, rule.output, rule.grad_output, rule.grad_input, rule.grad_weight, rule.accumulate},
      [](const std::string& word) { return word.empty(); });
}

/// A product of one or two numbers, and its gradients.
template <class Real>
void rehearse_product(const Recipe& recipe, std::string_view operation, const Standing& standing) {
  DelayedScales delayed;
  NoProducts none;
  Tape<Real> tape(precision_of(recipe, delayed, standing.layers), 0, 1);
  tape.multiply_by(&none);
  tape.enter(standing.layer);
  const bool is_conv = operation == "conv";
  const Shape shape = is_conv ? Shape{1, 1, 1, 1} : Shape{2, 2};
  const Variable x = tape.input(Array<Real>(shape), emu::float32, true), y = tape.input(Array<Real>(shape), emu::float32, true);
  const Variable product = is_conv                 ? convolution(tape, x, y, std::nullopt, {})
                           : operation == "linear" ? linear(tape, x, y, std::nullopt)
                                                   : matmul(tape, x, y, Transpose::yes, operation);
  tape.backward(product, Array<Real>(tape.shape(product)));
}

/// A kind of product in a layer.
struct Candidate {
  std::string_view operation;
  Standing standing;
};

/// All that the rules tell from each other.
std::vector<Candidate> candidates_of(const Recipe& recipe) {
  std::vector<Candidate> all;
  const auto add = [&](std::string_view operation, const std::string& layer) {
    for (Standing& standing : standings_of(recipe, layer)) all.push_back({operation, std::move(standing)});
  };
  for (const std::string_view operation : product_operations) {
    std::vector<std::string> layers{"\t"};  // which no rule means
    for (const RecipeRule& rule : recipe.rules)
      for (const std::string& glob : rule.layers)
        if (recipes::is_for(rule, operation, glob) && std::ranges::find(layers, glob) == layers.end()) layers.push_back(glob);
    for (const std::string& layer : layers) add(operation, layer);
  }
  return all;
}

bool is_named(const Recipe& recipe, std::string_view operation) {
  return std::ranges::any_of(recipe.rules, [&](const RecipeRule& rule) { return names(rule, operation); });
}

}  // namespace

void rehearse_runs(const TrainStudy& study) try {
  const Samples samples = read_samples(study);
  steps_of(study, samples);
  if (!study.run.product_times.empty()) ProductTimes{study.run.product_times};
  for (const std::string& word : study.run.recipes) {
    const Recipe recipe = recipes::open_recipe(word);
    (is_wide(recipe) ? rehearse_in<double> : rehearse_in<float>)(study, samples, recipe);
  }
} catch (const Error& error) {
  if (const auto placed = with_place(study, error)) throw *placed;
  throw;
}

void check_recipe(const Recipe& recipe) {
  const std::optional<Recipe> wider = recipes::wider_of(recipe);
  state_storage_of(recipe);
  std::optional<Error> unsaid;
  bool is_said = false;
  for (const auto& [operation, standing] : candidates_of(recipe)) try {
      (is_wide(recipe) ? rehearse_product<double> : rehearse_product<float>)(recipe, operation, standing);
      is_said = true;
    } catch (const Error& error) {
      const std::string what = error.what(), of_recipe = "recipe " + recipe.name + ": ";
      Error told(what.starts_with(of_recipe) ? what : of_recipe + std::string(operation) + ": " + what);
      if (!says_too_little(recipe, operation, standing) || is_named(recipe, operation)) throw told;
      if (!unsaid) unsaid = std::move(told);
    }
  if (!is_said && unsaid) throw *unsaid;
  if (wider) check_recipe(*wider);
}

std::vector<std::string> remarks_of(const Recipe& recipe) {
  std::vector<std::string> sentences, known, unsaid;
  known.assign(std::begin(product_operations), std::end(product_operations));
  known.insert(known.end(), std::begin(other_operations), std::end(other_operations));
  for (RecipeRule rule : recipe.rules) {
    const std::string first = rule.operations.empty() ? "" : rule.operations.front(),
                      which = "recipe " + recipe.name + ": the rule for operations " + emu::comma_separated(rule.operations) +
                              " in layers " + emu::comma_separated(rule.layers);
    rule.layers = {"*"};
    const auto is_known = [&](const std::string& operation) { return recipes::is_for(rule, operation, ""); };
    const requests::Fields fields = requests::fields_of(rule);
    if (std::ranges::none_of(known, is_known))
      sentences.push_back(
          which + " is for no operation that there is; nearest: " + emu::comma_separated(emu::closest_words(first, known)));
    else if (std::ranges::all_of(fields, [](const auto& field) { return field.is_list() || field.words().empty(); }))
      sentences.push_back(which + " says nothing");
  }
  for (const std::string_view operation : product_operations)
    if (says_too_little(recipe, operation, {"\t", {}})) unsaid.emplace_back(operation);
  if (!unsaid.empty())
    sentences.push_back("recipe " + recipe.name + ": says too little of " + emu::comma_separated(unsaid) +
                        " in layers that no rule names: models that have these are refused");
  return sentences;
}

}  // namespace ulpscope::training
