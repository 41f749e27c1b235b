// SPDX-License-Identifier: Apache-2.0
// Training runs: float64 against the formulas written as plain loops, the effects that papers name, files in and out, bad
// input.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "recipes/recipe.hpp"
#include "small_runs.hpp"
#include "training/train/train_request.hpp"

namespace ulpscope::training {

TEST_CASE("training in float64 follows the formulas", "[training]") {
  TemporaryDirectory folder;
  const Network network{&folder};
  const std::string more = "[optimizer]\nkind = \"sgd\"\nlr = 0.5\nmomentum = 0.9\n";
  const RunResult result =
      run_of(network.study("steps = 60\nrecipes = [\"float64\"]\n", more), "float64", {.record_every = 20});

  Plain plain{5, 7, 3, wide(network.w1), wide(network.b1), wide(network.w2), wide(network.b2)};
  REQUIRE(result.steps.size() == 60);
  for (const TrainStep& step : result.steps) {
    const long double loss = plain.step(network.x, network.t, 12, 0.5L, 0.9L);
    REQUIRE(std::fabs(static_cast<long double>(step.loss) - loss) < 1e-13L);
  }
  REQUIRE(result.recorded.size() == 3);
  CHECK(result.recorded.back().step == 60);
  const std::vector<const std::vector<long double>*> expected{&plain.w1, &plain.b1, &plain.w2, &plain.b2};
  for (std::size_t p = 0; p < 4; ++p)
    for (std::size_t i = 0; i < expected[p]->size(); ++i)
      CHECK(std::fabs(static_cast<long double>(result.recorded.back().values[p][i]) - (*expected[p])[i]) < 1e-12L);

  // float32 follows to rounding error, and differs.
  const RunResult single = run_of(network.study("steps = 60\n", more), "float32");
  double apart = 0;
  for (std::size_t p = 0; p < 4; ++p)
    for (std::size_t i = 0; i < expected[p]->size(); ++i)
      apart = std::max(apart, std::fabs(single.recorded.back().values[p][i] - result.recorded.back().values[p][i]));
  CHECK(apart > 0);
  CHECK(apart < 1e-4);
}

TEST_CASE("micro-batches add up to the batch", "[training]") {
  TemporaryDirectory folder;
  const Network network{&folder};
  const std::string more = "[optimizer]\nlr = 0.5\n";
  // 12 samples at once, or 3 at a time, four times.
  const RunResult whole_batch = run_of(network.study("steps = 5\n", more), "float64");
  std::string text = network.study("steps = 5\naccumulate = 4\n", more);
  text.insert(text.find("[loss]"), "batch = 3\n");
  const RunResult parts = run_of(text, "float64");
  for (std::size_t p = 0; p < 4; ++p)
    for (std::size_t i = 0; i < parts.recorded.back().values[p].size(); ++i)
      CHECK(std::fabs(parts.recorded.back().values[p][i] - whole_batch.recorded.back().values[p][i]) < 1e-14);
}

TEST_CASE("the same bits with any number of threads, and others with another seed", "[training]") {
  TemporaryDirectory folder;
  Numbers classes = numbers(97, 9);
  for (double& x : classes) x = std::floor((x + 1) * 4.999);
  write_npy(folder.file("x.npy"), {97, 64}, numbers(6208, 8));
  write_npy(folder.file("t.npy"), {97}, classes);
  const std::string text =
      "[model]\nkind = \"cnn\"\n[data]\ninputs = \"" + folder.file("x.npy") + "\"\ntargets = \"" + folder.file("t.npy") + R"("
batch = 16
order = "shuffled"
held_back = 40
[optimizer]
kind = "adamw"
weight_decay = 0.1
[scaler]
kind = "pytorch"
[run]
steps = 4
)";
  const std::string recipe = GENERATE("float32", "bf16_stochastic", "nvfp4", "fp8_delayed", "mxfp8_floor");
  CAPTURE(recipe);
  const RunResult one = run_of(text, recipe, {.threads = 1}), three = run_of(text, recipe, {.threads = 3});
  CHECK(same_bits(one, three));
  CHECK(one.accuracy == three.accuracy);
  CHECK_FALSE(same_bits(one, run_of(text, recipe, {.threads = 1}, 1)));
}

