// SPDX-License-Identifier: Apache-2.0
// What the monitor finds in curves and counts.
#include <catch2/catch_test_macros.hpp>
#include <optional>

#include "small_runs.hpp"

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
}

}  // namespace ulpscope::training
