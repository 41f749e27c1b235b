// SPDX-License-Identifier: Apache-2.0
// Correct outputs, correct computations in other orders against the bounds, and rules that have no verdict.
#include "verify/audit/operation_audit.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "emu/error.hpp"
#include "tests/verify/asked_operations.hpp"
#include "verify/audit/bound_rule.hpp"
#include "verify/audit/operation_trials.hpp"
#include "verify/verdict.hpp"

namespace {

using namespace ulpscope;
using namespace ulpscope::audits;
using Catch::Matchers::ContainsSubstring;

}  // namespace

TEST_CASE("the correct output is rounded as the kernel declares, and a truncated one toward zero", "[verify]") {
  const Doubles x{1, 0x1p-8, 0, -1, -0x1p-9, -0x1p-30, 3, 0x1p-7, -0x1p-40};  // sums between numbers of bfloat16
  Asked asked("sum", {{"out", {"bf16"}}});
  asked.add("x", {3, 3}, x);
  const auto nearest = asked.source();
  CHECK(nearest->correct == Doubles{1, -1, 3});
  asked.options["out_rounding"] = {"away_from_zero"};
  const auto error = [&] { return asked.source(); };
  CHECK_THROWS_AS(error(), Error);
  asked.options["out_rounding"] = {"upward"};
  const auto upward = asked.source();
  CHECK(upward->correct == Doubles{1 + 0x1p-7, -1, 3 + 0x1p-6});
  CHECK(output_named(*upward, "out_truncated") == Doubles{1, -1, 3});
  CHECK(mutant_named(*nearest, "out_truncated").is_equivalent());
  asked.options["out_rounding"] = {"downward"};
  CHECK(asked.source()->correct == Doubles{1, -1 - 0x1p-7, 3});
}

TEST_CASE("plain computations in other orders are within the bound, and are not all alike", "[verify]") {
  for (const char* const operation : {"sum", "dot", "softmax", "rms_norm", "layer_norm"}) {
    CAPTURE(operation);
    const bool is_dot = std::string(operation) == "dot", is_norm = std::string(operation).ends_with("norm");
    Asked asked(operation);
    Doubles x(3500), y(3500);
    for (std::size_t i = 0; i < x.size(); ++i)
      x[i] = (is_norm ? 0x1p-8 : 1) * std::sin(static_cast<double>(i * i)), y[i] = std::cos(double(i)) + 0.1;
    asked.add(is_dot ? "a" : "x", {5, 700}, x);
    if (is_dot) asked.add("b", {5, 700}, y);
    if (is_norm)
      asked.add("weight", {700}, Doubles(y.begin(), y.begin() + 700)).add("bias", {700}, Doubles(x.begin(), x.begin() + 700));
    const auto source = asked.source(7);
    REQUIRE(verify::without_trials(*source).empty());
    const verify::RuleJudge bound =
        verify::bound_rule().prepare({source->out, source->check().expectation->shape(), nullptr, &source->check()});
    std::set<std::string> words;
    std::set<Doubles> outputs;
    for (std::size_t i = 0; i < 40; ++i) {
      const auto [output, word] = verify::plain_trial(*source, i);
      CAPTURE(word);
      CHECK(bound(source->reference, output).passes);
      CHECK(output.size() == source->correct.size());
      words.insert(word), outputs.insert(output);
    }
    CHECK((words.size() > 20 && outputs.size() > (is_norm ? 3 : 15)));  // a norm's rows hang on one number each
    CHECK(verify::plain_trial(*source, 3) == verify::plain_trial(*asked.source(7), 3));
    asked.options["in"] = {"bf16"};  // inputs are rounded first
    const auto rounded = asked.source();
    CHECK(verify::bound_rule()
              .prepare({rounded->out, rounded->check().expectation->shape(), nullptr, &rounded->check()})(
                  rounded->reference, verify::plain_trial(*rounded, 0).first)
              .passes);
  }
}

TEST_CASE("plain sums are added in the order that they say", "[verify]") {
  std::vector<float> x(90);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(std::sin(static_cast<double>(i * i)));
  Asked asked("sum");
  asked.add("x", {90}, Doubles(x.begin(), x.end()));
  const auto source = asked.source(1);
  std::map<std::string, std::set<double>> sums;
  for (std::size_t i = 0; i < 1000; ++i) {
    const auto [output, word] = verify::plain_trial(*source, i);
    sums[word].insert(output.front());
  }
  const auto in_order = [](auto first, auto last) {
    float sum = *first;
    while (++first != last) sum += *first;
    return std::set{static_cast<double>(sum)};
  };
  CHECK(sums["in order"] == in_order(x.begin(), x.end()));
  CHECK(sums["in order, from the last term to the first"] == in_order(x.rbegin(), x.rend()));
  CHECK(sums["in order, the terms in another order"].size() > 2);
}

