// SPDX-License-Identifier: Apache-2.0
// Audits of rules whose strength is known.
#include "verify/audit/audit.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <set>
#include <string>
#include <vector>

#include "emu/catalogue.hpp"
#include "verify/audit/audit_text.hpp"
#include "verify/audit/audit_trials.hpp"

namespace {

using namespace ulpscope;
using verify::Fate;
using verify::RuleVerdict;

products::Product product(const std::string& engine = "sm_90") {
  const auto operand = [](const std::string& shape, std::uint64_t seed) {
    return products::MatmulOperand{
        {tensors::open_one("normal:0,1:" + shape, {.dtype = {}, .seed = seed})}, {.format = emu::bfloat16}, {}};
  };
  return {.engine = engine,
          .a = operand("24x512", 0),
          .b = operand("512x24", 1),
          .c = {},
          .acc = emu::float32,
          .out = emu::bfloat16,
          .beta = {},
          .threads = 1};
}

verify::Rule fixed(const std::string& word, RuleVerdict verdict) {
  return verify::rule_of(word, [verdict](emu::Format, auto, auto) { return verdict; });
}

Fate fate_of(const verify::AuditResult& result, const std::string& kind, std::size_t rule) {
  const auto found =
      std::find_if(result.mutants.begin(), result.mutants.end(), [&](const auto& m) { return m.mutant.kind->name == kind; });
  return found->fate(rule);
}

}  // namespace

TEST_CASE("a rule that accepts everything kills nothing, one that rejects everything rejects the correct output", "[verify]") {
  const verify::AuditResult result = verify::audit({.product = product(),
                                                    .rules = {fixed("yes", {.passes = true}), fixed("no", {.passes = false}),
                                                              fixed("crash", {.passes = true, .broken = "crashed"})},
                                                    .trials = 5});
  CHECK((!result.rejects_correct(0) && result.rejects_correct(1) && !result.rejects_correct(2)));
  CHECK(result.breaks_on_correct(2));
  CHECK(fate_of(result, "zeros", 0) == Fate::lived);
  CHECK(fate_of(result, "zeros", 1) == Fate::killed);
  CHECK(fate_of(result, "zeros", 2) == Fate::broken);
  CHECK(fate_of(result, "c_missing", 1) == Fate::not_applicable);
  CHECK(fate_of(result, "inputs_in_bfloat16", 1) == Fate::equivalent);  // no rule is credited with it
  CHECK(result.required_that_live(0).size() > 8);
  CHECK(result.required_that_live(1).empty());
  CHECK(result.required_that_live(2).size() == result.required_that_live(0).size());
  CHECK((result.false_alarms[0].alarms == 0 && result.false_alarms[1].alarms == 5 && result.false_alarms[2].alarms == 0));
  CHECK(result.false_alarms[2].broken == 5);
  for (const verify::AuditedMutant& mutant : result.mutants)
    if (mutant.mutant.required && mutant.mutant.kind->name != "c_missing" && mutant.mutant.kind->name != "c_twice")
      CHECK(mutant.mutant.changed > 0);
}

TEST_CASE("inputs of which every wrong number is the right output show nothing", "[verify]") {
  products::Product zeros = product();
  zeros.a.input.tensor = tensors::from_values("a", {24, 512}, std::vector<double>(std::size_t{24} * 512));
  const std::vector<verify::Rule> rules{verify::parse_rule("assert_close")};

  const verify::AuditResult nothing = verify::audit({.product = zeros, .rules = rules});
  CHECK(nothing.required_that_live(0).empty());
  CHECK(nothing.shows_no_wrong_number());
  CHECK(verify::outcome_of(nothing) == verify::Outcome::vacuous);
  CHECK(verify::audit_sentences(nothing).find("These inputs cannot show a wrong number: every required mutant but NaN and "
                                              "infinity is the right output; give others.") != std::string::npos);
  CHECK(verify::audit_sentences(nothing).find("is killed") == std::string::npos);

  const verify::AuditResult something = verify::audit({.product = product(), .rules = rules});
  CHECK_FALSE(something.shows_no_wrong_number());
  CHECK(verify::outcome_of(verify::audit({.product = zeros, .rules = {fixed("no", {.passes = false})}})) ==
        verify::Outcome::fail);
}

