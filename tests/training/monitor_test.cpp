// SPDX-License-Identifier: Apache-2.0
// What the monitor finds in curves and counts.
#include <algorithm>
#include <array>
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <fstream>
#include <optional>
#include <string>

#include "emu/names.hpp"
#include "emu/stop.hpp"
#include "recipes/recipe.hpp"
#include "small_runs.hpp"
#include "training/train/recipe_runs.hpp"

namespace ulpscope::training {

TEST_CASE("stagnation is found at the step from which on updates are lost", "[training]") {
  RunResult run;
  for (std::uint64_t i = 0; i < 100; ++i)
    run.steps.push_back({.step = i, .loss = 1, .grad_norm = 1, .wanted = 10, .lost = i < 37 || i == 60 ? 0U : 9U});
  const auto since = [&] {
    for (const TrainFinding& finding : watched_findings(run))
      if (finding.finding == "stagnation") return static_cast<int>(finding.step);
    return -1;
  };
  CHECK(since() == 61);
  run.steps[60].lost = 6;
  CHECK(since() == 37);
  run.steps[50].wanted = run.steps[50].lost = 0;  // a skipped step says nothing
  CHECK(since() == 37);
  run.steps[95].lost = 0;  // still most of the last tenth is lost
  CHECK(since() == 96);
  run.steps[99].lost = 0;
  CHECK(since() == 90);
  for (std::uint64_t i = 90; i < 100; ++i) run.steps[i].lost = 5;
  CHECK(since() == -1);
}

TEST_CASE("the first overflow is found at whatever step it is", "[training]") {
  TemporaryDirectory folder;
  const Network network{&folder};
  const auto with = [&](int log2_scale) {
    return run_of(network.study("steps = 100\n", "[scaler]\nkind = \"pytorch:init_scale=2^" + std::to_string(log2_scale) +
                                                     ",growth_interval=3\"\n"),
                  "fp16_amp");
  };
  const auto first_of = [](const RunResult& of) {
    return std::ranges::find_if(of.steps, [](const TrainStep& step) { return step.skipped; });
  };
  int scale = 20;  // lowered until the first overflow is at a step that is not looked at anyway
  RunResult run = with(scale);
  while (scale > 0 && (first_of(run) == run.steps.end() || first_of(run)->step % 10 == 0)) run = with(--scale);
  const auto first = first_of(run);
  REQUIRE(first != run.steps.end());
  REQUIRE(first->step % 10 != 0);
  std::uint64_t found = 1000;
  for (const TrainFinding& finding : watched_findings(run))
    if (finding.finding == "overflow") found = std::min(found, finding.step);
  CHECK(found == first->step);
}

TEST_CASE("means over other seeds say so, and a run that diverged tells why", "[training]") {
  std::vector<RunResult> runs(3);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    runs[i].recipe = "mine";
    runs[i].seed = i;
    runs[i].steps.push_back({.step = 0, .loss = 1, .grad_norm = 1, .skipped = i == 0});
    runs[i].accuracy = 0.5;
  }
  CHECK(train_findings(runs, "").front().sentence == "mine: loss 1 +- 0, accuracy 50 %, 0.333 steps skipped a run.");
  runs[1].diverged = true, runs[1].accuracy.reset();
  runs[1].findings.push_back({0, "0", "weight", "non_finite", HUGE_VAL, 0});
  CHECK(train_findings(runs, "").front().sentence ==
        "mine: 1 of 3 runs diverged, accuracy 50 % (of 2 runs, not of the others' seeds), 0.333 steps skipped a run; "
        "non_finite in layer 0, weight (inf at step 0).");
}

TEST_CASE("losses are compared seed by seed", "[training]") {
  // Seeds are 10 apart, recipes 1, 2 and 3: of these the mean is 2 and its standard error 1 / sqrt(3).
  std::vector<RunResult> runs(6);
  for (std::uint64_t i = 0; i < runs.size(); ++i) {
    RunResult& run = runs[i];
    const std::uint64_t seed = i < 3 ? i : 5 - i;  // in another order
    run.recipe = i < 3 ? "float32" : "mine", run.seed = seed;
    const auto of_seed = static_cast<double>(10 * seed), more = static_cast<double>(seed + 1);
    run.steps.push_back({.step = 0, .loss = i < 3 ? of_seed : of_seed + more});
  }
  const auto t_of_mine = [&] {
    const reports::Table summary = train_tables(runs)[1];
    const reports::Cell& cell = summary.rows[1][summary.column("paired_t")];
    return std::holds_alternative<double>(cell) ? std::get<double>(cell) : std::nan("");
  };
  CHECK(t_of_mine() == 2 / (1 / std::sqrt(3.0)));
  for (std::size_t i = 0; i < 3; ++i) runs[3 + i].steps[0].loss = runs[2 - i].steps[0].loss + 1;  // no spread
  CHECK(std::isnan(t_of_mine()));
  runs = {runs[0], runs[5]};  // one seed
  CHECK(std::isnan(t_of_mine()));
}

