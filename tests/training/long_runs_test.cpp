// SPDX-License-Identifier: Apache-2.0
// What must not change a run: activation checkpointing, an interruption; and what moves within one: layers that go to a wider
// recipe and back, rules by depth, orders of a step that are wrong.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "files/read_file.hpp"
#include "small_runs.hpp"
#include "training/tape/product.hpp"
#include "training/train/saved_run.hpp"

namespace ulpscope::training {
namespace {

bool same_roundings(const RunResult& a, const RunResult& b) {
  return std::equal(a.places.begin(), a.places.end(), b.places.begin(), b.places.end(),
                    [](const WatchedPlace& x, const WatchedPlace& y) {
                      return x.step == y.step && x.place == y.place && x.counts.count == y.counts.count &&
                             x.counts.to_zero == y.counts.to_zero && x.counts.noise == y.counts.noise;
                    });
}

const char* const gpt =
    "[model]\nkind = \"gpt\"\nvocabulary = 8\ncontext = 8\nwidth = 16\nheads = 2\nblocks = 2\n[data]\ntable = "
    "\"markov\"\nsamples "
    "= 32\nbatch = 4\n[optimizer]\nkind = \"adamw\"\nlr = 1e-2\n[run]\nsteps = 3\n";
const char* const cnn_layers =
    "[model]\nkind = \"layers\"\nlayers = [{reshape = [1, 4, 4]}, {conv = [1, 4, 3, 1]}, {batch_norm = 4}, \"gelu\", "
    "\"flatten\", "
    "{linear = [64, 3]}, \"softmax\"]\n";

std::string layers_study(const TemporaryDirectory& folder, const std::string& run, const std::string& more = "") {
  write_npy(folder.file("x.npy"), {12, 16}, numbers(192, 1));
  write_npy(folder.file("t.npy"), {12, 3}, numbers(36, 2));
  return cnn_layers + std::string("[data]\ninputs = \"") + folder.file("x.npy") + "\"\ntargets = \"" + folder.file("t.npy") +
         "\"\nbatch = 4\norder = \"shuffled\"\n[loss]\nkind = \"mse\"\n[optimizer]\nkind = \"adam\"\nlr = 1e-2\n" + more +
         "[run]\n" + run;
}

void write_text(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

}  // namespace

TEST_CASE("what is computed again has the same bits, and is counted once", "[training]") {
  TemporaryDirectory folder;
  const std::string recipe = GENERATE("float64", "bf16_stochastic", "fp16_amp", "fp8_delayed", "nvfp4", "mxfp8");
  CAPTURE(recipe);
  const bool is_gpt = GENERATE(false, true);
  const std::string text = is_gpt ? gpt : layers_study(folder, "steps = 3\n");
  const RunResult kept = run_of(text, recipe), again = run_of(text + "checkpoint_activations = true\n", recipe);
  CHECK(same_bits(kept, again));
  CHECK(same_roundings(kept, again));
  CHECK(again.activation_bytes < kept.activation_bytes);
}

TEST_CASE("a run that is interrupted goes on with the same bits", "[training]") {
  TemporaryDirectory folder;
  const std::string recipe = GENERATE("float64", "bf16_kahan", "fp8_delayed", "nvfp4");
  CAPTURE(recipe);
  const std::string text =
      layers_study(folder, "steps = 9\nevaluate = [\"float32\"]\naverage = 0.9\n", "[scaler]\nkind = \"megatron\"\n");
  const RunOptions plain{.gradients_every = 2, .record_every = 4};
  const RunResult whole = run_of(text, recipe, plain);
  struct Interrupted {};
  for (const int at : {1, 4, 8}) {
    RunOptions options = plain;
    options.saved = folder.file("run.safetensors");
    options.save_now = [] { return true; };
    options.progress = [&](const TrainStep& step) {
      if (step.step == static_cast<std::uint64_t>(at)) throw Interrupted{};
    };
    CHECK_THROWS_AS(run_of(text, recipe, options), Interrupted);
    options.progress = {};
    options.resume = true;
    const RunResult resumed = run_of(text, recipe, options);
    CHECK(same_bits(whole, resumed));
    CHECK(same_roundings(whole, resumed));
    CHECK(resumed.recorded.back().averages == whole.recorded.back().averages);
    CHECK(resumed.steps.back().average_wanted == whole.steps.back().average_wanted);
    REQUIRE(resumed.gradients.size() == whole.gradients.size());
    for (std::size_t i = 0; i < whole.gradients.size(); ++i) CHECK(resumed.gradients[i].values == whole.gradients[i].values);
    CHECK(resumed.evaluations.size() == 2);
    CHECK(resumed.evaluations[0].loss == whole.evaluations[0].loss);
    // One that is done is not run again.
    options.progress = [](const TrainStep&) { FAIL("a step of a run that is done"); };
    CHECK(same_bits(whole, run_of(text, recipe, options)));
    options.identity = "another";
    CHECK_THROWS_AS(run_of(text, recipe, options), Error);
  }
}

TEST_CASE("a saved run that is none is refused in one line", "[training]") {
  TemporaryDirectory folder;
  const std::string path = folder.file("run.safetensors");
  const std::string text = layers_study(folder, "steps = 2\naverage = 0.9\n");
  run_of(text, "float32", {.saved = path});
  SavedRun good = read_saved_run(path);
  REQUIRE(good.numbers.contains("average/" + good.numbers.lower_bound("weights/")->first.substr(8)));
  good.numbers["run"][2] = 0;  // it goes on, if only to its end
  const auto refused = [&](SavedRun run) {
    write_saved_run(path, run);
    CHECK_THROWS_AS(run_of(text, "float32", {.saved = path, .resume = true}), Error);
  };
  for (const auto& [name, values] : good.numbers) {
    SavedRun without = good;
    without.numbers.erase(name);
    CAPTURE(name);
    const bool is_optional = name.starts_with("mean/");  // a model may have none
    if (!is_optional) refused(without);
    // One number short: refused where it would be read.
    SavedRun shorter = good;
    if (values.empty()) continue;
    shorter.numbers[name].pop_back();
    write_saved_run(path, shorter);
    const auto go_on = [&] { run_of(text, "float32", {.saved = path, .resume = true}); };
    if (name.starts_with("weights/") || name.starts_with("first/") || name.starts_with("recorded/") ||
        name.starts_with("mean/"))
      CHECK_THROWS_AS(go_on(), Error);
    else
      try {
        go_on();
      } catch (const Error&) {
      }
  }
  for (const double count : {-1.0, 1e300, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()})
    for (const std::size_t place : {std::size_t{0}, std::size_t{1}}) {
      SavedRun other = good;
      other.numbers["run"][place] = count;
      refused(other);
      other = good;
      other.numbers["dynamic/0"] = {1, 0, 0, 0};
      other.numbers["dynamic/0"][2 + place] = count;
      refused(other);
    }
  for (const auto& [name, words] : good.words) {
    SavedRun without = good;
    without.words[name] = "{]";
    CAPTURE(name);
    if (name != "kind") refused(without);
  }
  write_text(path, "nonsense");
  CHECK_THROWS_AS(read_saved_run(path), Error);
}

TEST_CASE("a saved run of which a bit is another is refused, or is what was saved", "[training]") {
  TemporaryDirectory folder;
  const std::string path = folder.file("run.safetensors"), text = layers_study(folder, "steps = 2\n");
  run_of(text, "float32", {.saved = path});
  const std::string good = files::read_file(path);
  const SavedRun saved = read_saved_run(path);
  const auto is_saved = [&](const SavedRun& run) {
    const auto same = [](double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); };
    return run.words == saved.words && std::ranges::equal(run.numbers, saved.numbers, [&](const auto& one, const auto& other) {
             return one.first == other.first && std::ranges::equal(one.second, other.second, same);
           });
  };
  std::size_t refused = 0, read = 0;
  for (std::size_t at = 8; at < good.size(); at += 1 + good.size() / 300)
    for (const int bit : {0, 6}) {
      std::string damaged = good;
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << bit));
      write_text(path, damaged);
      CAPTURE(at, bit);
      try {
        const bool is_same = is_saved(read_saved_run(path));
        CHECK(is_same);  // another dtype of no numbers, a NaN of other bits
        ++read;
      } catch (const Error&) {
        ++refused;
      }
    }
  CHECK(refused > 50 * read);
}

