// SPDX-License-Identifier: Apache-2.0
// The probes against engines whose parameters are known: what they find must be what was built in, and nothing else.
#include "studies/probe/probe.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_vector.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "emu/engines.hpp"
#include "emu/names.hpp"
#include "gpu/cpu/cpu_units.hpp"
#include "probe_subjects.hpp"
#include "studies/probe/probe_variants.hpp"

namespace {

using namespace ulpscope;
using emu::Addend;
using emu::Cut;
using emu::Engine;
using emu::Format;
using emu::Rounding;
using emu::Stage;
using test::differences, test::operation_of, test::report_of, test::Subject, test::with;

/// Whether a result says what is true, and no more than the formats can show: `16`, `not observable`, `at least 14`, `a or b`,
/// `a to b`.
bool says(const std::string& result, const std::string& truth) {
  if (result == truth || result == studies::not_observable) return true;
  if (result.starts_with("at least ")) return std::stoi(truth) >= std::stoi(result.substr(9));
  if (result.starts_with("at most ")) return truth == "none" || std::stoi(truth) <= std::stoi(result.substr(8));
  if (const auto to = result.find(" to "); to != std::string::npos)
    return std::stoi(result) <= std::stoi(truth) && std::stoi(truth) <= std::stoi(result.substr(to + 4));
  const std::string words = " or " + result + " or ";
  return words.find(" or " + truth + " or ") != std::string::npos;
}

/// Holds the report to the engine; returns how many of its features were found outright.
std::size_t check_report(const Subject& subject, const studies::ProbeReport& report) {
  REQUIRE(report.recovered.has_value());
  CHECK(report.disagreements == 0);
  CHECK(differences(subject, *report.recovered) == 0);
  CHECK(studies::result_of(report, "step_products") ==
        (subject.engine.products == Stage::all ? "all" : std::to_string(subject.engine.products)));
  std::size_t found = 0;
  for (const studies::ProbeFeature& feature : studies::features_of(subject.engine)) {
    const std::string result = studies::result_of(report, feature.name);
    CAPTURE(feature.name, feature.word, result);
    CHECK(says(result, feature.word));
    if (result == feature.word) ++found;
  }
  return found;
}

std::vector<Subject> odd_engines() {
  const Format half = emu::float16, brain = emu::bfloat16, byte = emu::float8_e5m2;
  const auto block = [](int n, int f, Rounding rounding = Rounding::toward_zero, Format acc = emu::float32) {
    return emu::block_fma(n, f, acc, rounding);
  };
  const auto downward = [](Engine& e) { e.stages[0].cut = Cut::downward; };
  const auto carried = [](int run) {
    return [run](Engine& e) {
      e.stages[0].terms = e.products / 2;
      e.stages[0].run = run;
      e.stages[0].carried = true;
      e.stages[0].addend = Addend::none;
      e.stages[1].summing = emu::Summing::sequential;
      e.stages[1].addend = Addend::last;
      e.stage_count = 2;
    };
  };
  return {{half, half, block(3, 24)},
          {half, half, block(12, 8, Rounding::nearest_even)},
          {half, half, with(block(8, 35), downward)},
          {brain, brain, with(block(5, 27, Rounding::upward), downward)},
          {brain, brain, block(48, 26, Rounding::downward)},
          {byte, byte, with(block(16, 20), [](Engine& e) { e.result_fraction_bits = 10; })},
          {byte, byte, with(block(32, 13), [](Engine& e) { e.result_fraction_bits = 13; })},
          {half, half, block(1, 30, Rounding::nearest_away)},
          {brain, brain, with(block(8, 24), [](Engine& e) { e.least_exponent = -130; })},
          {brain, brain, with(block(8, 24), [](Engine& e) { e.overflow_is_infinity = false; })},
          {brain, brain, with(block(8, 24), [](Engine& e) { e.subnormal_inputs_are_zero = true; })},
          {half, half, with(block(16, 24), carried(0))},
          {half, half, with(block(16, 26, Rounding::nearest_even), carried(1))},
          {half, half, with(block(8, 22, Rounding::nearest_even, emu::float16), carried(2))},
          {half, half,
           with(emu::fma_chain(),
                [](Engine& e) {
                  e.products = e.stages[0].terms = 4;
                  e.stages[0].descending = true;
                })},
          {half, half, with(emu::fma_chain(), [](Engine& e) {
             e.products = e.stages[0].terms = 4;
             e.stages[0].addend = Addend::last;
           })}};
}

}  // namespace

