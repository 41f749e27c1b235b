// SPDX-License-Identifier: Apache-2.0
// Recipes: every preset is read, later rules count over earlier ones, and what is wrong in a file is told with its line.
#include "recipes/recipe.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <string>
#include <vector>

#include "emu/error.hpp"

namespace ulpscope::recipes {
namespace {

TEST_CASE("every preset is a recipe with a source, and says all of a product", "[recipes]") {
  const requests::BuiltInFile& preset = GENERATE(from_range(recipe_presets()));
  CAPTURE(preset.name);
  const Recipe recipe = open_recipe(std::string(preset.name));
  CHECK(recipe.name == preset.name);
  CHECK(recipe.what.size() > 20);
  for (const char* const operation : {"linear", "matmul", "conv", "attention"}) {
    const RecipeRule rule = resolve(recipe, operation, "0");
    for (const std::string& word : {rule.input, rule.weight, rule.output, rule.grad_output, rule.grad_input, rule.grad_weight,
                                    rule.accumulate, rule.engine}) {
      CHECK_FALSE(word.empty());
      CHECK(word != "keep");
    }
  }
  for (const char* const operation : {"add", "softmax", "gelu", "layer_norm", "cross_entropy"}) {
    const RecipeRule rule = resolve(recipe, operation, "0");
    CHECK_FALSE(rule.input.empty());
    CHECK_FALSE(rule.output.empty());
  }
}

TEST_CASE("autocast's lists", "[recipes]") {
  const Recipe amp = open_recipe("fp16_amp");
  CHECK(resolve(amp, "linear", "3").input == "fp16");
  CHECK(resolve(amp, "softmax", "3").input == "float32");
  CHECK(resolve(amp, "layer_norm", "3").output == "float32");
  CHECK(resolve(amp, "gelu", "3").output == "keep");
  CHECK(amp.state.weights == "float32");
  CHECK(open_recipe("bf16_kahan").state.update == "kahan");
  CHECK(resolve(open_recipe("fp8_deepseek"), "linear", "3").promote == "128");
  CHECK(resolve(open_recipe("fp8_deepseek"), "matmul", "3").input == "bf16");
}

TEST_CASE("moments of 8 bits", "[recipes]") {
  const RecipeState eight = open_recipe("adam_8bit").state, fp8 = open_recipe("adam_fp8").state;
  CHECK(eight.weights == "float32");
  CHECK(eight.first_moment == "dynamic8");
  CHECK(eight.second_moment == "dynamic8");
  CHECK(eight.moments_from == 4096);
  CHECK(fp8.first_moment == "e4m3");
  CHECK(fp8.second_moment_scaling == "blocks256");
  CHECK(open_recipe("float32").state.moments_from == 0);
}

TEST_CASE("the last rule that matches counts, field by field", "[recipes]") {
  const Recipe recipe = parse_recipe(R"(# A recipe
# of two lines.
[state]
weights = "bf16"
[[rule]]
input = "fp16"
output = "fp16"
[[rule]]
operations = ["soft*"]
output = "float32"
[[rule]]
layers = ["head", "*.norm"]
input = "float32"
)",
                                     "mine.toml");
  CHECK(recipe.name == "mine");
  CHECK(recipe.what == "A recipe of two lines.");
  CHECK(recipe.state.weights == "bf16");
  CHECK(recipe.state.gradients == "float32");
  CHECK(resolve(recipe, "gelu", "0").input == "fp16");
  CHECK(resolve(recipe, "softmax", "0").input == "fp16");
  CHECK(resolve(recipe, "softmax", "0").output == "float32");
  CHECK(resolve(recipe, "softmax", "head").input == "float32");
  CHECK(resolve(recipe, "gelu", "1.norm").input == "float32");
  CHECK(resolve(recipe, "gelu", "normal").input == "fp16");
}

TEST_CASE("what is wrong in a recipe is told with its line", "[recipes]") {
  const auto message = [](const std::string& text) -> std::string {
    try {
      parse_recipe(text, "r.toml");
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  CHECK(message("[[rule]]\ninput = \"fp61\"\n").starts_with("r.toml:2: "));
  CHECK(message("[[rule]]\ninputs = \"fp16\"\n").starts_with("r.toml:2: "));
  CHECK(message("[state]\nupdate = \"up\"\n[[rule]]\n").find("known: nearest, stochastic, kahan") != std::string::npos);
  CHECK(message("[state]\nfirst_moment = \"dynamic9\"\n[[rule]]\n").starts_with("r.toml:2: "));
  CHECK(message("[state]\nmoments_from = -1\n[[rule]]\n").starts_with("r.toml:2: "));
  CHECK(message("[[rule]]\npromote = \"x\"\n").starts_with("r.toml:2: "));
  CHECK(message("[rules]\ninput = \"fp16\"\n") == "r.toml:1: unknown key 'rules'; known: state, dynamic, rule");
  CHECK(message("rule = 3\n") == "r.toml:1: rule: write [[rule]]");
  CHECK(message("[[rule]]\noperations = []\ninput = \"fp16\"\n") ==
        "r.toml:1: operations: none given; a rule without them is for all");
  CHECK(message("[[rule]]\nlayers = []\ninput = \"fp16\"\n") == "r.toml:1: layers: none given; a rule without them is for all");
  CHECK(message("[state]\n") == "r.toml: a recipe needs at least one [[rule]]");
  std::string many;
  for (int i = 0; i < 1001; ++i) many += "[[rule]]\n";
  CHECK(message(many) == "r.toml:1001: a recipe has at most 1000 rules");
  CHECK_THROWS_AS(open_recipe("fp8_deepsek"), Error);
  CHECK_THROWS_AS(open_recipe("no/such.toml"), Error);
}

}  // namespace
}  // namespace ulpscope::recipes
