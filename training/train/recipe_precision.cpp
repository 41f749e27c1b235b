// SPDX-License-Identifier: Apache-2.0
// From words of a recipe to formats.
#include "training/train/recipe_precision.hpp"

#include <algorithm>
#include <tuple>

#include "emu/bulk.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"
#include "emu/suggestions.hpp"
#include "requests/parts.hpp"
#include "training/train/saved_run.hpp"

namespace ulpscope::training {
namespace {

using recipes::Recipe, recipes::RecipeRule;
using requests::parse_format;

/// The rules of a recipe, looked up once for each operation and layer.
class Rules {
 public:
  Rules(Recipe recipe, std::vector<std::string> layers, const DynamicLayers* dynamic)
      : recipe_(std::move(recipe)), wider_(recipes::wider_of(recipe_)), layers_(std::move(layers)), dynamic_(dynamic) {}

  const RecipeRule& of(std::string_view operation, const std::string& layer) {
    const bool wide = wider_ && dynamic_ != nullptr && dynamic_->is_wide(layer);
    const auto [found, is_new] = rules_.try_emplace({wide, std::string(operation), layer});
    if (is_new) {
      const auto place = static_cast<std::size_t>(std::find(layers_.begin(), layers_.end(), layer) - layers_.begin());
      const recipes::Depth depth{place, place < layers_.size() ? layers_.size() : 0};
      found->second = recipes::resolve(wide ? *wider_ : recipe_, operation, layer, depth);
    }
    return found->second;
  }
  const std::string& name() const { return recipe_.name; }