namespace {

enum class Operands : std::uint8_t { first, all };

/// Probes the named engines, each computation once: many generations share one.
void check_named_engines(Operands operands) {
  std::size_t found = 0, modes = 0;
  std::vector<std::pair<Format, Engine>> seen;
  for (const emu::EngineMode& mode : emu::engine_modes()) {
    std::vector<Format> inputs(mode.inputs.begin(), mode.inputs.end());
    if (inputs.empty()) inputs.push_back(mode.model.accumulator);
    for (const Format input : std::span(inputs).first(operands == Operands::first ? 1 : inputs.size())) {
      CAPTURE(mode.engine, emu::format_name(input), emu::format_name(mode.model.accumulator), mode.instruction);
      const Subject subject{input, input, mode.model, mode.scale_format};
      if (std::find(seen.begin(), seen.end(), std::pair(input, mode.model)) != seen.end()) continue;
      seen.emplace_back(input, mode.model);

      found += check_report(subject, report_of(subject));
      ++modes;
    }
  }
  CHECK(found > 5 * modes);
}

}  // namespace

TEST_CASE("the probes recover every engine that has a name", "[long]") { check_named_engines(Operands::first); }

TEST_CASE("the probes recover every engine that has a name, with all its operands", "[exhaustive]") {
  check_named_engines(Operands::all);
}

TEST_CASE("the probes recover mixed operands") {
  for (const std::string_view name : {"sm_89", "sm_100", "sm_100/mma"}) {
    const Format a = emu::float8_e4m3fn, b = emu::float8_e5m2;
    const Subject subject{a, b, emu::find_engine(name, {a, b}).model};
    CAPTURE(name);

    const auto report = report_of(subject);

    check_report(subject, report);
    CHECK(studies::result_of(report, "fraction_bits") == std::to_string(subject.engine.stages[0].fraction_bits));
  }
}

TEST_CASE("the probes recover engines that nobody built", "[long]") {
  for (const Subject& subject : odd_engines()) {
    CAPTURE(studies::order_words(subject.engine), emu::format_name(subject.a), subject.engine.stages[0].fraction_bits);

    const auto report = report_of(subject);

    check_report(subject, report);
    CHECK(studies::result_of(report, "summation") == studies::order_words(subject.engine));
  }
}

TEST_CASE("the parameters of tensor cores are found outright, not up to equivalence") {
  const auto report =
      report_of({emu::bfloat16, emu::bfloat16, emu::find_engine("sm_90", {emu::bfloat16, emu::bfloat16}).model});

  const std::pair<const char*, const char*> expected[] = {
      {"step_products", "16"},      {"exchangeable", "any order"},  {"fraction_bits", "25"},      {"cut", "toward_zero"},
      {"rounding", "toward_zero"},  {"result_fraction_bits", "23"}, {"least_exponent", "-133"},   {"overflow", "infinity"},
      {"subnormal_inputs", "kept"}, {"subnormal_results", "kept"},  {"exact_products", "yes"},    {"products_normalised", "no"},
      {"monotonic", "no"},          {"nan_code", "7fffffff"},       {"opposed_infinities", "NaN"}};
  for (const auto& [feature, result] : expected) {
    CAPTURE(feature);
    CHECK(studies::result_of(report, feature) == result);
  }
}

TEST_CASE("a probe of another engine gives another answer") {
  const Engine engine = emu::find_engine("sm_80", {emu::bfloat16, emu::bfloat16}).model;
  for (const studies::ProbeFeature& feature : studies::features_of(engine)) {
    if (feature.variants.empty()) continue;
    CAPTURE(feature.name, feature.variants.front().word);

    const auto report = report_of({emu::bfloat16, emu::bfloat16, feature.variants.front().engine});

    CHECK(studies::result_of(report, feature.name) == feature.variants.front().word);
  }
}

TEST_CASE("steps are found where the alignment keeps fewer bits than the result") {
  const auto downward = [](Engine& e) { e.stages[0].cut = Cut::downward; };
  const Subject all[] = {{emu::float8_e4m3fn, emu::float8_e4m3fn, emu::block_fma(64, 13)},
                         {emu::float8_e5m2, emu::float8_e5m2, emu::block_fma(64, 4)},
                         {emu::bfloat16, emu::bfloat16, with(emu::block_fma(5, 0), downward)},
                         {emu::tf32, emu::tf32, with(emu::block_fma(1, 0, emu::float32, Rounding::to_odd), [](Engine& e) {
                            e.stages[0].cut = Cut::downward;
                            e.result_fraction_bits = 13;
                          })}};
  for (const Subject& subject : all) {
    CAPTURE(subject.engine.products, emu::format_name(subject.a));

    const auto report = report_of(subject);

    REQUIRE(report.recovered.has_value());
    CHECK(differences(subject, *report.recovered) == 0);
    CHECK(studies::result_of(report, "step_products") == std::to_string(subject.engine.products));
    CHECK(studies::result_of(report, "fraction_bits") == std::to_string(subject.engine.stages[0].fraction_bits));
  }
}

TEST_CASE("a step longer than those that are tried is not taken for all products") {
  const auto report = report_of({emu::float16, emu::float16, emu::block_fma(128, 25)});

  CHECK(studies::result_of(report, "step_products") == "at least 128");
  CHECK(report.disagreements > 0);
}