TEST_CASE("what a causal mask hides is infinite on purpose, what it passes on is not", "[training]") {
  const float inf = HUGE_VALF;
  std::vector<float> scores{1, -inf, 2, 3};
  Monitor monitor;
  const auto told = [&] {
    monitor.add(Stored<float>{"mask_future", "0", "output", emu::float32, scores, scores, {}, {.rows = 2, .columns = 2}});
  };
  told();
  CHECK_FALSE(monitor.first_nonfinite().has_value());
  scores[2] = std::nanf("");
  told();
  CHECK(monitor.first_nonfinite() == Place{"0", "mask_future", "output"});
  CHECK(std::isnan(monitor.first_nonfinite_number()));
}

TEST_CASE("a GPT that its update makes infinite is not blamed on its mask", "[training]") {
  const std::string study =
      "[model]\nkind = \"gpt\"\nvocabulary = 8\ncontext = 8\nwidth = 16\nheads = 2\nblocks = 1\n[data]\ntable = "
      "\"markov\"\nsamples = 32\nbatch = 4\n[optimizer]\nlr = 3e38\nweight_decay = 1e10\n[run]\nsteps = 2\n";
  for (const char* const recipe : {"float32", "fp16_amp"}) {  // which casts what is masked
    CAPTURE(recipe);
    const RunResult run = run_of(study, recipe);
    REQUIRE(run.diverged);
    CHECK(run.findings.back().layer == "transformer.wte");
    CHECK(run.findings.back().place == "update weight");
  }
}

TEST_CASE("stagnation is found parameter by parameter", "[training]") {
  // From 1 on, steps of the weight, 2^-10, are lost in bfloat16; those of the bias, which begins at 0, are not.
  TemporaryDirectory folder;
  const std::string study = one_weight(folder, 0x1p-10, 1, "", 40);
  const RunResult result = run_of(study, "bf16_pure");
  std::vector<TrainFinding> of_layer;
  for (const TrainFinding& finding : watched_findings(result))
    if (finding.finding == "stagnation" && finding.layer == "0") of_layer.push_back(finding);
  REQUIRE(of_layer.size() == 1);
  CHECK(of_layer[0].place == "weight");
  CHECK(of_layer[0].value == 1);
  CHECK(of_layer[0].threshold == 0.5);
  CHECK(of_layer[0].step == 0);
  // From 1/8 to 1/4 a step is an ulp, behind that half of one.
  const RunResult later = run_of(one_weight(folder, -0x1p-10, 0.125, "", 200), "bf16_pure");
  CHECK(later.updates[0].since == 128);
  CHECK(later.updates[0].wanted == 20);
  CHECK(later.updates[0].lost == 20);
  CHECK_FALSE(later.updates[1].since.has_value());
  CHECK_FALSE(run_of(study, "float32").updates[0].since.has_value());
  // Every other step is taken: the last one ends what was lost before.
  std::string parted = one_weight(folder, 1, 1, "", 4);
  write_npy(folder.file("x.npy"), {2, 1}, {0x1p-10, 0x1p-3});
  const RunResult other = run_of(parted.insert(parted.find("[loss]"), "batch = 1\n"), "bf16_pure");
  CHECK(other.steps[0].lost == 1);
  CHECK(other.steps[3].lost == 0);
  CHECK_FALSE(other.updates[0].since.has_value());
}

