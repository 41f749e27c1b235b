// SPDX-License-Identifier: Apache-2.0
// The command `recipes`: precision policies that come with the program, and their files.
#include <memory>
#include <string>

#include "cli/command.hpp"
#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "emu/visible.hpp"
#include "recipes/recipe.hpp"
#include "training/train/rehearsal.hpp"

namespace ulpscope::cli {
namespace {

struct Recipes {
  CommonOptions common;
  std::string name;
};

void run(const Recipes& recipes) {
  reports::Table table{"recipes", {"recipe", "what"}, {}};
  for (const requests::BuiltInFile& preset : recipes::recipe_presets()) {
    if (preset.name == recipes.name) return print(preset.text);
    table.rows.push_back({std::string(preset.name), requests::leading_comment(preset.text)});
  }
  if (recipes.name.empty()) return print(table, recipes.common, 1);
  const recipes::Recipe recipe = recipes::open_recipe(recipes.name);  // a file is read, and anything else answered
  training::check_recipe(recipe);
  for (const std::string& sentence : training::remarks_of(recipe)) remark(emu::visible(sentence));
  print(recipes.name + " is a recipe\n");
}

}  // namespace

void add_recipes(Command& app) {
  auto recipes = std::make_shared<Recipes>();
  Command& command = *app.add_subcommand("recipes", "precision policies: what is rounded to what in training");
  command.add_option("RECIPE", recipes->name, "one to print as TOML, or a file to check");
  recipes->common.add_output(command);
  command.footer("Example: ulpscope recipes fp8_deepseek");
  command.callback([recipes] { run(*recipes); });
}

}  // namespace ulpscope::cli