TEST_CASE("a loss scale saves gradients that fp16 loses, and one too large skips every step", "[training]") {
  TemporaryDirectory folder;
  // The gradient 2^-26 is zero in fp16 without a scale.
  const double x = 0x1p-20, w = 1;
  const auto with = [&](const std::string& scaler) {
    return run_of(one_weight(folder, x, w, scaler.empty() ? "" : "[scaler]\nkind = \"" + scaler + "\"\n", 3), "fp16_amp");
  };
  CHECK(weight_of(with("")) == w - 3 * x);  // 2^-20 is a subnormal number of fp16
  const double small = 0x1p-26;
  const auto with_small = [&](const std::string& scaler) {
    return run_of(one_weight(folder, small, w, scaler.empty() ? "" : "[scaler]\nkind = \"" + scaler + "\"\n"), "fp16_amp");
  };
  CHECK(with_small("").steps[0].grad_norm == 1.0);  // the bias alone, whose gradient is 1
  // x itself is an operand of fp16: what is lost before the scale stays lost.
  CHECK(with_small("static:2^10").steps[0].grad_norm == 1.0);

  const RunResult never = with("static:2^20");
  CHECK(std::all_of(never.steps.begin(), never.steps.end(), [](const TrainStep& step) { return step.skipped; }));
  CHECK(weight_of(never) == w);
  const RunResult dynamic = with("pytorch:init_scale=2^17");  // the bias' gradient overflows at 2^16
  CHECK(dynamic.steps[0].skipped);
  CHECK(dynamic.steps[1].skipped);
  CHECK_FALSE(dynamic.steps[2].skipped);
  CHECK(dynamic.steps[2].scale == 0x1p15);
  CHECK(weight_of(dynamic) == w - x);
}

TEST_CASE("gradients are clipped behind the unscaling, or, which is wrong, before it", "[training]") {
  TemporaryDirectory folder;
  const auto moved = [&](const std::string& order) {
    std::string text = one_weight(folder, 3, 1, "[scaler]\nkind = \"static:2^4\"\n");
    text += "clip_value = 2\nclip = \"" + order + "\"\n";
    return 1 - weight_of(run_of(text, "float32"));
  };
  CHECK(moved("after_unscale") == 2);
  CHECK(moved("before_unscale") == 2.0 / 16);
}

TEST_CASE("gradients of weights no wider than they are stay in their format when they are unscaled and clipped", "[training]") {
  TemporaryDirectory folder;
  const auto run = [&](const std::string& weights, const std::string& gradients, double x, const std::string& more) {
    std::string recipe = folder.file("narrow.toml"), text = recipes::recipe_text("float32");
    text.insert(text.find("[[rule]]"), "weights = \"" + weights + "\"\ngradients = \"" + gradients + "\"\n");
    std::ofstream(recipe) << text;
    return run_of(one_weight(folder, x, 0, "[scaler]\nkind = \"static:2^14\"\n") + more, recipe, {.gradients_every = 1});
  };
  const auto unscaled = [&](const std::string& weights) {
    return run(weights, "fp16", 0x1p-26, "").gradients.back().values[0][0];  // half of fp16's least number goes to 0, as less
                                                                             // does
  };
  CHECK(unscaled("fp16") == 0);
  CHECK(unscaled("float32") == 0x1p-26);  // main gradients
  const auto clipped = [&](const std::string& weights) {
    return -weight_of(run(weights, "bf16", 3, "clip_value = 1.0009765625\n"));  // 1 + 2^-10, no number of bf16
  };
  CHECK(clipped("fp16") == 1);
  CHECK(clipped("float32") == 1 + 0x1p-10);
}

TEST_CASE("weights in bfloat16 stop, with stochastic and Kahan's updates they do not", "[training]") {
  TemporaryDirectory folder;
  // Every step takes 2^-10 off a weight of 1, whose neighbours below are 2^-8 apart.
  const auto after = [&](const std::string& recipe) {
    std::string text = one_weight(folder, 0x1p-10, 1, "", 256);
    return run_of(text, recipe);
  };
  const RunResult nearest = after("bf16_pure");
  CHECK(weight_of(nearest) == 1);
  const std::vector<TrainFinding> findings = watched_findings(nearest);
  CHECK(std::none_of(findings.begin(), findings.end(), [](const auto& f) { return f.finding == "non_finite"; }));
  CHECK(weight_of(after("bf16_kahan")) == 0.75);
  CHECK(std::fabs(weight_of(after("bf16_stochastic")) - 0.75) < 0.1);
  CHECK(nearest.steps[0].wanted == 2);
  CHECK(nearest.steps[0].lost == 1);
}