TEST_CASE("a loss that rises tenfold within 50 steps is a spike, one that changes tenfold within 100 has a range",
          "[training]") {
  RunResult run;
  const auto found = [&](const std::string& what) -> std::optional<TrainFinding> {
    for (const TrainFinding& finding : watched_findings(run))
      if (finding.finding == what) return finding;
    return std::nullopt;
  };
  const auto losses = [&](double before, std::size_t between, double after) {
    run.steps.clear();
    for (std::uint64_t i = 0; i <= between; ++i) run.steps.push_back({.step = i, .loss = i == 0 ? before : 5, .grad_norm = 1});
    run.steps.push_back({.step = between + 1, .loss = after, .grad_norm = 1});
  };
  losses(1, 48, 10.5);
  REQUIRE(found("spike"));
  CHECK(found("spike")->step == 49);
  CHECK(found("spike")->value == 10.5);
  CHECK(found("spike")->threshold == 10);
  CHECK(found("loss_range"));
  losses(1, 48, 10);  // not above
  CHECK_FALSE(found("spike"));
  CHECK_FALSE(found("loss_range"));
  losses(1, 49, 10.5);  // the least is the fifty-first from the end
  CHECK_FALSE(found("spike"));
  REQUIRE(found("loss_range"));
  CHECK(found("loss_range")->step == 50);
  losses(1, 98, 10.5);
  CHECK(found("loss_range"));
  losses(1, 99, 10.5);
  CHECK_FALSE(found("loss_range"));
  losses(10.5, 10, 1);  // one that falls
  CHECK_FALSE(found("spike"));
  REQUIRE(found("loss_range"));
  CHECK(found("loss_range")->value == 10.5);
  CHECK(train_findings({run}, "")[0].severity == reports::Severity::good);
}

TEST_CASE("bytes of a parameter: weights, what products copy of them, gradients and moments", "[training]") {
  TemporaryDirectory folder;
  const auto bytes = [&](const std::string& recipe) {
    const Network network{&folder};
    return run_of(network.study("steps = 1\n", "[optimizer]\nkind = \"adamw\"\n"), recipe).bytes_per_parameter;
  };
  constexpr double all = 35 + 7 + 21 + 3, of_products = 35 + 21;
  CHECK(bytes("float32") == 16);
  CHECK(bytes("float64") == 32);
  CHECK(bytes("fp16_amp") == 16 + 2 * of_products / all);
  CHECK(bytes("bf16_pure") == 8);
  // A float32 scale for each tensor, or one of 8 bits for each begun block of a row: seven rows of 5, three of 7, and columns.
  CHECK(bytes("fp8_current") == 16 + (of_products + 2 * 4) / all);
  CHECK(bytes("mxfp8") == 16 + (2 * of_products + (7 + 3) + (5 + 7)) / all);
  const std::string by_row = folder.file("by_row.toml");
  std::ofstream(by_row) << recipes::recipe_text("fp8_current") << "weight_scaling = \"row\"\n";
  CHECK(bytes(by_row) == 16 + (2 * of_products + 4 * ((7 + 3) + (5 + 7))) / all);
}

TEST_CASE("the monitor's classes are those of rounding", "[training]") {
  const std::vector<float> values = [] {
    std::vector<float> all{0, -0.0F, HUGE_VALF, -HUGE_VALF, std::nanf("")};
    for (const double x : numbers(20000, 5))
      all.push_back(static_cast<float>(std::ldexp(x, static_cast<int>(all.size() % 70) - 40)));
    return all;
  }();
  for (const emu::Format format : {emu::float16, emu::bfloat16, emu::float8_e4m3fn, emu::float8_e5m2, emu::float4_e2m1fn})
    for (const emu::Policy policy : {emu::Policy::saturating, emu::Policy::nonsaturating})
      for (const std::size_t first : {std::size_t{0}, std::size_t{5}}) {                     // all, and those that are finite
        if (format == emu::float4_e2m1fn && policy == emu::Policy::nonsaturating) continue;  // which has nothing beyond
        const std::vector<float> before(values.begin() + static_cast<std::ptrdiff_t>(first), values.end());
        std::vector<float> after;
        std::array<std::uint64_t, emu::outcome_count> expected{};
        for (const float x : before) {
          const auto rounded = emu::round_to(format, static_cast<double>(x), {.policy = policy});
          after.push_back(static_cast<float>(rounded.value));
          ++expected[static_cast<std::size_t>(rounded.outcome)];
        }
        Monitor monitor;
        monitor.add(Stored<float>{"linear", "0", "input", format, before, after});
        const PlaceCounts c = monitor.places().begin()->second;
        const std::array<std::uint64_t, emu::outcome_count> counted{c.nan,       c.infinite,  c.zero,    c.exact,
                                                                    c.rounded(), c.subnormal, c.to_zero, c.overflow};
        CAPTURE(emu::format_name(format), policy == emu::Policy::saturating, first);
        CHECK(counted == expected);
      }
}

