// SPDX-License-Identifier: Apache-2.0
// Recipes (precision policies): for every place where training rounds, what is rounded to what. They are TOML files; those that
// come with the program are recipes/presets/*.toml.
#pragma once

#include <cstdint>
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
  std::string update = "nearest", orthogonal = "bf16";
  ///@}

  /// Names the members, for TOML.
  void describe(requests::Fields& fields);
};

/// A recipe.
struct Recipe {
  std::string name;               ///< of its file, without .toml
  std::string what;               ///< what it is, and where it is from: the comment at the top of its file
  RecipeState state = {};         ///< `[state]`
  std::vector<RecipeRule> rules;  ///< `[[rule]]`, in order: of those that match the last one counts, field by field
};

/// All that the rules say of one operation in one layer. @throws ulpscope::Error where they say too little of a product
RecipeRule resolve(const Recipe& recipe, std::string_view operation, const std::string& layer);

/// The recipes that come with the program, in alphabetical order.
const std::vector<requests::BuiltInFile>& recipe_presets();

/// A recipe from TOML. @throws ulpscope::Error with file and line
Recipe parse_recipe(std::string_view text, const std::string& name);

/// A file, or the preset of that name. @throws ulpscope::Error naming the nearest
Recipe open_recipe(const std::string& word);

}  // namespace ulpscope::recipes
