// SPDX-License-Identifier: Apache-2.0
// Runs of shards as text and back, and what is refused of such texts.
#include "training/train/train_part.hpp"

#include <algorithm>
#include <bit>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <utility>

#include "small_runs.hpp"

namespace ulpscope::training {
namespace {

const char* const small_study =
    "[model]\nkind = \"layers\"\nlayers = [{batch_norm = 3}, {linear = [3, 2]}]\n[data]\ninputs = \"normal:0,1:8x3\"\n"
    "targets = \"normal:0,1:8x2\"\n[loss]\nkind = \"mse\"\n[scaler]\nkind = \"pytorch\"\n"
    "[run]\nsteps = 2\naverage = 0.5\nevaluate = [\"bf16_amp\"]\nseeds = [0, 1]\nrecipes = [\"float32\", \"fp16_amp\"]\n";

TrainPart part_of(const TrainStudy& study, const studies::Shard& shard) {
  TrainAll all{.run = {.threads = 1, .gradients_every = 1, .record_every = 1}};
  all.shard = shard;
  return {.version = "1",
          .commit = "2",
          .study = "study.toml",
          .text = small_study,
          .work = "options\n",
          .recipes = {"float32", "fp16_amp"},
          .seeds = {0, 1},
          .steps = 2,
          .arguments = {"train", "study.toml"},
          .runs = train_all(study, all)};
}

std::string text_of(const TrainPart& part) {
  std::string text;
  write_train_part(part, [&](std::string_view more) { text += more; });
  return text;
}

studies::PartReader::NextLine lines_of(const std::string& text) {
  return [rest = text]() mutable -> std::optional<std::string> {
    if (rest.empty()) return std::nullopt;
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    std::string line = rest.substr(0, end);
    rest.erase(0, end + 1);
    return line;
  };
}

TrainPart read(const std::string& text) {
  const studies::PartReader::NextLine lines = lines_of(text);
  TrainPart part = read_train_part(lines, "P");
  part.runs = read_train_runs(lines, "P", part);
  return part;
}

bool same_tables(const std::vector<RunResult>& a, const std::vector<RunResult>& b) {
  const std::vector<reports::Table> x = train_tables(a), y = train_tables(b);
  if (x.size() != y.size()) return false;
  for (std::size_t i = 0; i < x.size(); ++i)
    if (x[i].columns != y[i].columns || x[i].rows != y[i].rows) return false;
  return recorded_files(a) == recorded_files(b);
}

}  // namespace

TEST_CASE("the parts of any number of shards are the runs of one process", "[training]") {
  const TrainStudy study = parse_train_study(small_study, "study.toml");
  const TrainPart whole = part_of(study, {});
  REQUIRE(whole.runs.size() == 4);
  REQUIRE(recorded_files(whole.runs).size() == 12);
  for (const std::uint64_t count : {1U, 2U, 3U, 4U, 9U}) {
    CAPTURE(count);
    std::vector<TrainPart> parts;
    std::vector<std::string> names;
    for (std::uint64_t index = count; index-- > 0;) {
      parts.push_back(read(text_of(part_of(study, {index, count}))));
      names.push_back(std::to_string(index));
      CHECK(parts.back().runs.size() == (4 + count - 1 - index) / count);
    }
    const auto all = merged(std::move(parts), names);
    CHECK(same_tables(all.runs, whole.runs));
  }
}

TEST_CASE("a run of a part comes back to the bit", "[training]") {
  const TrainStudy study = parse_train_study(small_study, "study.toml");
  TrainPart part = part_of(study, {0, 4});
  const double nan = std::bit_cast<double>(std::uint64_t{0xfff8000000000123});
  RunResult& run = part.runs.front();
  run.steps[0].loss = nan, run.steps[1].loss = -std::numeric_limits<double>::infinity();
  run.steps[1].grad_norm = 0x1p-1074, run.optimum = 0.1, run.distance = -0.0, run.diverged = true;
  run.step_time = StepTime{1.5, 0.25}, run.products["cpu:0 fma"] = 7;
  run.weights_format = emu::float64;

  const std::string text = text_of(part);
  const TrainPart again = read(text);

  CHECK(text_of(again) == text);
  const RunResult& back = again.runs.front();
  CHECK(std::bit_cast<std::uint64_t>(back.steps[0].loss) == 0xfff8000000000123);
  CHECK(back.steps[1].loss == run.steps[1].loss);
  CHECK(back.steps[1].grad_norm == 0x1p-1074);
  CHECK(back.optimum == 0.1);
  CHECK(std::signbit(back.distance.value()));
  CHECK(back.products == run.products);
  CHECK(back.recorded.back().statistics == run.recorded.back().statistics);
  CHECK(back.recorded.back().statistics.size() == 2);
  CHECK(back.recorded.back().averages == run.recorded.back().averages);
  CHECK(back.gradients.size() == 2);
  CHECK(back.weights_format == emu::float64);
  CHECK(again.arguments == part.arguments);
}

TEST_CASE("a run of any size has lines of few numbers", "[training]") {
  const std::string wide =
      "[model]\nkind = \"layers\"\nlayers = [{linear = [2, 50000]}]\n[data]\ninputs = \"normal:0,1:1x2\"\n"
      "[loss]\nkind = \"sum\"\n[run]\nsteps = 1\nrecipes = [\"float32\"]\n";
  TrainAll all{.run = {.threads = 1, .record_every = 1}};
  TrainPart part{.version = "1",
                 .commit = "2",
                 .study = "study.toml",
                 .text = wide,
                 .work = "",
                 .recipes = {"float32"},
                 .seeds = {0},
                 .steps = 1,
                 .arguments = {},
                 .runs = train_all(parse_train_study(wide, "study.toml"), all)};
  REQUIRE(part.runs[0].recorded.at(0).values.at(0).size() == 100000);
  REQUIRE(part.runs[0].recorded[0].values[0].size() % numbers_of_line != 0);
  const std::string text = text_of(part);
  std::size_t longest = 0, begin = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos; begin = end + 1, end = text.find('\n', begin))
    longest = std::max(longest, end - begin);
  CHECK(longest < 16 * numbers_of_line + 100);
  const TrainPart again = read(text);
  CHECK(text_of(again) == text);
  CHECK(again.runs[0].recorded[0].values == part.runs[0].recorded[0].values);
}