TEST_CASE("what a checkpoint does not save is found when the run goes on", "[training]") {
  TemporaryDirectory folder;
  const auto with = [&](const std::string& lost, const std::string& recipe) {
    std::string text = layers_study(folder, "steps = 6\n", "[scaler]\nkind = \"pytorch:init_scale=4,growth_interval=2\"\n");
    if (!lost.empty()) text += "reload_at = 4\nreload_loses = [\"" + lost + "\"]\n";
    return run_of(text, recipe);
  };
  const RunResult whole = with("", "bf16_amp");
  const auto found = [](const RunResult& run, const std::string& place) {
    return std::any_of(run.findings.begin(), run.findings.end(),
                       [&](const TrainFinding& f) { return f.finding == "reload_lost" && f.place == place && f.step == 4; });
  };
  for (const std::string lost : {"master_weights", "moments", "scaler"}) {
    CAPTURE(lost);
    const RunResult reloaded = with(lost, "bf16_amp");
    CHECK(found(reloaded, lost));
    CHECK(reloaded.steps[3].loss == whole.steps[3].loss);
    CHECK(reloaded.steps[5].scale == (lost == "scaler" ? 4 : 16));
    // A power of two as scale changes no bit; what was rounded or forgotten does.
    CHECK((reloaded.recorded.back().values != whole.recorded.back().values) == (lost != "scaler"));
  }
  // Weights that are numbers of the narrow type lose nothing.
  CHECK_FALSE(found(with("master_weights", "bf16_pure"), "master_weights"));
}

