// SPDX-License-Identifier: Apache-2.0
// Training studies as files: what is refused and where, what has no effect, and texts as data.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "small_runs.hpp"
#include "training/train/rehearsal.hpp"
#include "training/train/saved_run.hpp"

namespace ulpscope::training {

TEST_CASE("runs have names of their own, and settings that train something", "[training]") {
  TemporaryDirectory folder;
  using Catch::Matchers::ContainsSubstring, Catch::Matchers::Equals;
  const auto parsed = [&](const std::string& run, const std::string& optimizer = "") {
    TrainStudy study = parse_train_study(one_weight(folder, 1, 1, optimizer) + run, "study.toml");
    check_runs(study);
    return study;
  };
  for (const char* const where : {"a", "b"}) {
    std::filesystem::create_directories(folder.file(where));
    std::ofstream(folder.file(where) + "/mine.toml") << recipes::recipe_text("float32");
  }
  const std::string a = folder.file("a/mine.toml"), b = folder.file("b/mine.toml");
  CHECK(parsed("recipes = [\"float32\", \"" + a + "\"]\nseeds = [0, 1]\n").run.recipes.size() == 2);
  CHECK_THROWS_WITH(parsed("recipes = [\"" + a + "\", \"" + b + "\"]\n"), ContainsSubstring("have one name, mine,"));
  CHECK_THROWS_WITH(parsed("recipes = [\"tf32\", \"tf32\"]\n"), ContainsSubstring("have one name, tf32,"));
  CHECK_THROWS_WITH(parsed("recipes = []\n"), Equals("study.toml:13: [run] recipes: give one or more"));
  CHECK_THROWS_WITH(parsed("seeds = []\n"), ContainsSubstring("[run] seeds: give one or more"));
  CHECK_THROWS_WITH(parsed("seeds = [3, 1, 3]\n"), ContainsSubstring("[run] seeds: 3 is given twice"));
  CHECK_THROWS_WITH(parsed("", "nesterov = true\n"), ContainsSubstring("nesterov: needs momentum"));
  CHECK_THROWS_WITH(parsed("", "nesterov = true\nmomentum = 0.9\ndampening = 0.1\n"), ContainsSubstring("no dampening"));
  CHECK_THROWS_WITH(parsed("", "betas = [0.9, 1]\n"), ContainsSubstring("betas: 1: give numbers below 1"));
  // Others may stand in its place.
  TrainStudy study = parse_train_study(one_weight(folder, 1, 1, "") + "recipes = [\"gone.toml\"]\n", "study.toml");
  CHECK_THROWS_WITH(check_runs(study),
                    Equals("study.toml:13: [run] recipes: gone.toml: cannot be read: No such file or directory"));
  study.run.recipes = {"float32"};
  CHECK_NOTHROW(check_runs(study));
}

TEST_CASE("keys of a rule that speak of products are named where it is for none", "[training]") {
  TemporaryDirectory folder;
  const auto idle = [&](const std::string& rule) {
    const std::string recipe = folder.file("mine.toml");
    std::ofstream(recipe) << recipes::recipe_text("float32") << "\n[[rule]]\noutput = \"bf16\"\n" << rule;
    TrainStudy study = parse_train_study("[model]\nkind = \"mlp\"\n[data]\ntable = \"digits\"\n[run]\nsteps = 1\n", "s.toml");
    study.run.recipes = {recipe};
    std::vector<std::string> all = idle_rules(study);
    for (std::string& sentence : all) sentence.erase(0, recipe.size());
    return all;
  };
  using Sentences = std::vector<std::string>;
  CHECK(
      idle("operations = [\"relu\"]\nrounding = \"stochastic\"\nweight = \"e4m3\"\n") ==
      Sentences{": the rule for operations relu in layers *: weight, rounding have no effect, as none of these is a product"});
  CHECK(idle("operations = [\"relu\"]\n").empty());
  CHECK(idle("rounding = \"stochastic\"\n").empty());  // for all operations, and so for products
}

TEST_CASE("moments that blocks of 256 do not fit are named", "[training]") {
  TemporaryDirectory folder;
  const auto idle = [&](const std::string& state) {
    std::string recipe = folder.file("mine.toml"), text = recipes::recipe_text("float32");
    std::ofstream(recipe) << text.insert(text.find("[[rule]]"), state);
    TrainStudy study = parse_train_study(  // weights of 128 x 64 and 10 x 128, biases of 128 and 10
        "[model]\nkind = \"mlp\"\nwidths = [64, 128, 10]\n[data]\ntable = \"digits\"\n[run]\nsteps = 1\n", "s.toml");
    study.run.recipes = {recipe};
    return idle_rules(study);
  };
  const std::string blocks = "second_moment = \"e4m3\"\nsecond_moment_scaling = \"blocks256\"\n";
  const std::vector<std::string> all = idle(blocks);
  REQUIRE(all.size() == 1);
  CHECK(all[0].ends_with("mine.toml: moments of 0.bias, 2.bias stay float32: they are no whole blocks"));
  CHECK(idle(blocks + "moments_from = 1000\n").empty());  // which asks for it
  CHECK(idle("second_moment = \"e4m3\"\n").empty());
}

TEST_CASE("moments in float32 have no scales", "[training]") {
  recipes::Recipe recipe = recipes::open_recipe("float32");
  CHECK_NOTHROW(state_storage_of(recipe));
  recipe.state.second_moment_scaling = "amax";
  CHECK_THROWS_WITH(state_storage_of(recipe), Catch::Matchers::Equals("recipe float32: second_moment: scaling 'amax': float32 "
                                                                      "needs no scales; leave it out"));
  recipe.state.second_moment = "e4m3";
  CHECK_NOTHROW(state_storage_of(recipe));
}

TEST_CASE("a rule that is for nothing in the model is named", "[training]") {
  TemporaryDirectory folder;
  const auto idle = [&](const std::string& rule) {
    const std::string recipe = folder.file("mine.toml");
    std::ofstream(recipe) << recipes::recipe_text("float32") << "\n[[rule]]\n" << rule << "\ninput = \"bf16\"\n";
    TrainStudy study = parse_train_study(one_weight(folder, 1, 1, ""), "study.toml");
    study.run.recipes = {recipe, "fp8_current"};
    return idle_rules(study).size();
  };
  CHECK(idle("operations = [\"linear\"]") == 0);
  CHECK(idle("layers = [\"0\"]") == 0);
  CHECK(idle("operations = [\"conv2d\"]") == 1);
  CHECK(idle("layers = [\"encoder.*\"]") == 1);
  CHECK(idle("operations = [\"linear\"]\nlayers = [\"1\"]") == 1);
}

TEST_CASE("keys that have no effect are named with their lines", "[training]") {
  const auto idle = [](const std::string& text) { return parse_train_study(text, "s.toml").idle; };
  using Sentences = std::vector<std::string>;
  const std::string run = "[run]\nsteps = 1\n", digits = "[data]\ntable = \"digits\"\n";
  CHECK(idle("[model]\nkind = \"cnn\"\nwidths = [2, 3]\n" + digits + run) ==
        Sentences{"s.toml:3: [model] widths has no effect with [model] kind \"cnn\""});
  CHECK(idle("[model]\nkind = \"mlp\"\nheads = 2\n" + digits + run) ==
        Sentences{"s.toml:3: [model] heads has no effect with [model] kind \"mlp\""});
  CHECK(idle("[model]\nkind = \"mlp\"\n[optimizer]\nkind = \"adam\"\nmomentum = 0.9\n" + digits + run) ==
        Sentences{"s.toml:5: [optimizer] momentum has no effect with kind \"adam\""});
  const std::string mlp = "[model]\nkind = \"mlp\"\n" + digits, damped = "[optimizer]\nlr = 0.1\ndampening = 0.5\n";
  CHECK(idle(mlp + damped + run) == Sentences{"s.toml:7: [optimizer] dampening has no effect with no momentum"});
  CHECK(idle(mlp + damped + "momentum = 0.9\n" + run).empty());
  CHECK(idle("[model]\nkind = \"mlp\"\n[optimizer]\neps = 1e-6\nmomentum = 0.9\n" + digits + run).size() == 1);
  CHECK(idle("[model]\nkind = \"mlp\"\n" + digits + "samples = 9\n" + run).size() == 1);
  CHECK(idle("[model]\nkind = \"mlp\"\n" + digits + run + "clip = \"before_unscale\"\nunscale = \"never\"\n").size() == 2);
  const std::string sequences = "[model]\nkind = \"lstm\"\n[data]\ntable = \"markov\"\n" + run;
  CHECK(idle(sequences + "checkpoint_activations = true\n") ==
        Sentences{"s.toml:7: [run] checkpoint_activations has no effect with [model] kind \"lstm\""});
  CHECK(idle(sequences + "reload_at = 0\nreload_loses = [\"scaler\"]\n").size() == 1);
  // Each of these has one.
  CHECK(idle("[model]\nkind = \"mlp\"\nwidths = [64, 10]\nactivation = \"gelu\"\n[optimizer]\nmomentum = 0.9\n" + digits +
             "[scaler]\nkind = \"pytorch\"\n" + run + "unscale = \"never\"\nclip_norm = 1\nclip = \"before_unscale\"\n")
            .empty());
}

TEST_CASE("what is in a file of weights and not in the model is named", "[training]") {
  TemporaryDirectory folder;
  const std::string study = one_weight(folder, 1, 1, "");
  const auto unused = [&] { return unused_in_init(parse_train_study(study, "s.toml").model); };
  CHECK(unused().empty());
  write_weights(folder.file("w.safetensors"), {{"0.weight", {1, 1}, {1}},
                                               {"0.bias", {1}, {0}},
                                               {"1.weight", {1}, {1}},
                                               {"0.running_mean", {1}, {0}},
                                               {"0.num_batches_tracked", {1}, {3}}});
  CHECK(unused() == folder.file("w.safetensors") + ": the model has no 1.weight; not taken");
}

TEST_CASE("the bytes of a text are tokens", "[training]") {
  const Samples samples = text_samples("banana split", "t.txt", 4, 9);
  // Of " abilnpst", by byte.
  CHECK(samples.count == 2);
  CHECK(samples.tokens == std::vector<std::size_t>{2, 1, 5, 1, 5, 1, 0, 7});
  CHECK(samples.classes == std::vector<std::size_t>{1, 5, 1, 5, 1, 0, 7, 6});
  CHECK(text_samples("\xff\x01\xff\x01", "t.txt", 3, 2).tokens == std::vector<std::size_t>{1, 0, 1});
  CHECK_THROWS_WITH(text_samples("banana split", "t.txt", 4, 8), "[model] vocabulary: 8; t.txt has 9 different bytes");
  CHECK_THROWS_WITH(text_samples("four", "t.txt", 4, 8), "t.txt: 4 bytes; a sequence of 4 and its last target need 5");
  CHECK_THROWS_WITH(text_samples("", "t.txt", 4, 8), "t.txt: 0 bytes; a sequence of 4 and its last target need 5");
}

TEST_CASE("a small GPT learns a text by heart", "[training]") {
  TemporaryDirectory folder;
  std::string text;
  for (int i = 0; i < 40; ++i) text += "abcabd";
  std::ofstream(folder.file("t.txt")) << text;
  const std::string study =
      "[model]\nkind = \"gpt\"\nwidth = 16\nheads = 2\nblocks = 1\ncontext = 6\nvocabulary = 4\n[data]\ntext = \"" +
      folder.file("t.txt") + "\"\nbatch = 8\n[optimizer]\nkind = \"adam\"\nlr = 0.01\n[run]\nsteps = 200\n";
  const RunResult result = run_of(study, "float32");
  CHECK(result.steps.front().loss > 1);
  // Of each sequence of six all but the first tokens can be told from those before.
  CHECK(result.steps.back().loss < 0.1);
  CHECK_FALSE(result.optimum);
  CHECK_THROWS_WITH(parse_train_study("[model]\nkind = \"mlp\"\n[data]\ntext = \"t\"\n[run]\nsteps = 1\n", "s.toml"),
                    Catch::Matchers::StartsWith("s.toml:2: [model] kind"));
}

TEST_CASE("studies that cannot be run are refused with file and line", "[training]") {
  const auto message = [](const std::string& text) -> std::string {
    try {
      parse_train_study(text, "s.toml");
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  const std::string data = "[data]\ntable = \"digits\"\n[run]\nsteps = 1\n";
  CHECK(message("[data]\ntable = \"digits\"\n") == "s.toml: [model] is missing");
  CHECK(message("[model]\nkind = \"mlp\"\n[data]\ntable = \"digits\"\n") == "s.toml: [run] steps or epochs: give one of them");
  CHECK(message("[model]\nkind = \"mlp\"\n[run]\nsteps = 1\n") == "s.toml: [data] inputs, table or text: give one of them");
  CHECK(message("[modle]\n" + data).starts_with("s.toml:1: unknown key 'modle'; nearest: model"));
  CHECK(message("[model]\nkind = \"rnn\"\n" + data).starts_with("s.toml:2: "));
  CHECK(message("[model]\nkind = \"layers\"\n" + data).find("[model] layers: give them with kind \"layers\"") !=
        std::string::npos);
  CHECK(message("[model]\nkind = \"layers\"\nlayers = [\"rellu\"]\n" + data) ==
        "s.toml:3: unknown layer 'rellu'; nearest: relu, gelu, silu");
  CHECK(message("[model]\nkind = \"layers\"\nlayers = [{linear = [3]}]\n" + data) == "s.toml:3: linear has 2 sizes, not 1");
  CHECK(message("[model]\nkind = \"layers\"\nlayers = [{linear = [3, 0]}]\n" + data) ==
        "s.toml:3: linear: sizes are whole numbers from 1 to 16777216");
  CHECK(message("[model]\nkind = \"mlp\"\n[scaler]\nkind = \"pytorh\"\n" + data).find("unknown scaler") != std::string::npos);
  CHECK(message("[model]\nkind = \"mlp\"\n" + data + "evaluate = [\"fp61_amp\"]\n")
            .starts_with("s.toml:7: [run] evaluate: unknown recipe 'fp61_amp'"));
  CHECK(message("[model]\nkind = \"mlp\"\n[loss]\nkind = \"l1\"\n" + data) ==
        "s.toml:4: kind: 'l1': known are cross_entropy, mse, bce_with_logits, sum");
  CHECK(message("[model]\nkind = \"mlp\"\n[optimizer]\nlr = -1\n" + data) ==
        "s.toml:4: lr: '-1': give a finite number of at least 0");
  for (const std::string key : {"clip_norm", "clip_value"}) {
    CHECK(message("[model]\nkind = \"mlp\"\n" + data + key + " = 0\n") ==
          "s.toml:7: " + key + ": 0 leaves nothing of any gradient; leave it out for no clipping");
    CHECK(message("[model]\nkind = \"mlp\"\n" + data + key + " = 1e-3\n").empty());
  }
  CHECK(message("[model]\nkind = \"mlp\"\n[optimizer]\nbetas = [0.9]\n" + data) == "s.toml:3: [optimizer] betas: give two");
  CHECK(message("[model]\nkind = \"mlp\"\n[optimizer]\nns_steps = 100\n" + data).starts_with("s.toml:4: "));
  CHECK(message("[model]\nkind = \"mlp\"\n[optimizer]\nkind = \"muon\"\nadjust_lr = \"rms\"\n" + data)
            .find("known are original, match_rms_adamw") != std::string::npos);
  CHECK(message("expect = \"fails\"\n[model]\nkind = \"mlp\"\n" + data).starts_with("s.toml:1: expect"));
  CHECK(message("[model]\nkind = \"gpt\"\n" + data).find("go together") != std::string::npos);
  CHECK(message("[model]\nkind = \"gpt\"\nheads = 3\n[data]\ntable = \"markov\"\n[run]\nsteps = 1\n")
            .find("3 does not divide width 64") != std::string::npos);
  for (const char* const kind : {"gpt", "lstm"})
    CHECK(message("[model]\nkind = \"" + std::string(kind) +
                  "\"\n[data]\ntable = \"markov\"\n[loss]\nkind = \"mse\"\n[run]\nsteps = 1\n") ==
          "s.toml:6: [loss] kind: \"mse\" compares numbers; of tokens there are cross_entropy and sum");
  CHECK(message("[model]\nkind = \"mlp\"\n" + data + "accumulate = 4611686018427387904\n")
            .starts_with("s.toml:7: accumulate: '4611686018427387904': give a whole number from 1 to "));
  CHECK(message("[model]\nkind = \"mlp\"\nwidths = [3]\n" + data) == "s.toml:1: [model] widths: give two or more");
  CHECK(message("[model]\nkind = \"mlp\"\n" + data).empty());

  TemporaryDirectory folder;
  const Network network{&folder};
  std::string text = network.study("steps = 1\n");
  text.replace(text.find("[7, 3]"), 6, "[8, 3]");
  CHECK_THROWS_AS(run_of(text, "float32"), Error);
  CHECK_THROWS_AS(run_of(one_weight(folder, 1, 1, "[scaler]\nkind = \"te_current\"\n"), "float32"), Error);
}

TEST_CASE("what only the data refute is said with its line", "[training]") {
  TemporaryDirectory folder;
  write_npy(folder.file("x.npy"), {4, 6}, numbers(24, 1));
  const auto message = [&](const std::string& data, const std::string& model = "kind = \"mlp\"\nwidths = [6, 2]\n",
                           const std::string& loss = "sum") {
    const TrainStudy study = parse_train_study(
        "[model]\n" + model + "[data]\n" + data + "[loss]\nkind = \"" + loss + "\"\n[optimizer]\nlr = 0.1\n[run]\nsteps = 1\n",
        "s.toml");
    try {
      train_all(study, {});
      return std::string();
    } catch (const Error& error) {
      return std::string(error.what());
    }
  };
  const std::string inputs = "inputs = \"" + folder.file("x.npy") + "\"\n";
  CHECK(message(inputs + "batch = 5\n") == "s.toml:6: [data] batch: 5 of 4 samples");
  CHECK(message(inputs + "held_back = 4\n") == "s.toml:6: [data] held_back: nothing is left to train on");
  write_npy(folder.file("t.npy"), {4}, {0, 1, 2, 1});
  const std::string targets = inputs + "targets = \"" + folder.file("t.npy") + "\"\n";
  CHECK(message(targets, "kind = \"mlp\"\nwidths = [6, 2]\n", "cross_entropy") == "s.toml:6: [data] targets: class 2 of 2");
  CHECK(message(targets, "kind = \"mlp\"\nwidths = [6, 3]\n", "cross_entropy").empty());
  CHECK(message("table = \"markov\"\n", "kind = \"gpt\"\nvocabulary = 3\n") ==
        "s.toml:3: [model] vocabulary: 3; markov needs 4 or more");
  CHECK(message(inputs + "batch = 4\n").empty());
}

TEST_CASE("every product has a delayed scale of its own", "[training]") {
  TemporaryDirectory folder;
  const auto layers = [&](const std::string& model, const std::string& recipe = "fp8_delayed") {
    const std::string saved = folder.file("run.safetensors");
    run_of("[model]\n" + model + "width = 16\ncontext = 8\n[data]\ntable = \"markov\"\nsamples = 8\n[run]\nsteps = 1\n", recipe,
           {.saved = saved});
    std::set<std::string> found;
    for (const auto& [name, values] : read_saved_run(saved).numbers)
      if (const std::string start = "delayed/"; name.starts_with(start))
        found.insert(name.substr(start.size(), name.find('/', start.size()) - start.size()));
    return found;
  };
  using Layers = std::set<std::string>;
  const std::string block = "transformer.h.0.", of_attention = folder.file("attention.toml");
  CHECK(layers("kind = \"gpt\"\nblocks = 1\nheads = 2\n") ==
        Layers{"lm_head", block + "attn.c_attn", block + "attn.c_proj", block + "mlp.c_fc", block + "mlp.c_proj"});
  std::ofstream(of_attention)
      << recipes::recipe_text("float32")
      << "\n[[rule]]\noperations = [\"attention\"]\ninput = \"e4m3\"\nweight = \"e4m3\"\nscaling = \"delayed\"\n";
  CHECK(layers("kind = \"gpt\"\nblocks = 1\nheads = 2\n", of_attention) ==
        Layers{block + "attn.scores", block + "attn.values"});
  CHECK(layers("kind = \"lstm\"\n") == Layers{"head", "lstm.hh", "lstm.ih"});
}

TEST_CASE("scales of rules are words of their own", "[training]") {
  TemporaryDirectory folder;
  const auto under = [&](const std::string& scaling) {
    const std::string recipe = folder.file("mine.toml");
    std::ofstream(recipe) << recipes::recipe_text("float32")
                          << "\n[[rule]]\noperations = [\"linear\"]\ninput = \"e4m3\"\nscaling = \"" << scaling << "\"\n";
    return run_of(one_weight(folder, 0.3, 0.7, "", 5), recipe);
  };
  CHECK(same_bits(under("delayed"), under("delayed:amax_history_len=1024")));
  CHECK(same_bits(under("delayed"), under("delayed:margin=6")));         // as a power of two does among normal numbers
  CHECK_FALSE(same_bits(under("delayed"), under("delayed:margin=16")));  // where the input is subnormal
  CHECK_THROWS_WITH(under("te_delayed"),
                    Catch::Matchers::StartsWith("layer 0: recipe mine: linear: scaling 'te_delayed': give a number, "
                                                "current, delayed with its parameters, or one of none, "));
  CHECK_THROWS_WITH(under("delayed:marign=6"), Catch::Matchers::ContainsSubstring("unknown parameter 'marign'"));
  std::ofstream(folder.file("deep.toml")) << recipes::recipe_text("float32") << "\n[[rule]]\ndepth = [\"first:0\"]\n";
  CHECK_THROWS_WITH(recipes::open_recipe(folder.file("deep.toml")),
                    Catch::Matchers::EndsWith(": depth: 'first:0': a depth is first:N or last:N") &&
                        Catch::Matchers::ContainsSubstring("deep.toml:"));
}

TEST_CASE("what training refuses of a recipe is refused without training, in its words", "[training]") {
  TemporaryDirectory folder;
  const std::string path = folder.file("mine.toml");
  const auto told = [](const auto& act) -> std::string {
    try {
      act();
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  for (const std::string rule :
       {"engine = \"sm_99\"", "input = \"e4m3\"\nweight = \"bf16\"\nengine = \"sm_90\"", "accumulate = \"e4m3\"",
        "grad_output = \"fp64\"\nengine = \"sm_90\"\ninput = \"fp16\"\nweight = \"fp16\"", "weight = \"keep\"",
        "input = \"e4m3\"\nscaling = \"delyed\"", "input = \"e4m3\"\nscaling = \"delayed:foo=3\"",
        "input = \"e4m3\"\nscaling = \"-1\"", "weight_scaling = \"amax\"", "layers = [\"0\"]\nengine = \"sm_99\"",
        "depth = [\"first:1\"]\nengine = \"sm_99\""}) {
    CAPTURE(rule);
    std::ofstream(path) << recipes::recipe_text("float32") << "\n[[rule]]\noperations = [\"linear\"]\n" << rule << "\n";
    const std::string text = one_weight(folder, 1, 1, "");
    TrainStudy study = parse_train_study(text, "study.toml");
    study.run.recipes = {path};

    const std::string of_run = told([&] { run_of(text, path); });
    const std::string of_rehearsal = told([&] { rehearse_runs(study); });
    const std::string of_check = told([&] { check_recipe(recipes::open_recipe(path)); });

    CHECK_FALSE(of_run.empty());
    CHECK(of_rehearsal == of_run);
    std::string plain = of_run;
    for (const std::string_view place : {"layer 0: ", "recipe mine: ", "linear: "})
      if (plain.starts_with(place)) plain.erase(0, place.size());
    CHECK(of_check.starts_with("recipe mine: "));
    CHECK(of_check.ends_with(plain));
  }
  for (const requests::BuiltInFile& preset : recipes::recipe_presets()) {
    const recipes::Recipe recipe = recipes::open_recipe(std::string(preset.name));
    CHECK(told([&] { check_recipe(recipe); }).empty());
    CHECK(remarks_of(recipe).empty());
  }
}

TEST_CASE("a recipe is checked with those that it turns to", "[training]") {
  TemporaryDirectory folder;
  const std::string narrow = folder.file("narrow.toml"), wide = folder.file("wide.toml");
  std::ofstream(narrow) << recipes::recipe_text("float32") << "\n[dynamic]\nwider = \"" << wide << "\"\n";
  std::ofstream(wide) << recipes::recipe_text("float32") << "\n[[rule]]\noperations = [\"linear\"]\nengine = \"sm_99\"\n";
  TrainStudy study = parse_train_study(one_weight(folder, 1, 1, ""), "study.toml");
  study.run.recipes = {narrow};
  CHECK_THROWS_WITH(rehearse_runs(study), Catch::Matchers::ContainsSubstring("unknown engine 'sm_99'"));
  CHECK_THROWS_WITH(check_recipe(recipes::open_recipe(narrow)), Catch::Matchers::ContainsSubstring("unknown engine 'sm_99'"));
  study.run.recipes = {"float32"}, study.run.evaluate = {wide};
  CHECK_THROWS_WITH(rehearse_runs(study), Catch::Matchers::ContainsSubstring("unknown engine 'sm_99'"));
}

TEST_CASE("a recipe for some products is one, and what it leaves open is told", "[training]") {
  const auto recipe = [](const std::string& rules) {
    return recipes::parse_recipe("[[rule]]\ninput = \"keep\"\noutput = \"keep\"\n" + rules, "mine.toml");
  };
  const std::string linear =
      "[[rule]]\noperations = [\"linear\"]\ninput = \"bf16\"\nweight = \"bf16\"\noutput = \"bf16\"\ngrad_output = \"bf16\"\n"
      "grad_input = \"bf16\"\ngrad_weight = \"bf16\"\naccumulate = \"float32\"\n";
  CHECK_NOTHROW(check_recipe(recipe(linear)));
  CHECK(remarks_of(recipe(linear)) ==
        std::vector<std::string>{"recipe mine: says too little of matmul, conv, attention in layers that no rule names: "
                                 "models that have these are refused"});
  CHECK_THROWS_WITH(check_recipe(recipe("")), "recipe mine: no format for input of linear");
  CHECK_THROWS_WITH(check_recipe(recipe(linear + "[[rule]]\noperations = [\"conv\"]\nweight = \"bf16\"\n")),
                    "recipe mine: no format for input of conv");
  const std::vector<std::string> remarks =
      remarks_of(recipe(linear + "[[rule]]\noperations = [\"linaer\"]\ninput = \"bf16\"\n[[rule]]\nlayers = [\"0\"]\n"));
  REQUIRE(remarks.size() == 3);
  CHECK(
      remarks[0].starts_with("recipe mine: the rule for operations linaer in layers * is for no operation that there is; "
                             "nearest: linear, "));
  CHECK(remarks[1] == "recipe mine: the rule for operations * in layers 0 says nothing");
}

TEST_CASE("a batch norm is not trained on one number", "[training]") {
  TemporaryDirectory folder;
  write_npy(folder.file("x.npy"), {2, 3}, numbers(6, 1));
  const auto study = [&](int batch) {
    return "[model]\nkind = \"layers\"\nlayers = [{batch_norm = [3]}]\n[data]\ninputs = \"" + folder.file("x.npy") +
           "\"\nbatch = " + std::to_string(batch) + "\n[loss]\nkind = \"sum\"\n[run]\nsteps = 1\n";
  };
  CHECK_NOTHROW(run_of(study(2), "float32"));
  CHECK_THROWS_WITH(run_of(study(1), "float32"),
                    "layer 0: batch_norm: one number for each channel, of which there is no variance");
  CHECK_NOTHROW(rehearse_runs(parse_train_study(study(2), "study.toml")));
  CHECK_THROWS_WITH(rehearse_runs(parse_train_study(study(1), "study.toml")),
                    "layer 0: batch_norm: one number for each channel, of which there is no variance");
}

}  // namespace ulpscope::training