 private:
  Recipe recipe_;
  std::optional<Recipe> wider_;
  std::vector<std::string> layers_;
  const DynamicLayers* dynamic_;
  std::map<std::tuple<bool, std::string, std::string>, RecipeRule> rules_;
};

std::optional<Storage> kept_or(const std::string& word) {
  if (word.empty() || word == "keep") return std::nullopt;
  return Storage{parse_format(word), {}};
}

/// A place of a product, which must be named.
emu::Format named(const Rules& rules, std::string_view operation, const char* place, const std::string& word) {
  if (word.empty() || word == "keep")
    throw Error("recipe " + rules.name() + ": no format for " + place + " of " + std::string(operation));
  return parse_format(word);
}

const std::string& first_said(const std::string& special, const std::string& general, const std::string& otherwise) {
  return !special.empty() ? special : !general.empty() ? general : otherwise;
}

/// Whether scales follow from numbers, rather than being one.
bool follows_magnitudes(const std::string& scaling) {
  if (scaling == "current" || scaling.starts_with("delayed")) return true;
  const std::vector<std::string> known = studies::scaling_words();
  return scaling != "none" && std::ranges::find(known, scaling) != known.end();
}

OperandPrecision operand(DelayedScales& delayed, const std::string& layer, const char* place, emu::Format format,
                         const std::string& scaling, const std::string& rounding) {
  Storage storage{format, {.rounding = requests::parse_rounding(rounding)}};
  if (format.bits() <= 8) storage.options.policy = emu::Policy::saturating;
  constexpr std::string_view of_past = "delayed";
  if (scaling == of_past || scaling.starts_with(std::string(of_past) + ":"))
    return delayed.operand(layer, place, storage, scaling.substr(of_past.size()));
  OperandPrecision precision{storage, {}, {}};
  try {
    precision.scaling = studies::parse_scaling(scaling == "current" ? "amax" : scaling);  // its name among fp8 recipes
  } catch (const Error&) {
    throw Error("scaling '" + scaling + "': give a number, current, delayed with its parameters, or one of " +
                emu::comma_separated(studies::scaling_words()));
  }
  studies::check_format(precision.scaling, format);
  return precision;
}

ProductPrecision product(Rules& rules, DelayedScales& delayed, std::string_view operation, const std::string& layer) {
  const RecipeRule& rule = rules.of(operation, layer);
  // Tensor cores leave out the last bits of a float32 operand.
  const std::string none = "none", nearest = "nearest_even", cut = "toward_zero";
  const auto place = [&](const char* name, const std::string& word, const std::string& scaling, const std::string& rounding) {
    const emu::Format format = named(rules, operation, name, word);
    // Numbers that are scaled to the end of float32's range have products beyond it.
    const bool overflows = format.max_exponent() >= emu::float32.max_exponent();
    if (overflows && !scaling.empty() && follows_magnitudes(scaling))
      throw Error("recipe " + rules.name() + ": " + name + "_scaling '" + scaling + "' of " + std::string(operation) + ": " +
                  emu::format_name(format) + " has the range of float32, and needs no scales");
    const std::string& general = overflows && follows_magnitudes(rule.scaling) ? none : rule.scaling;
    return operand(delayed, layer, name, format, first_said(scaling, general, none),
                   first_said(rounding, rule.rounding, format == emu::tf32 ? cut : nearest));
  };
  const auto stored = [&](const char* name, const std::string& format) {
    return Storage{named(rules, operation, name, format), {}};
  };
  return {.input = place("input", rule.input, rule.input_scaling, rule.input_rounding),
          .weight = place("weight", rule.weight, rule.weight_scaling, rule.weight_rounding),
          .grad_output = place("grad_output", rule.grad_output, rule.grad_output_scaling, rule.grad_output_rounding),
          .engine = rule.engine.empty() ? "fma" : rule.engine,
          .accumulate = named(rules, operation, "accumulate", rule.accumulate),
          .promote = rule.promote.empty() ? 0 : std::stoull(rule.promote),
          .hadamard = rule.hadamard == "grad_weight",
          .output = stored("output", rule.output),
          .grad_input = stored("grad_input", rule.grad_input),
          .grad_weight = stored("grad_weight", rule.grad_weight)};
}

}  // namespace

void DelayedScales::step() {
  for (auto& [key, entry] : entries_) {
    entry.scaler.step({.amax = *entry.amax});
    *entry.amax = 0;
  }
}

OperandPrecision DelayedScales::operand(const std::string& layer, const std::string& place, const Storage& storage,
                                        const std::string& parameters) {
  const auto [found, is_new] =
      entries_.try_emplace({layer, place}, Entry{.scaler = recipes::Scaler("te_delayed" + parameters, storage.format)});
  if (is_new && !pending_.empty()) {
    auto state = found->second.scaler.state();
    for (auto& [name, values] : state)
      if (const auto kept = pending_.find(layer + "/" + place + "/" + name); kept != pending_.end()) values = kept->second;
    found->second.scaler.set_state(state);
  }
  const double scale = found->second.scaler.scale();
  return {storage, {.rule = studies::ScaleRule::number, .number = scale, .word = "delayed"}, found->second.amax};
}

std::map<std::string, std::vector<double>> DelayedScales::state() const {
  // Of operands that have not been asked for yet since the run went on, too.
  std::map<std::string, std::vector<double>> all = pending_;
  for (const auto& [key, entry] : entries_)
    for (const auto& [name, values] : entry.scaler.state()) all[key.first + "/" + key.second + "/" + name] = values;
  return all;
}

bool DynamicLayers::is_wide(const std::string& layer) const {
  const auto found = layers_.find(layer);
  return found != layers_.end() && found->second.wide;
}

std::vector<LayerMove> DynamicLayers::look(std::uint64_t step, const std::map<Place, PlaceCounts>& places) {
  std::vector<LayerMove> moves;
  if (!looks_at(step)) return moves;
  std::map<std::string, std::optional<LayerMove>> worst;  // of each layer that has products
  for (const auto& [place, counts] : places) {
    if (place.place != "input" && place.place != "weight" && place.place != "grad_output") continue;
    std::optional<LayerMove>& of_layer = worst[place.layer];
    const double sqnr = counts.sqnr_db(), lost = counts.lost_share();
    const std::string where = place.operation + " " + place.place;
    if (!of_layer && sqnr < dynamic_.least_sqnr_db) of_layer = {place.layer, where, true, sqnr, dynamic_.least_sqnr_db};
    if (!of_layer && lost > dynamic_.most_lost) of_layer = {place.layer, where, true, lost, dynamic_.most_lost};
  }
  for (const auto& [name, failed] : worst) {
    Layer& layer = layers_[name];
    if (layer.stays == 0) layer.stays = dynamic_.back_after;
    ++layer.looks;
    if (layer.wide && layer.looks >= layer.stays) {
      const auto stayed = static_cast<double>(layer.looks);
      layer.wide = false, layer.looks = 0;
      moves.push_back({name, "", false, stayed, static_cast<double>(layer.stays)});
    } else if (!layer.wide && failed) {
      // One that fails as soon as it is back stays away twice as long.
      layer.stays = layer.moved && layer.looks == 1 ? 2 * layer.stays : dynamic_.back_after;
      layer.wide = layer.moved = true, layer.looks = 0;
      moves.push_back(*failed);
    }
  }
  return moves;
}

std::map<std::string, std::vector<double>> DynamicLayers::state() const {
  std::map<std::string, std::vector<double>> all;
  for (const auto& [name, layer] : layers_)
    all[name] = {layer.wide ? 1.0 : 0.0, layer.moved ? 1.0 : 0.0, static_cast<double>(layer.looks),
                 static_cast<double>(layer.stays)};
  return all;
}

void DynamicLayers::set_state(const std::map<std::string, std::vector<double>>& state) {
  for (const auto& [name, values] : state) {
    if (values.size() != 4) throw Error("state of layer " + name + ": four numbers, not " + std::to_string(values.size()));
    layers_[name] = {values[0] != 0, values[1] != 0, whole_of(values[2]), whole_of(values[3])};
  }
}

Precision precision_of(const Recipe& recipe, DelayedScales& delayed, std::vector<std::string> layers,
                       const DynamicLayers* dynamic) {
  const auto rules = std::make_shared<Rules>(recipe, std::move(layers), dynamic);
  return {[rules](std::string_view operation, const std::string& layer) {
            const RecipeRule& rule = rules->of(operation, layer);
            return OperationPrecision{kept_or(rule.input), kept_or(rule.output)};
          },
          [rules, &delayed](std::string_view operation, const std::string& layer) {
            try {
              return product(*rules, delayed, operation, layer);
            } catch (const Error& error) {
              const std::string what = error.what(), of_recipe = "recipe " + rules->name() + ": ";
              if (what.starts_with(of_recipe)) throw;
              throw Error(of_recipe + std::string(operation) + ": " + what);
            }
          }};
}

Precision on_engine(Precision precision, const std::string& engine) {
  if (engine.empty()) return precision;
  return {std::move(precision.operation),
          [product = std::move(precision.product), engine](std::string_view operation, const std::string& layer) {
            ProductPrecision p = product(operation, layer);
            p.engine = engine;
            return p;
          }};
}

StateStorage state_storage_of(const Recipe& recipe) {
  const recipes::RecipeState& state = recipe.state;
  const auto moment = [&](const char* name, const std::string& format, const std::string& scaling) {
    try {
      // Numbers that are scaled to the end of a range are rounded on the way there and back, or beyond it.
      if (const auto known = emu::parse_format(format); known && known->bits() >= emu::float32.bits() && scaling != "none")
        throw Error("scaling '" + scaling + "': " + format + " needs no scales; leave it out");
      return parse_moment_storage(format, scaling, static_cast<std::size_t>(state.moments_from));
    } catch (const Error& error) {
      throw Error("recipe " + recipe.name + ": " + name + ": " + error.what());
    }
  };
  for (const auto& [name, word] : {std::pair{"average", state.average},
                                   {"gradients", state.gradients},
                                   {"first_moment", state.first_moment},
                                   {"second_moment", state.second_moment},
                                   {"orthogonal", state.orthogonal}})
    if (const auto format = emu::parse_format(word); format && !emu::fits_float(*format) && !is_wide(recipe))
      throw Error("recipe " + recipe.name + ": " + name + ": " + word +
                  " is wider than float32, in which steps of weights in " + state.weights + " are computed");
  return {.weights = {parse_format(state.weights), {}},
          .first = moment("first_moment", state.first_moment, state.first_moment_scaling),
          .second = moment("second_moment", state.second_moment, state.second_moment_scaling),
          .update = parse_update_rounding(state.update),
          .step = state.step.empty() ? std::nullopt : std::optional(parse_format(state.step)),
          .average = {parse_format(state.average), {}},
          .orthogonal = parse_format(state.orthogonal)};
}

bool gradients_stay_narrow(const Recipe& recipe) {
  return parse_format(recipe.state.weights).bits() <= parse_format(recipe.state.gradients).bits();
}

bool is_wide(const Recipe& recipe) { return !emu::fits_float(parse_format(recipe.state.weights)); }

}  // namespace ulpscope::training