TEST_CASE("the numbers of engines far from those that have names are found, whatever the seed") {
  const auto least = [](int exponent) { return [exponent](Engine& e) { e.least_exponent = exponent; }; };
  const auto bits = [](int fraction_bits) { return [fraction_bits](Engine& e) { e.result_fraction_bits = fraction_bits; }; };
  const Format half = emu::float16, single = emu::float32;
  // Products of two subnormal numbers of float16 are cut as if they were 2^-28, which shows the 50 bits below that.
  const Subject all[] = {
      {half, half, with(emu::block_fma(1, 50, single, Rounding::nearest_even), least(-30))},
      {emu::tf32, emu::tf32, with(with(emu::block_fma(4, 38, half), least(-30)), bits(3))},
      {single, single,
       with(with(emu::block_fma(4, 22, half, Rounding::downward), least(-100)),
            [](Engine& e) { e.stages[0].cut = Cut::downward; })},
      {single, single, with(with(emu::block_fma(1, 33, single, Rounding::nearest_even), least(-14)), bits(10))}};
  for (const Subject& subject : all) {
    std::vector<std::string> results;
    for (const std::uint64_t seed : {0U, 1U}) {
      CAPTURE(studies::order_words(subject.engine), subject.engine.stages[0].fraction_bits, seed);

      const auto report = report_of(subject, seed);

      check_report(subject, report);
      CHECK(studies::result_of(report, "fraction_bits") == std::to_string(subject.engine.stages[0].fraction_bits));
      results.push_back(studies::result_of(report, "least_exponent"));
    }
    CHECK(results[0] == results[1]);
  }
}

TEST_CASE("numbers that trade off are given as a range and what they have in common") {
  // One product of e4m3 and c, rounded to nearest: the least bit that shows is the last of a c whose first one is half a last
  // place of the binade below a product, 25 + 23 binades down. A subnormal product 2^-18 is cut as if it were 2^-12.
  const Subject subject{
      emu::float8_e4m3fn, emu::float8_e4m3fn,
      with(emu::block_fma(1, 58, emu::float32, Rounding::nearest_even), [](Engine& e) { e.least_exponent = -30; })};
  for (const std::uint64_t seed : {0U, 1U, 2U}) {
    CAPTURE(seed);

    const auto report = report_of(subject, seed);

    CHECK(studies::result_of(report, "fraction_bits") == "at least " + std::to_string(25 + 23 + 18 - 12));
    CHECK(studies::result_of(report, "least_exponent") == "fraction_bits - " + std::to_string(58 + 30));
    CHECK(studies::result_of(report, "cut") == "toward_zero");
    CHECK(report.disagreements == 0);
  }
}

namespace {

/// A result names several orders where no operands tell one from the other: what fuses and what does not, of exact products.
std::vector<std::string> orders_of(std::string result) {
  std::vector<std::string> orders;
  for (auto end = result.find(" or "); end != std::string::npos; end = result.find(" or ")) {
    orders.push_back(result.substr(0, end));
    result.erase(0, end + 4);
  }
  orders.push_back(result);
  return orders;
}

}  // namespace

TEST_CASE("the probes recover the units of this processor") {
  const auto units = gpu::cpu_units();
  if (units.empty()) SKIP("this processor has no matrix or dot-product unit");
  for (const auto& unit : units) {
    for (const gpu::Operation& operation : unit->operations()) {
      if (operation.a == emu::float64) continue;
      CAPTURE(unit->name(), operation.instruction);

      const studies::ProbeReport report = studies::probe(*unit, operation, {});

      REQUIRE(report.recovered.has_value());
      CHECK(report.disagreements == 0);
      const emu::Engine& engine = emu::find_engine(operation.engine, {operation.a, operation.b, operation.accumulator}).model;
      CHECK_THAT(orders_of(studies::result_of(report, "summation")),
                 Catch::Matchers::VectorContains(studies::order_words(engine)));
    }
  }
}

TEST_CASE("a unit that no engine describes is not recovered") {
  class Rotating final : public gpu::Unit {
   public:
    std::string name() const override { return "rotating"; }
    std::vector<gpu::Operation> operations() const override { return {}; }
    void multiply(const gpu::Operation&, const gpu::InnerProducts& problem, std::span<emu::Code> d) const override {
      for (std::size_t i = 0; i < d.size(); ++i) {
        d[i] = problem.c[i];
        for (std::size_t k = 0; k < problem.products; ++k) d[i] ^= problem.a[i * problem.products + k] << (k % 7);
        d[i] &= emu::float32.fraction_mask();
      }
    }
  };
  const Subject subject{emu::float16, emu::float16, emu::block_fma(8, 24)};

  const auto report = studies::probe(Rotating{}, operation_of(subject));

  CHECK(!report.recovered.has_value());
  CHECK(studies::result_of(report, "summation") == "not recovered");
}