TEST_CASE("other arithmetic than plain float32 is not measured", "[verify]") {
  const auto why = [](const std::string& operation, const std::string& option, const std::string& word) {
    Asked asked(operation, {{option, {word}}});
    if (operation == "elementwise") asked.options["function"] = {"exp"};
    asked.add("x", {2, 8}, smalls(16));
    return verify::without_trials(*asked.source());
  };
  CHECK(why("sum", "acc", "fp32").empty());
  CHECK(why("sum", "acc", "fp16") == "with --acc fp16");
  CHECK(why("sum", "acc_rounding", "toward_zero") == "with --acc-rounding toward_zero");
  CHECK(why("sum", "sum_depth", "4") == "with --sum-depth 4");
  CHECK(why("sum", "out_rounding", "stochastic") == "with --out-rounding stochastic");
  CHECK(why("softmax", "exponentials", "bf16") == "with --exponentials bf16");
  CHECK(why("rms_norm", "normalized", "bf16") == "with --normalized bf16");
  CHECK(why("rms_norm", "function_ulp", "0") == "with --function-ulp 0");
  CHECK(why("elementwise", "function_ulp", "2") == "for this operation");
}

TEST_CASE("the bound rule says of mutants what a check says", "[verify]") {
  Asked asked("layer_norm", {{"out", {"bf16"}}, {"out_flush", {"true"}}});
  asked.add("x", {16, 24}, smalls(384, 1, 0.37)).add("weight", {24}, smalls(24, 5, 0.1));
  const auto source = asked.source();
  const verify::ResolvedCheck& check = source->check();
  const verify::RuleJudge bound = verify::bound_rule().prepare({source->out, check.expectation->shape(), nullptr, &check});
  CHECK(bound(source->reference, source->correct).passes);
  for (const verify::OperationMutant& kind : verify::mutants_of(*source)) {
    const verify::Mutant mutant = verify::make_mutant(*source, kind, kind.severities.back());
    if (!mutant.applicable) continue;
    CAPTURE(kind.name);
    const tensors::Tensor output = tensors::from_values("o", check.expectation->shape(), mutant.output);
    const verify::Verdict verdict = verify::verify(*check.expectation, output, {.last = check.last, .threads = 1});
    CHECK(bound(source->reference, mutant.output).violations == verdict.wrong());
  }
}

TEST_CASE("an audit of an operation has its own kinds, and says where false alarms are not measured", "[verify]") {
  const auto parse = [](const std::string& word) { return verify::parse_rule(word); };
  const auto audit_of = [&](const Asked& asked, std::vector<std::string> rules) {
    verify::OperationAuditRequest request = asked.request();
    request.rule = std::move(rules);
    return verify::audit(verify::resolve(request, parse));
  };
  Asked sums("sum");
  sums.add("x", {4, 64}, smalls(256));
  const verify::AuditResult of_sums = audit_of(sums, {"bound", "cosine"});
  CHECK(of_sums.not_measured.empty());
  CHECK((of_sums.false_alarms[0].trials == 20 && of_sums.false_alarms[0].alarms == 0));
  CHECK(of_sums.required_that_live(0).empty());
  CHECK_FALSE(of_sums.required_that_live(1).empty());  // a factor of two
  Asked casts("cast", {{"out", {"fp16"}}});
  casts.add("x", {4, 64}, smalls(256, 0, 0.3));
  const verify::AuditResult of_casts = audit_of(casts, {"bitwise"});
  CHECK(of_casts.not_measured == "for this operation");
  CHECK(of_casts.false_alarms[0].trials == 0);
  std::size_t killed = 0;
  for (const verify::AuditedMutant& mutant : of_casts.mutants) killed += mutant.fate(0) == verify::Fate::killed;
  CHECK(killed > 25);
  for (const verify::AuditedMutant& mutant : of_casts.mutants) CHECK(mutant.fate(0) != verify::Fate::lived);
  const reports::Table table = verify::audit_table(of_casts);
  for (const auto& row : table.rows) {
    REQUIRE(row.size() == table.columns.size());
    CHECK((row[row.size() - 1] == reports::Cell(std::string()) && row[row.size() - 2] == reports::Cell(std::string())));
  }
  CHECK(verify::audit_summary(of_casts).rows.size() == of_casts.kinds.size());
  CHECK(std::ranges::none_of(of_casts.kinds, [](const auto& kind) { return kind->name == "tail_dropped"; }));
}

TEST_CASE("rules that ask for what only products have are refused by name", "[verify]") {
  Asked asked("sum");
  asked.add("x", {4, 8}, smalls(32));
  const auto source = asked.source();
  const verify::RuleProblem problem{source->out, {4}, nullptr, &source->check()};
  const auto refused = [&](const std::string& word, const std::string& what) {
    CHECK_THROWS_WITH(verify::parse_rule(word).prepare(problem),
                      ContainsSubstring("rule '" + word + "': asks for " + what + ", which audits of matmul alone have"));
  };
  refused("baseline", "an engine");
  refused("baseline:factor=2*K", "an engine");
  refused("allclose:rtol=1e-6*sqrt(K)", "K");
  CHECK_THROWS_WITH(verify::parse_rule("bitwise or mean_abs:1*K").prepare(problem),
                    ContainsSubstring("'mean_abs:1*K': asks for K"));
  CHECK_THROWS_WITH(asked.add("x", {4, 8}, smalls(32)).source(), ContainsSubstring("give one"));
  Asked empty("softmax");
  empty.add("x", {0, 8}, {});
  CHECK_THROWS_WITH(empty.source(), ContainsSubstring("an empty output has no mutants"));
}