TEST_CASE("a run that becomes infinite ends with the operation that made it so", "[training]") {
  TemporaryDirectory folder;
  const RunResult result = run_of(one_weight(folder, 300, 300, "", 5), "fp16_amp");
  CHECK(result.diverged);
  CHECK(result.steps.size() == 1);
  REQUIRE(result.findings.size() == 1);
  CHECK(result.findings[0].finding == "non_finite");
  CHECK(result.findings[0].layer == "0");
  CHECK(result.findings[0].place == "linear output");
  // float32 holds the same product.
  CHECK_FALSE(run_of(one_weight(folder, 300, 300, "", 5), "float32").diverged);
}

TEST_CASE("a run whose update is infinite names the weight, and leaves no checkpoint", "[training]") {
  TemporaryDirectory folder;
  std::string study = one_weight(folder, 1, 1, "", 5);
  const std::string rate = "lr = 1\n";
  study.replace(study.find(rate), rate.size(), "lr = 1e39\n");
  const RunResult result = run_of(study, "float32");
  CHECK(result.diverged);
  CHECK(result.recorded.empty());
  REQUIRE(result.findings.size() == 1);
  CHECK(result.findings[0].finding == "non_finite");
  CHECK(result.findings[0].layer == "0");
  CHECK(result.findings[0].place == "update weight");
  CHECK(std::isinf(result.findings[0].value));
}

TEST_CASE("a run does not go on under a recipe that was written to meanwhile", "[training]") {
  TemporaryDirectory folder;
  const std::string recipe = folder.file("mine.toml");
  std::ofstream(recipe) << recipes::recipe_text("float32");
  TrainStudy study = parse_train_study(one_weight(folder, 1, 1, ""), "study.toml");
  study.run.recipes = {recipe};
  TrainAll all{.run = {}, .saved = folder.path()};
  train_all(study, all);
  all.run.resume = true;
  CHECK_NOTHROW(train_all(study, all));
  std::ofstream(recipe) << recipes::recipe_text("bf16_pure");
  CHECK_THROWS_WITH(train_all(study, all), Catch::Matchers::ContainsSubstring("mine-0.safetensors: is of other work: '"));
}

TEST_CASE("a run does not go on with files that were written to meanwhile", "[training]") {
  TemporaryDirectory folder;
  const Network network{&folder};
  const std::string wider = folder.file("wider.toml"), tried = folder.file("tried.toml"), times = folder.file("times.csv");
  const std::string recipe = folder.file("mine.toml");
  const auto write = [](const std::string& path, const std::string& text) { std::ofstream(path) << text; };
  const auto write_all = [&] {
    const std::string text = network.study("steps = 1\nevaluate = [\"" + tried + "\"]\nproduct_times = \"" + times + "\"\n");
    write(wider, recipes::recipe_text("float32"));
    write(tried, recipes::recipe_text("float32"));
    write(recipe, recipes::recipe_text("bf16_amp") + "\n[dynamic]\nwider = \"" + wider + "\"\n");
    write(times,
          "format,fast_accumulation,m,n,k,median_us,scale_mode_a,scale_mode_b\n"
          "float32,no,16,16,16,1,SCALAR_32F,SCALAR_32F\n");
    return text;
  };
  TrainStudy study = parse_train_study(write_all(), "study.toml");
  study.run.recipes = {recipe};
  TrainAll all{.run = {.identity = "train\n"}, .saved = folder.path()};
  train_all(study, all);
  all.run.resume = true;
  CHECK_NOTHROW(train_all(study, all));
  const auto refused = [&](const std::string& line) {
    CAPTURE(line);
    CHECK_THROWS_WITH(train_all(study, all), Catch::Matchers::ContainsSubstring("is of other work: '" + line) &&
                                                 Catch::Matchers::EndsWith("; remove it to begin anew"));
    write_all();
    CHECK_NOTHROW(train_all(study, all));
  };
  Numbers other = network.x;
  other[30] += 1;
  write_npy(folder.file("x.npy"), {network.samples, network.in}, other);
  refused("[data] inputs, SHA-256 ");
  other = network.t;
  other[20] += 1;
  write_npy(folder.file("t.npy"), {network.samples, network.out}, other);
  refused("[data] targets, SHA-256 ");
  Network begun = network;
  begun.w2[3] += 1;
  begun.study("");
  refused("[model] init, SHA-256 ");
  write(times,
        "format,fast_accumulation,m,n,k,median_us,scale_mode_a,scale_mode_b\n"
        "float32,no,16,16,16,2,SCALAR_32F,SCALAR_32F\n");
  refused("[run] product_times, SHA-256 ");
  write(wider, recipes::recipe_text("float32") + "# another\n");
  refused("");
  write(tried, recipes::recipe_text("float32") + "# another\n");
  refused("");
}