TEST_CASE("orders of a step that are wrong do what is said of them", "[training]") {
  TemporaryDirectory folder;
  const std::string scaled = "[scaler]\nkind = \"static:2^4\"\n";
  const auto moved = [&](const std::string& more) {
    return 1 - weight_of(run_of(one_weight(folder, 3, 1, scaled) + more, "float32"));
  };
  CHECK(moved("") == 3);
  CHECK(moved("unscale = \"never\"\n") == 48);
  const std::string overflowing = one_weight(folder, 3, 1, "[scaler]\nkind = \"static:2^20\"\n");
  CHECK_FALSE(run_of(overflowing, "fp16_amp").diverged);
  const RunResult stepped = run_of(overflowing + "on_overflow = \"step\"\n", "fp16_amp");
  CHECK(stepped.diverged);
  CHECK_FALSE(stepped.steps[0].skipped);
}

TEST_CASE("rules by depth take the first and the last layers", "[training]") {
  TemporaryDirectory folder;
  const std::string path = folder.file("deep.toml");
  write_text(path, R"(# test
[[rule]]
input = "e4m3"
weight = "e4m3"
output = "bf16"
grad_output = "e4m3"
grad_input = "bf16"
grad_weight = "float32"
accumulate = "float32"
[[rule]]
depth = ["first:1", "last:2"]
input = "bf16"
)");
  const recipes::Recipe recipe = recipes::open_recipe(path);
  DelayedScales delayed;
  const Precision precision = precision_of(recipe, delayed, {"a", "b", "c", "d", "e"});
  const auto format = [&](const char* layer) { return precision.product("linear", layer).input.storage.format; };
  CHECK(format("a") == emu::bfloat16);
  CHECK(format("b") == emu::float8_e4m3fn);
  CHECK(format("c") == emu::float8_e4m3fn);
  CHECK(format("d") == emu::bfloat16);
  CHECK(format("e") == emu::bfloat16);
  CHECK(format("another") == emu::float8_e4m3fn);
  write_text(path, "[[rule]]\ndepth = [\"middle:1\"]\n");
  CHECK_THROWS_AS(recipes::open_recipe(path), Error);
  write_text(path, "[[rule]]\ndepth = [\"first:0\"]\n");
  CHECK_THROWS_AS(recipes::open_recipe(path), Error);
}