TEST_CASE("updates that are kept for later, or taken by chance, do not stagnate", "[training]") {
  TemporaryDirectory folder;
  const std::string study = one_weight(folder, 0x1p-10, 1, "", 40);
  const auto stagnates = [](const RunResult& run) {
    const std::vector<TrainFinding> all = watched_findings(run);
    return std::any_of(all.begin(), all.end(), [](const auto& f) { return f.finding == "stagnation"; });
  };
  for (const auto& [recipe, lost] : {std::pair{"bf16_pure", true}, {"bf16_kahan", false}, {"bf16_stochastic", false}}) {
    CAPTURE(recipe);
    const RunResult run = run_of(study, recipe);
    CHECK(stagnates(run) == lost);
    CHECK(run.steps[0].lost == (lost ? 1 : 0));
    CHECK(run.steps[0].small == 1);
  }
}

TEST_CASE("a reload finds what the scaler has lost beside its scale", "[training]") {
  TemporaryDirectory folder;
  const auto lost = [&](const std::string& scaler, int at) {
    const RunResult run =
        run_of(one_weight(folder, 1, 1, scaler, 30) + "reload_at = " + std::to_string(at) + "\nreload_loses = [\"scaler\"]\n",
               "float32");
    return std::any_of(run.findings.begin(), run.findings.end(), [](const auto& f) { return f.finding == "reload_lost"; });
  };
  CHECK(lost("[scaler]\nkind = \"pytorch:growth_interval=40\"\n", 20));  // steps that were counted
  CHECK_FALSE(lost("[scaler]\nkind = \"static:4\"\n", 20));
  CHECK_FALSE(lost("", 20));
}

TEST_CASE("what unscaling or an update makes infinite is named", "[training]") {
  TemporaryDirectory folder;
  std::string text = one_weight(folder, 1, 1e-38, "[scaler]\nkind = \"static:2^-10\"\n");
  write_npy(folder.file("x.npy"), {4, 1}, Numbers(4, static_cast<double>(3e38F)));  // their sum is no float32, a part of it is
  const RunResult unscaled = run_of(text + "on_overflow = \"step\"\n", "float32");
  REQUIRE(unscaled.findings.size() == 1);
  CHECK(unscaled.findings[0].finding == "non_finite");
  CHECK(unscaled.findings[0].layer == "0");
  CHECK(unscaled.findings[0].place == "unscale grad_weight");
  CHECK(std::isinf(unscaled.findings[0].value));
  text = one_weight(folder, 1, 1, "");
  const RunResult updated = run_of(text.replace(text.find("lr = 1"), 6, "lr = 1e300"), "float32");
  REQUIRE(updated.findings.size() == 1);
  CHECK(updated.findings[0].layer == "0");
  CHECK(updated.findings[0].place == "update weight");
}

TEST_CASE("losses of classes have an accuracy at each step, one run no deviation", "[training]") {
  const RunResult run = run_of(
      "[model]\nkind = \"mlp\"\nwidths = [64, 10]\n[data]\ntable = \"digits\"\nbatch = 100\n[optimizer]\nlr = 0.5\n"
      "[run]\nsteps = 30\n",
      "float32");
  CHECK(run.steps[0].asked == 100);
  CHECK(run.steps[0].right < 40);
  CHECK(run.steps[29].right > 60);
  const std::vector<reports::Table> tables = train_tables({run});
  CHECK(std::get<double>(tables[0].rows[29][tables[0].column("accuracy")]) == static_cast<double>(run.steps[29].right) / 100);
  CHECK(tables[1].rows[0][tables[1].column("final_loss_sd")] == reports::Cell(std::string()));
  TemporaryDirectory folder;
  const std::vector<std::string> others = train_tables({run_of(one_weight(folder, 1, 1, ""), "float32")})[0].columns;
  CHECK(std::find(others.begin(), others.end(), "accuracy") == others.end());
}

TEST_CASE("Genesis clips before it looks for infinities", "[training]") {
  TemporaryDirectory folder;
  const auto skipped = [&](const std::string& clip) {
    return run_of(one_weight(folder, 60000, 0.001, "[scaler]\nkind = \"genesis:init_scale=2\"\n", 1) + clip, "fp16_amp")
        .steps[0]
        .skipped;
  };
  CHECK(skipped(""));
  CHECK_FALSE(skipped("clip_value = 1.0\n"));
}

TEST_CASE("a monitor ends among the numbers of a place where it is asked to", "[training]") {
  const std::atomic<bool> flag = true;
  const std::array<float, 3> numbers_of_it{1, 2, 3};
  const Stored<float> stored{"linear", "0", "input", emu::float32, numbers_of_it, numbers_of_it};
  Monitor monitor;
  monitor.add(stored);
  const emu::StopScope scope(&flag);
  CHECK_THROWS_AS(monitor.add(stored), emu::Stopped);
}

}  // namespace ulpscope::training
