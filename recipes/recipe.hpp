// SPDX-License-Identifier: Apache-2.0
// Recipes (precision policies): for every place where training rounds, what is rounded to what. They are TOML files; those that
// come with the program are recipes/presets/*.toml.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "requests/built_in_file.hpp"
#include "requests/field.hpp"
#include "requests/toml.hpp"

namespace ulpscope::recipes {

/// What a rule says of the operations and layers that it is for. Empty text says nothing: an earlier rule counts.
struct RecipeRule {
  /// Globs (fnmatch) over the names of operations and of layers; a rule is for those that match one of each.
  ///@{
  std::vector<std::string> operations{"*"}, layers{"*"};
  ///@}
  /// `first:N`, `last:N`: among the layers that have products only the first N, the last N. None: all layers, those without
  /// products too.
  std::vector<std::string> depth{};
  /// Formats. Of products: of the operands, of the result and of the gradients; of other operations `input` is what operands
  /// are cast to before, and `output` the result's. The word `keep` leaves an input as it is and gives an output the widest
  /// format of the operation's inputs.
  ///@{
  std::string input, weight, output, grad_output, grad_input, grad_weight;
  ///@}
  std::string accumulate;  ///< format of the sums of a product
  std::string engine;      ///< what multiplies: a word of emu::parse_engine
  /// Products after which a partial sum is added to a float32 sum; 0: never. Empty says nothing.
  std::string promote;
  /// Rules of scales (studies::parse_scaling, or `delayed`), for all operands of a product or for one; roundings likewise.
  ///@{
  std::string scaling, input_scaling, weight_scaling, grad_output_scaling;
  std::string rounding, input_rounding, weight_rounding, grad_output_rounding;
  ///@}
  /// `grad_weight`: both operands of the product that is the weight's gradient are multiplied by a Hadamard matrix of 16 with
  /// random signs, along the sum, before they are scaled; `none`.
  std::string hadamard;

  /// Names the members, for TOML.
  void describe(requests::Fields& fields);
};

/// What is kept from step to step. Formats, but for `update` and what belongs to the moments.
struct RecipeState {
  /// What the fields of these names say.
  ///@{
  std::string weights = "float32", gradients = "float32", first_moment = "float32", second_moment = "float32";
  std::string average = "float32";
  std::string first_moment_scaling = "none", second_moment_scaling = "none";
  std::uint64_t moments_from = 0;
  std::string update = "nearest", orthogonal = "bf16", statistics = "float32", all_reduce = "", step = "";
  ///@}

  /// Names the members, for TOML.
  void describe(requests::Fields& fields);
};

/// When a layer moves to a wider recipe and back (`[dynamic]`).
struct RecipeDynamic {
  /// What the fields of these names say.
  ///@{
  std::string wider;
  double least_sqnr_db = 20, most_lost = 0.05;
  std::uint64_t every = 10, back_after = 5;
  ///@}

  /// Names the members, for TOML.
  void describe(requests::Fields& fields);
};

/// A recipe.
struct Recipe {
  std::string name;               ///< of its file, without .toml
  std::string what;               ///< what it is, and where it is from: the comment at the top of its file
  RecipeState state = {};         ///< `[state]`
  RecipeDynamic dynamic = {};     ///< `[dynamic]`; with `wider` empty there is none
  std::vector<RecipeRule> rules;  ///< `[[rule]]`, in order: of those that match the last one counts, field by field
};

/// Where a layer stands among those that have products.
struct Depth {
  std::size_t index = 0;  ///< from 0
  std::size_t count = 0;  ///< of them all; 0: it is none of them
};

/// All that the rules say of one operation in one layer. @throws ulpscope::Error where they say too little of a product
RecipeRule resolve(const Recipe& recipe, std::string_view operation, const std::string& layer, Depth depth = {});
/// Whether a rule is for an operation in a layer, at some depth.
bool is_for(const RecipeRule& rule, std::string_view operation, const std::string& layer);

/// The recipes that come with the program, in alphabetical order.
const std::vector<requests::BuiltInFile>& recipe_presets();

/// A recipe from TOML. @throws ulpscope::Error with file and line
Recipe parse_recipe(std::string_view text, const std::string& name);

/// The recipe that layers of a dynamic one move to; nothing where it is not dynamic. @throws ulpscope::Error
std::optional<Recipe> wider_of(const Recipe& recipe);

/// A file, or the preset of that name. @throws ulpscope::Error naming the nearest
Recipe open_recipe(const std::string& word);
/// What is in it. @throws ulpscope::Error naming the nearest
std::string recipe_text(const std::string& word);
/// Its name: a file's without folder and ending.
std::string name_of(const std::string& word);

}  // namespace ulpscope::recipes