TEST_CASE("a layer that loses too much moves to the wider recipe, and is tried again, later each time", "[training]") {
  DynamicLayers layers({.wider = "bf16_amp", .least_sqnr_db = 20, .most_lost = 0.05, .every = 2, .back_after = 3});
  PlaceCounts good{.count = 100, .signal = 1, .noise = 1e-4}, noisy = good, lossy = good;
  noisy.noise = 0.1, lossy.to_zero = 6;
  const auto look = [&](std::uint64_t step, const PlaceCounts& of_a, const PlaceCounts& of_b) {
    return layers.look(step,
                       {{{"a", "linear", "input"}, of_a}, {{"b", "linear", "weight"}, of_b}, {{"c", "gelu", "output"}, noisy}});
  };
  CHECK(look(0, noisy, noisy).empty());  // only every second step
  auto moves = look(1, noisy, good);
  REQUIRE(moves.size() == 1);
  CHECK(moves[0].layer == "a");
  CHECK(moves[0].wider);
  CHECK(std::fabs(moves[0].value - 10) < 1e-12);
  CHECK(moves[0].threshold == 20);
  CHECK(layers.is_wide("a"));
  CHECK_FALSE(layers.is_wide("b"));
  moves = look(3, good, lossy);
  REQUIRE(moves.size() == 1);
  CHECK(moves[0].layer == "b");
  CHECK(moves[0].value == 0.06);
  CHECK(look(5, good, good).empty());
  moves = look(7, good, good);  // three looks after step 1
  REQUIRE(moves.size() == 1);
  CHECK_FALSE(moves[0].wider);
  CHECK_FALSE(layers.is_wide("a"));
  moves = look(9, noisy, good);  // it fails at once
  REQUIRE(moves.size() == 2);
  CHECK(layers.is_wide("a"));
  CHECK_FALSE(layers.is_wide("b"));
  // What is saved goes on the same way: a stays for six looks, not three.
  DynamicLayers others({.wider = "bf16_amp", .least_sqnr_db = 20, .most_lost = 0.05, .every = 2, .back_after = 3});
  others.set_state(layers.state());
  std::uint64_t back = 0;
  for (std::uint64_t step = 11; step < 40 && back == 0; step += 2)
    for (const LayerMove& move : others.look(step, {{{"a", "linear", "input"}, good}}))
      if (move.layer == "a" && !move.wider) back = step;
  CHECK(back == 21);
}