TEST_CASE("what gives lines of a part names the file once", "[training]") {
  const std::string text = text_of(part_of(parse_train_study(small_study, "study.toml"), {3, 4}));
  const auto lines = static_cast<std::size_t>(std::ranges::count(text, '\n'));
  for (std::size_t bad = 0; bad <= lines + 1; ++bad) {
    CAPTURE(bad);
    const studies::PartReader::NextLine all = lines_of(text);
    const studies::PartReader::NextLine some = [&, n = std::size_t{0}]() mutable {
      return n++ == bad ? throw Error("P: is damaged") : all();
    };
    const auto read_all = [&] { read_train_runs(some, "P", read_train_part(some, "P")); };
    CHECK_THROWS_WITH(read_all(), Catch::Matchers::Equals("P: is damaged"));
  }
}

TEST_CASE("parts that do not make up a whole are refused", "[training]") {
  using Catch::Matchers::ContainsSubstring, Catch::Matchers::Equals;
  const TrainStudy study = parse_train_study(small_study, "study.toml");
  const TrainPart a = part_of(study, {0, 2}), b = part_of(study, {1, 2});
  const std::vector<std::string> names{"A", "B"};
  CHECK_NOTHROW(merged({a, b}, names));
  CHECK_THROWS_WITH(merged({a}, {"A"}), Equals("float32-1: is in no part"));
  CHECK_THROWS_WITH(merged({a, a}, names), Equals("B: has float32-0, which another part has, too"));
  const auto refused = [&](const std::function<void(TrainPart&)>& change) {
    TrainPart other = b;
    change(other);
    return [=] { merged({a, other}, names); };
  };
  const std::string another = "B: is of another study, other recipes or other seeds than A";
  CHECK_THROWS_WITH(refused([](TrainPart& p) { p.study = "other.toml"; })(), Equals(another));
  CHECK_THROWS_WITH(refused([](TrainPart& p) { p.text += "\n"; })(), Equals(another));
  CHECK_THROWS_WITH(refused([](TrainPart& p) { p.seeds = {0, 2}; })(), Equals(another));
  CHECK_THROWS_WITH(refused([](TrainPart& p) { p.recipes = {"float32"}; })(), Equals(another));
  CHECK_THROWS_WITH(refused([](TrainPart& p) { p.steps = 3; })(), Equals(another));
  CHECK_THROWS_WITH(refused([](TrainPart& p) { p.work = "others\n"; })(),
                    Equals("B: is of other work than A: 'options' there, 'others' now"));
  CHECK_THROWS_WITH(refused([](TrainPart& p) { p.runs[0].step_time = StepTime{}; })(), ContainsSubstring("has times of some"));
}