TEST_CASE("a run goes on under other recipes, seeds and threads, and under no other device or study", "[training]") {
  TemporaryDirectory folder;
  const std::string path = folder.file("study.toml");
  std::ofstream(path) << one_weight(folder, 1, 1, "");
  TrainRequest first;
  first.study = path;
  TrainRequest same = first;
  same.recipe = {"bf16_amp"}, same.seed = {7}, same.threads = 3;
  CHECK(identity_of(same) == identity_of(first));
  std::set<std::string> identities{identity_of(first)};
  const auto is_other = [&](const auto& change) {
    TrainRequest other = first;
    change(other);
    CHECK(identities.insert(identity_of(other)).second);
  };
  is_other([](TrainRequest& r) { r.steps = 2; });
  is_other([](TrainRequest& r) { r.engine = "sm_90"; });
  is_other([](TrainRequest& r) { r.product_times = "times.csv"; });
  is_other([](TrainRequest& r) { r.device = {"emulated:sm_90"}; });
  is_other([](TrainRequest& r) { r.instruction = "wgmma"; });
  is_other([](TrainRequest& r) { r.check = true; });
  is_other([](TrainRequest& r) { r.emulate_rest = true; });
  const std::string before = identity_of(first);
  std::ofstream(path) << one_weight(folder, 1, 1, "", 2);
  CHECK(identity_of(first) != before);
}

TEST_CASE("scaling \"current\" is that by the present amax", "[training]") {
  TemporaryDirectory folder;
  const auto of = [&](const std::string& scaling) {
    const std::string recipe = folder.file("mine.toml");
    std::string text = recipes::recipe_text("fp8_current");
    const std::string word = "scaling = \"amax\"";
    std::ofstream(recipe) << text.replace(text.find(word), word.size(), "scaling = \"" + scaling + "\"");
    return run_of(one_weight(folder, 0.3, 0.7, "", 5), recipe);
  };
  CHECK(same_bits(of("current"), of("amax")));
  CHECK_FALSE(same_bits(of("current"), of("none")));
}

TEST_CASE("scales of a rule are for numbers of narrow range, and others are refused theirs", "[training]") {
  TemporaryDirectory folder;
  const Network network{&folder};
  const auto under = [&](const std::string& scaling) {
    const std::string recipe = folder.file("mine.toml");
    std::ofstream(recipe) << "[[rule]]\ninput = \"keep\"\noutput = \"keep\"\n[[rule]]\noperations = [\"mse\"]\n"
                             "input = \"float32\"\noutput = \"float32\"\n[[rule]]\noperations = [\"linear\"]\n"
                             "input = \"e4m3\"\nweight = \"e4m3\"\noutput = \"bf16\"\ngrad_output = \"bf16\"\n"
                             "grad_input = \"bf16\"\ngrad_weight = \"float32\"\naccumulate = \"float32\"\n"
                          << scaling;
    return run_of(network.study("steps = 5\n", "[optimizer]\nlr = 0.5\n"), recipe);
  };
  for (const std::string rule : {"amax", "pow2", "row", "1x128", "mx:rceil", "current", "delayed"}) {
    CAPTURE(rule);
    const RunResult general = under("scaling = \"" + rule + "\"\n"),
                    each = under("input_scaling = \"" + rule + "\"\nweight_scaling = \"" + rule + "\"\n");
    CHECK_FALSE(general.diverged);
    CHECK(same_bits(general, each));
    CHECK_THROWS_WITH(
        under("grad_output_scaling = \"" + rule + "\"\n"),
        Catch::Matchers::ContainsSubstring("grad_output_scaling '" + rule + "' of linear: bfloat16 has the range of float32"));
  }
  CHECK_FALSE(under("scaling = \"0.5\"\n").diverged);  // a number is for all
}

TEST_CASE("PopART's upper bin is that of the gradients' own format", "[training]") {
  TemporaryDirectory folder;
  const Network network{&folder};
  const RunResult result = run_of(network.study("steps = 60\n", "[scaler]\nkind = \"popart\"\n"), "fp16_amp");
  CHECK_FALSE(result.diverged);
  double largest = 0;
  for (const TrainStep& step : result.steps) largest = std::max(largest, step.scale);
  CHECK(largest > 1);
  CHECK(result.steps.back().scale < 0x1p40);
}