TEST_CASE("a dynamic recipe trains, and says which layer moved", "[training]") {
  TemporaryDirectory folder;
  const std::string path = folder.file("moving.toml");
  // e5m2 has 2 bits of fraction: about 26 dB at best.
  write_text(path, R"(# test
[dynamic]
wider = "float32"
least_sqnr_db = 40
every = 1
back_after = 2
[[rule]]
input = "keep"
output = "keep"
[[rule]]
operations = ["linear"]
input = "e5m2"
weight = "e5m2"
output = "float32"
grad_output = "e5m2"
grad_input = "float32"
grad_weight = "float32"
accumulate = "float32"
)");
  const Network network{&folder};
  const RunResult moving = run_of(network.study("steps = 6\n"), path);
  const auto moves = [&](const std::string& what) {
    return std::count_if(moving.findings.begin(), moving.findings.end(), [&](const auto& f) { return f.finding == what; });
  };
  CHECK(moves("moved_wider") >= 4);  // both layers, twice
  CHECK(moves("moved_back") >= 2);
  const auto first =
      std::find_if(moving.findings.begin(), moving.findings.end(), [](const auto& f) { return f.finding == "moved_wider"; });
  CHECK(first->layer == "0");
  CHECK(first->place == "linear grad_output");  // places in the order of the alphabet
  // The second step runs both layers in float32.
  CHECK(moving.steps[0].loss != run_of(network.study("steps = 1\n"), "float32").steps[0].loss);
  write_text(path, "[dynamic]\nwider = \"" + path + "\"\n[[rule]]\ninput = \"keep\"\n");
  CHECK_THROWS_AS(run_of(network.study("steps = 1\n"), path), Error);
}

TEST_CASE("a Hadamard matrix on both sides leaves the product as it was", "[training]") {
  // In float64 the weight's gradient is the same to rounding; one-hot rows become rows of the matrix.
  TemporaryDirectory folder;
  const std::string path = folder.file("turned.toml");
  const std::string rules =
      "[[rule]]\ninput = \"float64\"\nweight = \"float64\"\noutput = \"float64\"\ngrad_output = \"float64\"\ngrad_input = "
      "\"float64\"\ngrad_weight = \"float64\"\naccumulate = \"float64\"\n";
  const std::string state =
      "[state]\nweights = \"float64\"\ngradients = \"float64\"\nfirst_moment = \"float64\"\nsecond_moment = "
      "\"float64\"\n";
  write_text(path, state + rules + "hadamard = \"grad_weight\"\n");
  const std::string plain = folder.file("plain.toml");
  write_text(plain, state + rules);
  const Network network{&folder};
  const std::string text = network.study("steps = 1\n");
  const RunResult turned = run_of(text, path, {.gradients_every = 1}), as_it_is = run_of(text, plain, {.gradients_every = 1});
  double apart = 0;
  for (std::size_t p = 0; p < 4; ++p)
    for (std::size_t i = 0; i < turned.gradients[0].values[p].size(); ++i)
      apart = std::max(apart, std::fabs(turned.gradients[0].values[p][i] - as_it_is.gradients[0].values[p][i]));
  CHECK(apart > 0);
  CHECK(apart < 1e-15);

  // Each row of the orthogonal matrix, by the definition: signs times (-1)^(bits in common) / 4.
  const std::vector<int> signs{1, 1, 1, -1, 1, -1, -1, -1, -1, -1, -1, 1, -1, 1, -1, -1};
  const emu::Format wide = emu::float64;
  Workspace<double> workspace;
  for (std::size_t one = 0; one < 16; ++one) {
    Numbers a(16), b(256), d(16);
    a[one] = 1;
    std::vector<Numbers> told;
    for (std::size_t i = 0; i < 16; ++i) b[i * 16 + i] = 1;
    const OperandPrecision operand{.storage = {wide, {}}};
    multiply<double>(
        {{a, 1, 16}, operand, "input"}, {{b, 16, 16}, operand, "weight"},
        {.engine = "fma", .accumulate = wide, .hadamard = true},
        [&](std::span<double> values, const Storage&, std::string_view place, const Padding&) {
          if (place == "input") told.emplace_back(values.begin(), values.end());
        },
        workspace, d);
    REQUIRE(told.size() == 1);
    for (std::size_t j = 0; j < 16; ++j) {
      const int parity = __builtin_popcount(static_cast<unsigned>(one & j)) % 2 == 0 ? 1 : -1;
      CHECK(told[0][j] == signs[one] * parity * 0.25);
      CHECK(d[j] == (j == one ? 1 : 0));
    }
  }
}

}  // namespace ulpscope::training