TEST_CASE("known rules begin to kill where their formulas say", "[verify]") {
  const verify::AuditResult result =
      verify::audit({.product = product(),
                     .rules = {verify::parse_rule("calc_diff:1e-3"), verify::parse_rule("ulp:1"), verify::parse_rule("cosine")},
                     .trials = 20});
  const auto from = [&](std::size_t rule, const std::string& name) {
    for (const verify::MutantKind& kind : verify::mutant_kinds())
      if (kind.name == name) return result.kills_from(rule, kind).value_or(-1);
    return -2.0;
  };
  CHECK(from(0, "scale_off") == 5);  // up to 4.57 % lives, and 2 % is the next
  CHECK(from(2, "scale_off") == -1);
  CHECK(from(1, "element_off") == 2);
  CHECK(from(0, "element_off") > 64);
  CHECK_FALSE(result.rejects_correct(0));
  CHECK(result.false_alarms[0].alarms == 0);
  CHECK(result.required_that_live(0).empty());
  CHECK_FALSE(result.required_that_live(2).empty());  // a factor of two
}

TEST_CASE("a severity counts only if all greater ones are killed, too", "[verify]") {
  // Rejects the mutants of scale_off from 0.5 to 3 % alone.
  verify::AuditConfig config{.product = product(), .rules = {verify::rule_of("odd", [](emu::Format, auto r, auto o) {
                                                     const double ratio = o[0] / r[0];
                                                     return RuleVerdict{.passes = !(ratio > 1.005 && ratio < 1.03)};
                                                   })}};
  const verify::AuditResult result = verify::audit(config);
  for (const verify::MutantKind& kind : verify::mutant_kinds())
    if (kind.name == "scale_off") CHECK_FALSE(result.kills_from(0, kind));
}

TEST_CASE("a bound says which mutants lie beyond it", "[verify]") {
  verify::AuditConfig config{.product = product(), .rules = {fixed("yes", {.passes = true})}};
  CHECK_FALSE(verify::audit(config).mutants.front().beyond_bound);
  config.bound = verify::parse_rule("ulp:3");
  for (const verify::AuditedMutant& mutant : verify::audit(config).mutants)
    if (mutant.beyond_bound && mutant.mutant.max_error_ulp < 1) CHECK_FALSE(*mutant.beyond_bound);
  CHECK(verify::audit(config).mutants.front().beyond_bound == true);
}

TEST_CASE("a rule is prepared once, with the product", "[verify]") {
  int prepared = 0;
  const verify::Rule counting{"counting", [&](const verify::RuleProblem& problem) -> verify::RuleJudge {
                                ++prepared;
                                CHECK(problem.product->engine == "sm_90");
                                CHECK(problem.shape == std::vector<std::uint64_t>{24, 24});
                                return [](auto, auto) { return RuleVerdict{.passes = true}; };
                              }};
  static_cast<void>(verify::audit({.product = product(), .rules = {counting}, .trials = 3}));
  CHECK(prepared == 1);
}

TEST_CASE("trials are correct: with exact engines they all are the exact product", "[verify]") {
  const verify::MutationSource source = verify::mutation_source(product("exact"), 3);
  const std::vector<std::string> engines = verify::trial_engines(source);
  CHECK(std::find(engines.begin(), engines.end(), "fma") != engines.end());
  std::set<std::string> words;
  for (std::size_t i = 0; i < 40; ++i) {
    verify::Trial trial = verify::draw_trial(source, engines, i);
    words.insert(trial.word());
    trial.engine = "exact";
    CHECK(verify::output_of_trial(source, trial, i) == source.reference);  // wherever the products lie
  }
  CHECK(words.size() > 20);
}

TEST_CASE("an engine that keeps fewer bits of a sum is no valid order of one that keeps more", "[verify]") {
  products::Product config = product();
  config.a.rounding.format = config.b.rounding.format = emu::float8_e4m3fn;
  const auto has = [](const std::vector<std::string>& words, const std::string& word) {
    return std::find(words.begin(), words.end(), word) != words.end();
  };
  config.engine = "sm_100";
  const auto of_long = verify::trial_engines(verify::mutation_source(config, 0));
  CHECK((has(of_long, "sm_120") && !has(of_long, "sm_90") && !has(of_long, "fp16_chain")));
  config.engine = "sm_90";
  const auto of_short = verify::trial_engines(verify::mutation_source(config, 0));
  CHECK((has(of_short, "sm_100") && has(of_short, "sm_89")));
}

TEST_CASE("the power table has every mutant against every rule over every problem", "[verify]") {
  std::size_t mutants = 1;  // and the correct output
  for (const verify::MutantKind& kind : verify::mutant_kinds()) mutants += kind.severities.size();
  const reports::Table table = verify::power_table({fixed("yes", {.passes = true}), fixed("no", {})}, 0, 1);
  CHECK(table.rows.size() == 2 * mutants * 4 * 3 * 2);
  for (const auto& row : table.rows) CHECK(row.size() == table.columns.size());
}