TEST_CASE("the classes of every rounding are counted", "[training]") {
  TemporaryDirectory folder;
  // 2^-26 is zero as an operand of fp16, 2^-20 subnormal.
  for (const auto& [x, zero, subnormal] : {std::tuple{0x1p-26, 1, 0}, {0x1p-20, 0, 1}, {0.5, 0, 0}}) {
    const RunResult result = run_of(one_weight(folder, x, 1, ""), "fp16_amp");
    const auto found = std::find_if(result.places.begin(), result.places.end(), [](const WatchedPlace& p) {
      return p.place == Place{"0", "linear", "input"};
    });
    REQUIRE(found != result.places.end());
    CHECK(found->counts.format == emu::float16);
    // Forward, and again where the weight's gradient is formed.
    CHECK(found->counts.count == 2);
    CHECK(found->counts.to_zero == static_cast<std::uint64_t>(2 * zero));
    CHECK(found->counts.subnormal == static_cast<std::uint64_t>(2 * subnormal));
  }
}

TEST_CASE("what is recorded begins another run, and is a trace of gradients", "[training]") {
  TemporaryDirectory folder;
  const Network network{&folder};
  const std::string more = "[optimizer]\nlr = 0.5\n";
  const RunResult ten = run_of(network.study("steps = 10\n", more), "float32", {.gradients_every = 2, .record_every = 5});
  write_recorded(folder.path(), {ten});
  CHECK(std::filesystem::exists(folder.file("weights/float32-0-5.safetensors")));
  CHECK(std::filesystem::exists(folder.file("weights/float32-0-10.safetensors")));
  std::string text = network.study("steps = 5\n", more);
  const std::string before = folder.file("w.safetensors");
  text.replace(text.find(before), before.size(), folder.file("weights/float32-0-5.safetensors"));
  // SGD without momentum has no state: five steps on are the last five of ten.
  CHECK(run_of(text, "float32").recorded.back().values == ten.recorded.back().values);

  const ScaleResult scaled = replay({.trace = folder.file("gradients/float32-0.safetensors"), .scaler = {"static:1"}});
  REQUIRE(scaled.replays[0].steps.size() == 5);
  CHECK(scaled.replays[0].steps[1].number == 2);
  CHECK(scaled.elements == std::uint64_t{5} * (35 + 7 + 21 + 3));
}

TEST_CASE("Muon trains weights of two dimensions, with torch's momentum without a word of it", "[training]") {
  TemporaryDirectory folder;
  const Network network{&folder};
  const auto after = [&](const std::string& optimizer, const std::string& recipe) {
    return run_of(network.study("steps = 3\n", "[optimizer]\nlr = 0.1\n" + optimizer), recipe).recorded.back().values;
  };
  const auto muon = after("kind = \"muon\"\n", "float32"), adamw = after("kind = \"adamw\"\n", "float32");
  CHECK(muon ==
        after("kind = \"muon\"\nmomentum = 0.95\nnesterov = true\nns_steps = 5\nadjust_lr = \"original\"\n", "float32"));
  CHECK(muon != after("kind = \"muon\"\nmomentum = 0.9\n", "float32"));
  CHECK(muon != after("kind = \"muon\"\nnesterov = false\n", "float32"));
  CHECK(muon != after("kind = \"muon\"\nadjust_lr = \"match_rms_adamw\"\n", "float32"));
  CHECK(muon == after("kind = \"muon\"\n", with_states(folder, "orthogonal = \"float32\"\n")));
  CHECK(muon != after("kind = \"muon\"\n", with_states(folder, "")));  // whose iteration is in bfloat16
  CHECK(muon[0] != adamw[0]);
}

