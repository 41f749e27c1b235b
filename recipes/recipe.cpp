// SPDX-License-Identifier: Apache-2.0
// Recipes from TOML, and what their rules say together.
#include "recipes/recipe.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "emu/error.hpp"
#include "emu/names.hpp"
#include "emu/suggestions.hpp"
#include "files/read_file.hpp"
#include "requests/parts.hpp"

namespace ulpscope::recipes {
namespace {

constexpr std::size_t most_rules = 1000;  // more than anybody writes

/// A format, or `keep`.
void check_format(const std::string& word) {
  if (word != "keep") requests::parse_format(word);
}
void check_plain_format(const std::string& word) { requests::parse_format(word); }
/// A format, or bitsandbytes' 8-bit tables.
void check_moment(const std::string& word) {
  if (word != "dynamic8") requests::parse_format(word);
}
void check_rounding(const std::string& word) { requests::parse_rounding(word); }
void check_promote(const std::string& word) {
  std::string number = word;
  if (const std::string wrong = requests::read_whole(number, {.most = 1 << 30}); !wrong.empty()) throw Error(wrong);
}
void check_update(const std::string& word) {
  const std::vector<std::string> known{"nearest", "stochastic", "kahan"};
  if (std::find(known.begin(), known.end(), word) == known.end())
    throw Error("unknown update '" + word + "'; known: " + emu::comma_separated(known));
}

void check_hadamard(const std::string& word) {
  if (word != "none" && word != "grad_weight") throw Error("unknown hadamard '" + word + "'; known: none, grad_weight");
}
/// The number behind `first:` or `last:`, which is at least 1.
std::size_t layers_of(const std::string& word) {
  const std::size_t colon = word.find(':');
  std::string number = colon == std::string::npos ? "" : word.substr(colon + 1);
  const std::string end = word.substr(0, std::min(colon, word.size()));
  if ((end != "first" && end != "last") || !requests::read_whole(number, {.least = 1, .most = 1 << 20}).empty())
    throw Error("'" + word + "': a depth is first:N or last:N");
  return static_cast<std::size_t>(std::stoull(number));
}

bool is_within(const std::vector<std::string>& words, Depth depth) {
  if (words.empty()) return true;
  return std::any_of(words.begin(), words.end(), [&](const std::string& word) {
    const std::size_t n = layers_of(word);
    return depth.index < depth.count && (word.starts_with("first") ? depth.index < n : depth.index + n >= depth.count);
  });
}

bool matches(const std::vector<std::string>& globs, const std::string& name) {
  return std::any_of(globs.begin(), globs.end(),
                     [&](const std::string& glob) { return fnmatch(glob.c_str(), name.c_str(), 0) == 0; });
}

/// The values of a table's array of tables; none where it is not there.
std::vector<requests::TomlValue> tables_of(const requests::TomlTable& table, std::string_view key) {
  const requests::TomlValue* const value = table.find(key);
  if (value == nullptr) return {};
  if (!value->is_list() || !std::all_of(value->list().begin(), value->list().end(), [](const auto& v) { return v.is_table(); }))
    throw Error(value->place() + ": " + std::string(key) + ": write [[" + std::string(key) + "]]");
  return value->list();
}

}  // namespace

void RecipeRule::describe(requests::Fields& fields) {
  fields.add("operations", operations, "globs of operations that the rule is for").as_commas();
  fields.add("layers", layers, "globs of layers").as_commas();
  fields.add("depth", depth, "first:N or last:N: of the layers that have products")
      .as_commas()
      .checked([](const std::string& word) { layers_of(word); });
  const auto format = [&](const char* name, std::string& variable, const char* help) {
    fields.add(name, variable, help).as_value("F").checked(check_format);
  };
  format("input", input, "format of the input");
  format("weight", weight, "format of the weight, or of a product's second operand");
  format("output", output, "format of the result");
  format("grad_output", grad_output, "format of the result's gradient where it is multiplied");
  format("grad_input", grad_input, "format of the input's gradient");
  format("grad_weight", grad_weight, "format of the gradients of weight and bias");
  format("accumulate", accumulate, "format of sums");
  fields.add("engine", engine, "what multiplies").as_value("ENGINE");
  fields.add("promote", promote, "products after which a sum is added to a float32 sum").checked(check_promote);
  const auto add = [&](const std::string& place, std::string& of_scaling, std::string& of_rounding) {
    fields.add(place + "scaling", of_scaling, "how scales are chosen").as_value("SCALE");
    fields.add(place + "rounding", of_rounding, "how operands are rounded").as_value("R").checked(check_rounding);
  };
  add("", scaling, rounding);
  add("input_", input_scaling, input_rounding);
  add("weight_", weight_scaling, weight_rounding);
  add("grad_output_", grad_output_scaling, grad_output_rounding);
  fields.add("hadamard", hadamard, "grad_weight, or none: which product's operands are multiplied by a Hadamard matrix of 16")
      .checked(check_hadamard);
}

void RecipeDynamic::describe(requests::Fields& fields) {
  fields.add("wider", wider, "the recipe whose rules a layer has while its own lose too much").needed();
  fields.add("least_sqnr_db", least_sqnr_db, "a layer moves where the SQNR of an operand is less");
  fields.add("most_lost", most_lost, "or more than this share of it becomes zero or overflows").real({.least = 0, .most = 1});
  fields.add("every", every, "steps from one look to the next").whole({.least = 1});
  fields.add("back_after", back_after, "looks after which a layer is tried again; twice as many after each failure")
      .whole({.least = 1});
}

void RecipeState::describe(requests::Fields& fields) {
  const auto format = [&](const char* name, std::string& variable, const char* help) {
    fields.add(name, variable, help).as_value("F").checked(check_plain_format);
  };
  format("weights", weights, "format of the weights that are updated");
  format("average", average, "format of the weights' moving average");
  format("gradients", gradients, "format of the gradients that the optimizer is given, and in which micro-batches add up");
  fields.add("first_moment", first_moment, "format of momentum, and of Adam's m; or dynamic8")
      .as_value("F")
      .checked(check_moment);
  fields.add("second_moment", second_moment, "format of Adam's v; or dynamic8").as_value("F").checked(check_moment);
  fields.add("first_moment_scaling", first_moment_scaling, "how its scales are chosen, or blocks256").as_value("SCALE");
  fields.add("second_moment_scaling", second_moment_scaling, "the same of the second").as_value("SCALE");
  fields.add("moments_from", moments_from, "elements of the smallest tensor whose moments are so stored");
  format("statistics", statistics, "format of the running statistics of batch norms");
  format("step", step, "format of each operation of an update; float32 where it is not given");
  format("all_reduce", all_reduce, "format in which workers add up gradients; that of gradients where it is not given");
  fields.add("update", update, "how updated weights are rounded: nearest, stochastic or kahan").checked(check_update);
  format("orthogonal", orthogonal, "format in which Muon makes a momentum orthogonal");
}

bool is_for(const RecipeRule& rule, std::string_view operation, const std::string& layer) {
  return matches(rule.operations, std::string(operation)) && matches(rule.layers, layer);
}

RecipeRule resolve(const Recipe& recipe, std::string_view operation, const std::string& layer, Depth depth) {
  RecipeRule all;
  requests::Fields fields = requests::fields_of(all);
  for (RecipeRule rule : recipe.rules) {
    if (!is_for(rule, operation, layer) || !is_within(rule.depth, depth)) continue;
    for (const requests::Field& field : requests::fields_of(rule))
      if (!field.is_list() && !field.words().empty()) fields.at(field.name).set(field.words());
  }
  all.operations = {std::string(operation)}, all.layers = {layer};
  return all;
}

Recipe parse_recipe(std::string_view text, const std::string& name) {
  const requests::TomlValue file = requests::parse_toml(text, name);
  const requests::TomlTable& table = file.table();
  Recipe recipe{.name = name_of(name), .what = requests::leading_comment(text), .rules = {}};
  for (const auto& [key, value] : table.entries)
    if (key != "state" && key != "rule" && key != "dynamic")
      throw Error(value.place() + ": unknown key '" + key + "'; known: state, dynamic, rule");
  for (const char* const part : {"state", "dynamic"})
    if (const requests::TomlValue* const value = table.find(part); value != nullptr && !value->is_table())
      throw Error(value->place() + ": " + part + ": write [" + part + "]");
  if (const requests::TomlValue* const state = table.find("state")) {
    requests::Fields fields = requests::fields_of(recipe.state);
    requests::set_from(fields, *state, {});
  }
  if (const requests::TomlValue* const dynamic = table.find("dynamic")) {
    requests::Fields fields = requests::fields_of(recipe.dynamic);
    requests::set_from(fields, *dynamic, {});
  }
  for (const requests::TomlValue& value : tables_of(table, "rule")) {
    if (recipe.rules.size() == most_rules)
      throw Error(value.place() + ": a recipe has at most " + std::to_string(most_rules) + " rules");
    RecipeRule& rule = recipe.rules.emplace_back();
    requests::Fields fields = requests::fields_of(rule);
    requests::set_from(fields, value, {});
    for (const auto& [key, globs] : {std::pair{"operations", &rule.operations}, {"layers", &rule.layers}})
      if (globs->empty()) throw Error(value.place() + ": " + key + ": none given; a rule without them is for all");
  }
  if (recipe.rules.empty()) throw Error(name + ": a recipe needs at least one [[rule]]");
  return recipe;
}

std::optional<Recipe> wider_of(const Recipe& recipe) {
  if (recipe.dynamic.wider.empty()) return std::nullopt;
  Recipe wider = open_recipe(recipe.dynamic.wider);
  if (!wider.dynamic.wider.empty()) throw Error("recipe " + recipe.name + ": wider: " + wider.name + " is dynamic itself");
  return wider;
}

namespace {

bool is_file(const std::string& word) {
  std::error_code ignored;
  return word.ends_with(".toml") || std::filesystem::is_regular_file(word, ignored);
}

}  // namespace

std::string name_of(const std::string& word) {
  const std::filesystem::path path(word);
  return (path.extension() == ".toml" ? path.stem() : path.filename()).string();
}

Recipe open_recipe(const std::string& word) {
  return parse_recipe(recipe_text(word), is_file(word) ? word : "recipes/presets/" + word + ".toml");
}

std::string recipe_text(const std::string& word) {
  if (is_file(word)) return files::read_file(word, requests::most_toml);
  std::vector<std::string> names;
  for (const requests::BuiltInFile& preset : recipe_presets()) {
    if (preset.name == word) return std::string(preset.text);
    names.emplace_back(preset.name);
  }
  throw Error("unknown recipe '" + word + "'; nearest: " + emu::comma_separated(emu::closest_words(word, names)) +
              "; a file of your own ends in .toml");
}

}  // namespace ulpscope::recipes