TEST_CASE("a part that tells what cannot be is refused", "[training]") {
  using Catch::Matchers::ContainsSubstring;
  const TrainPart whole = part_of(parse_train_study(small_study, "study.toml"), {0, 4});
  const auto refused = [&](const std::string& why, const std::function<void(RunResult&)>& change) {
    TrainPart part = whole;
    change(part.runs.front());
    CAPTURE(why);
    CHECK_THROWS_WITH(read(text_of(part)), Catch::Matchers::StartsWith("P: ") && ContainsSubstring(why));
  };
  refused("a run that nobody asked for, bf16_amp-0", [](RunResult& run) { run.recipe = "bf16_amp"; });
  refused("a run that nobody asked for, float32-7", [](RunResult& run) { run.seed = 7; });
  refused("has 1 steps of float32-0, not 2", [](RunResult& run) { run.steps.pop_back(); });
  refused("has 3 steps of float32-0, not 2", [](RunResult& run) { run.steps.push_back({.step = 2}); });
  refused("has 0 steps of float32-0, not 2", [](RunResult& run) { run.steps.clear(), run.diverged = true; });
  refused("has the steps of float32-0 in another order", [](RunResult& run) { run.steps[1].step = 0; });
  refused("has records of float32-0 in another order", [](RunResult& run) { run.recorded[1].step = run.recorded[0].step; });
  refused("has records of float32-0 in another order", [](RunResult& run) { run.gradients[1].step = 3; });
  refused("has roundings of float32-0 that do not add up",
          [](RunResult& run) { run.places.front().counts.to_zero = run.places.front().counts.count + 1; });
  refused("a saved run ends too early", [](RunResult& run) { run.updates.pop_back(); });
  refused("numbers", [](RunResult& run) { run.recorded[0].values[0].pop_back(); });
  TrainPart diverged = whole;
  diverged.runs.front().diverged = true, diverged.runs.front().steps.pop_back();
  CHECK_NOTHROW(read(text_of(diverged)));
}

TEST_CASE("a text that is no part is refused", "[training]") {
  using Catch::Matchers::ContainsSubstring;
  const TrainPart whole = part_of(parse_train_study(small_study, "study.toml"), {0, 4});
  const std::string text = text_of(whole);
  REQUIRE(begins_train_part(text));
  const auto refused = [&](const std::string& from, const std::string& to, const std::string& why) {
    std::string other = text;
    const std::size_t at = other.find(from);
    REQUIRE(at != std::string::npos);
    CAPTURE(from, to);
    CHECK_THROWS_WITH(read(other.replace(at, from.size(), to)), Catch::Matchers::StartsWith("P: ") && ContainsSubstring(why));
  };
  const std::string no_part = "is no part of a training study, or not all of it";
  refused("part of a training study", "part of something", no_part);
  refused("\"runs\": [", "\"runs\":[", no_part);
  refused("\"version\"", "\"vision\"", no_part);
  refused("\"commit\":\"2\"", "\"commit\":2", no_part);
  refused("\"seeds\":[0,1]", "\"seeds\":[0,-1]", "holds what is no whole number");
  refused("\"seeds\":[0,1]", "\"seeds\":[0,9223372036854775808]", "has a seed that is too large");
  refused("\"seeds\":[0,1]", "\"seeds\":[]", "is of no run");
  refused("\"recipes\":[\"float32\",\"fp16_amp\"]", "\"recipes\":[]", "is of no run");
  refused("\"recipes\":[\"float32\"", "\"recipes\":[\"../float32\"", "'../float32' is no name of a recipe");
  refused("\"recipes\":[\"float32\"", "\"recipes\":[\"\"", "'' is no name of a recipe");
  refused("\"recipes\":[\"float32\"", "\"recipes\":[\"a\\u0000b\"", "is no name of a recipe");
  refused("kind = \\\"mse\\\"", "kind = \\\"mes\\\"", "study.toml:");
  refused("\"formats\":[\"float32\"", "\"formats\":[\"float33\"", "'float33' is no format");
  refused("\"result/steps\",\"", "\"result/steps\",\"0", "are no bits of a number");
  refused("\"result/steps\",\"", "\"result/steps\",\"x", "are no bits of a number");
  refused("\"result/steps\"", "\"result/other\"", "a saved run without result/steps");
  refused("\"optimum\"", "\"best\"", "a saved run without optimum");
  refused("]}\n]", "]}", no_part);
  refused("{\"recipe\"", "\"recipe\"", "is no part of a training study: is no JSON");
  for (std::size_t size = 0; size < text.size() - 1; size += 1 + size / 20) {
    CAPTURE(size);
    CHECK_THROWS_WITH(read(text.substr(0, size)), Catch::Matchers::StartsWith("P: is no part of a training study"));
  }
}

}  // namespace ulpscope::training