TEST_CASE("a moving average of the weights is recorded, and found where it stands still", "[training]") {
  TemporaryDirectory folder;
  const Network network{&folder};
  const std::string more = "[optimizer]\nlr = 0.5\n";
  const auto averaged = [&](const std::string& recipe) {
    return run_of(network.study("steps = 20\naverage = 0.9999\n", more), recipe, {.record_every = 1});
  };
  const auto stands_still = [](const RunResult& run) {
    const std::vector<TrainFinding> all = watched_findings(run);
    return std::any_of(all.begin(), all.end(), [](const auto& f) { return f.finding == "average_stagnation"; });
  };
  const RunResult wide = averaged("float64"), narrow = averaged("bf16_pure");
  std::vector<std::vector<double>> expected = wide.recorded[0].values;
  for (const RecordedWeights& step : wide.recorded)
    for (std::size_t p = 0; p < 4; ++p)
      for (std::size_t i = 0; i < expected[p].size(); ++i) {
        expected[p][i] = 0.9999 * expected[p][i] + 0.0001 * step.values[p][i];
        REQUIRE(std::fabs(step.averages[p][i] - expected[p][i]) < 1e-14);
      }
  CHECK_FALSE(stands_still(wide));
  CHECK_FALSE(stands_still(averaged("float32")));
  CHECK(stands_still(narrow));
  int moved = 0;  // but for weights so near to 0 that they are far from their average
  for (std::size_t p = 0; p < 4; ++p)
    for (std::size_t i = 0; i < expected[p].size(); ++i)
      moved += narrow.recorded.back().averages[p][i] != narrow.recorded[0].values[p][i] ? 1 : 0;
  CHECK(moved <= 1);
  CHECK(narrow.recorded.back().values != narrow.recorded[0].values);
  CHECK(narrow.average_format == emu::bfloat16);
  CHECK(wide.steps[0].average_wanted == 0);
  // An average in bfloat16 of weights in float32, of which none stands still.
  const RunResult mixed = averaged(with_states(folder, "average = \"bf16\"\n"));
  CHECK(stands_still(mixed));
  CHECK(mixed.steps.back().lost == 0);
  write_recorded(folder.path(), {mixed});
  CHECK(tensors::open_one(folder.file("weights/mine-0-20.safetensors") + ":average.0.weight").dtype.format == emu::bfloat16);

  // What is recorded begins another run as it did, and has the average beside it.
  write_recorded(folder.path(), {narrow});
  const std::string path = folder.file("weights/bf16_pure-0-20.safetensors");
  CHECK(tensors::open_one(path + ":average.0.weight").dtype.format == emu::bfloat16);
  const RunResult without = run_of(network.study("steps = 20\n", more), "bf16_pure");
  CHECK(without.recorded.back().averages.empty());
  CHECK(without.recorded.back().values == narrow.recorded.back().values);
}

TEST_CASE("moments are stored as the recipe says", "[training]") {
  TemporaryDirectory folder;
  const auto after = [&](const std::string& state) {
    const Network network{&folder};
    return run_of(network.study("steps = 4\n", "[optimizer]\nkind = \"adam\"\n"), with_states(folder, state))
        .recorded.back()
        .values;
  };
  const std::string eight = "first_moment = \"dynamic8\"\nsecond_moment = \"dynamic8\"\n";
  const auto plain = after("");
  CHECK(after(eight) != plain);
  CHECK(after(eight + "moments_from = 36\n") == plain);
  const auto mixed = after(eight + "moments_from = 35\n");  // the first weight alone
  CHECK(mixed[0] != plain[0]);
  const auto bare = after("second_moment = \"e4m3\"\n");
  CHECK(bare != plain);
  CHECK(after("second_moment = \"e4m3\"\nsecond_moment_scaling = \"1x128\"\n") != bare);
  CHECK_THROWS_WITH(after("first_moment = \"e4m3\"\nfirst_moment_scaling = \"1x256\"\n"),
                    Catch::Matchers::StartsWith("recipe mine: first_moment: scaling '1x256': give a positive number"));
  CHECK_THROWS_WITH(
      after("orthogonal = \"float64\"\n"),
      "recipe mine: orthogonal: float64 is wider than float32, in which steps of weights in float32 are computed");
}

TEST_CASE("tables have the columns that scripts rely on", "[training]") {
  TemporaryDirectory folder;
  const RunResult result = run_of(one_weight(folder, 300, 300, "", 5), "fp16_amp");
  const std::vector<reports::Table> tables = train_tables({result});
  const auto begins = [](const reports::Table& table, const std::string& name, const std::vector<std::string>& columns) {
    CHECK(table.name == name);
    REQUIRE(table.columns.size() >= columns.size());
    CHECK(std::equal(columns.begin(), columns.end(), table.columns.begin()));
  };
  begins(tables[0], "curves", {"recipe", "seed", "step", "loss", "grad_norm", "scale", "skipped"});
  begins(tables[1], "summary", {"recipe"});
  begins(tables[2], "tensors", {"recipe", "seed", "step", "layer"});
  begins(tables[3], "findings", {"recipe", "seed", "step", "layer", "place", "finding", "value", "threshold"});
  CHECK(train_findings({result}, "")[0].severity == reports::Severity::bad);
  CHECK(train_findings({result}, "diverges")[0].severity == reports::Severity::warning);
}

}  // namespace ulpscope::training
