// SPDX-License-Identifier: Apache-2.0
// Figures are those of rule_values.py, which computes the published formulas with exact sums.
#include "verify/audit/rules.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "emu/catalogue.hpp"
#include "emu/error.hpp"

namespace {

using namespace ulpscope;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::WithinRel;
using verify::RuleVerdict;

constexpr double infinity = std::numeric_limits<double>::infinity(), not_a_number = std::numeric_limits<double>::quiet_NaN();

using Values = std::vector<double>;
const Values reference{1.0, -2.5, 0.125, 1000.0, -0.75, 3.0, 0.0, -64.0};
const Values output{1.0078125, -2.5, 0.1171875, 1004.0, -0.7421875, 2.875, 0.001953125, -64.5};

RuleVerdict judge(const std::string& rule, const Values& r, const Values& o, emu::Format out = emu::bfloat16) {
  return verify::parse_rule(rule).prepare({out, {r.size()}})(r, o);
}
bool passes(const std::string& rule, const Values& r, const Values& o, emu::Format out = emu::bfloat16) {
  return judge(rule, r, o, out).passes;
}

Values scaled(Values x, double factor) {
  for (double& v : x) v *= factor;
  return x;
}

/// Those say nothing of tensors alone.
bool asks_for_operands(const std::string& rule) { return rule == "bound" || rule.starts_with("baseline"); }

}  // namespace

TEST_CASE("rules about the whole tensor compute the published figures", "[verify]") {
  CHECK_THAT(judge("calc_diff", reference, output).figure, WithinRel(0x1.0eb02fe23c1d3p-17, 1e-9));
  CHECK_THAT(judge("cosine", reference, output).figure, WithinRel(0x1.fffffeb36a51fp-1, 1e-14));
  CHECK_THAT(judge("sqnr", reference, output).figure, WithinRel(47.9050676918454, 1e-14));
  CHECK_THAT(judge("frobenius", reference, output).figure, WithinRel(0.0040248214179556055, 1e-14));
  CHECK_THAT(judge("nmse", reference, output).figure, WithinRel(0.0040248214179556055 * 0.0040248214179556055, 1e-14));
}

TEST_CASE("a rule about the whole tensor passes up to its limit and no further", "[verify]") {
  CHECK(passes("calc_diff:8.1e-6", reference, output));
  CHECK_FALSE(passes("calc_diff:8e-6", reference, output));
  CHECK(passes("cosine:0.9999999", reference, output));
  CHECK_FALSE(passes("cosine:0.99999997", reference, output));
  CHECK(passes("sqnr:47.9", reference, output));
  CHECK_FALSE(passes("sqnr:48", reference, output));
  CHECK(passes("frobenius:0.00403", reference, output));
  CHECK_FALSE(passes("frobenius:0.00402", reference, output));
}

TEST_CASE("elementwise rules count what lies beyond the tolerance", "[verify]") {
  const RuleVerdict loose = judge("allclose:rtol=1e-2,atol=1e-2", reference, output);
  CHECK((loose.figure == 3.125 && loose.limit == 1 && loose.violations == 1 && !loose.passes));
  const RuleVerdict other = judge("allclose:rtol=8e-3,atol=2e-3", reference, output);
  CHECK_THAT(other.figure, WithinRel(4.8076923076923075, 1e-14));
  CHECK(other.violations == 2);
  CHECK(judge("allclose:rtol=1e-2,atol=0", reference, output).violations == 4);
  CHECK(judge("allclose:rtol=1e-2,atol=0", reference, output).figure == infinity);  // nothing is allowed at zero

  const RuleVerdict matched = judge("matched_ratio:rtol=0.01,atol=0.0005,ratio=0.625", reference, output);
  CHECK((matched.figure == 0.625 && matched.passes && matched.violations == 3));
  CHECK_FALSE(passes("matched_ratio:rtol=0.01,atol=0.0005,ratio=0.63", reference, output));
}

TEST_CASE("ulps are spacings of the output's format at the reference", "[verify]") {
  const Values r{1.0, -2.5, 0.125, 1000.0, -0.75, 3.0, -64.0}, o{1.0078125, -2.5, 0.1171875, 1004.0, -0.7421875, 2.875, -64.5};
  const RuleVerdict verdict = judge("ulp:7", r, o);
  CHECK((verdict.figure == 8 && verdict.limit == 7 && verdict.violations == 2 && !verdict.passes));
  CHECK(passes("ulp:8", r, o));
  CHECK(judge("ulp", r, o).violations == 3);
  CHECK(judge("ulp:8", reference, output).figure == 0x1p124);  // 2^-9 at zero, where the spacing is 2^-133
}

TEST_CASE("bitwise tells the zeros apart and knows one NaN", "[verify]") {
  CHECK(passes("bitwise", {1, not_a_number, -0.0}, {1, not_a_number, -0.0}));
  CHECK_FALSE(passes("bitwise", {0.0}, {-0.0}));
  CHECK(judge("bitwise", reference, output).violations == 7);
}

TEST_CASE("assert_close takes the tolerances of torch for the format", "[verify]") {
  const auto edge = [](emu::Format format, double rtol, double atol) {
    const double allowed = atol + rtol;
    return passes("assert_close", {1}, {1 + allowed * 0.999}, format) &&
           !passes("assert_close", {1}, {1 + allowed * 1.001}, format);
  };
  CHECK(edge(emu::float16, 0.001, 1e-5));
  CHECK(edge(emu::bfloat16, 0.016, 1e-5));
  CHECK(edge(emu::float32, 1.3e-6, 1e-5));
  CHECK(edge(emu::float64, 1e-7, 1e-7));
  CHECK(passes("assert_close", {1}, {1}, emu::float8_e4m3fn));
  CHECK_FALSE(passes("assert_close", {1}, {1 + 0x1p-40}, emu::float8_e4m3fn));
}

TEST_CASE("allclose is relative to the reference, matched_ratio to the output", "[verify]") {
  CHECK(passes("allclose:rtol=0.5,atol=0", {2}, {1}));
  CHECK_FALSE(passes("allclose:rtol=0.5,atol=0", {1}, {2}));
  CHECK(passes("matched_ratio:rtol=0.5,atol=0,ratio=1", {1}, {2}));
  CHECK_FALSE(passes("matched_ratio:rtol=0.5,atol=0,ratio=1", {2}, {1}));
}

TEST_CASE("no rule lets a NaN or an infinity pass for a number", "[verify]") {
  for (const std::string& rule : verify::rule_forms())
    for (const double wrong : {not_a_number, infinity, -infinity}) {
      CAPTURE(rule, wrong);
      Values o(2000, 1.0);
      o[0] = 2;  // which pcc of a constant tensor would not be
      const Values r = o;
      CHECK(passes(rule, r, o) == !asks_for_operands(rule));
      o[1500] = wrong;
      CHECK_FALSE(passes(rule, r, o));
    }
  for (const std::string& rule : verify::rule_forms()) {
    CAPTURE(rule);
    CHECK_FALSE(passes(rule, {1, 1}, {not_a_number, not_a_number}));
    CHECK_FALSE(passes(rule, {1, infinity}, {1, 2}));
    CHECK_FALSE(passes(rule, {1, infinity}, {1, -infinity}));
    CHECK(passes(rule, {1, not_a_number}, {1, not_a_number}) == (rule == "bitwise"));
  }
  for (const std::string rule : {"allclose", "assert_close", "ulp", "matched_ratio"}) {
    CAPTURE(rule);
    const std::string equal = rule == "ulp" ? "ulp:1,nan=equal" : rule + ":nan=equal";
    CHECK(passes(equal, {1, not_a_number}, {1, not_a_number}));
    CHECK_FALSE(passes(equal, {1, not_a_number}, {1, 1}));
    CHECK_FALSE(passes(equal, {1, 1}, {1, not_a_number}));
  }
}

TEST_CASE("the rules have the weaknesses of their originals", "[verify]") {
  Values x;
  for (int i = 0; i < 3000; ++i) x.push_back(std::fmod(i * 0.37, 3.0) - 1.4);

  CHECK(passes("calc_diff:1e-3", x, scaled(x, 1.0457)));  // 1 - 2 s / (1 + s^2) = 1e-3 at s = 1.04576
  CHECK_FALSE(passes("calc_diff:1e-3", x, scaled(x, 1.0458)));
  CHECK(passes("cosine:0.999999", x, scaled(x, 1000)));
  CHECK(passes("allclose:rtol=1e-2,atol=1e-2", scaled(x, 0x1p-8), Values(x.size(), 0.0)));
  CHECK(passes("matched_ratio", x, scaled(x, 6)));  // |x - 6x| = 5 |x| <= 0.85 * 6 |x|
  Values one_wrong = x;
  one_wrong[17] = 20;
  CHECK(passes("matched_ratio", x, one_wrong));
  CHECK_FALSE(passes("allclose:rtol=0.85,atol=0.1", x, one_wrong));
}

TEST_CASE("all zeros against all zeros is no verdict of the quotients", "[verify]") {
  const Values zeros(10, 0.0);
  for (const std::string rule : {"sqnr", "frobenius", "nmse", "l1", "pcc"}) CHECK(std::isnan(judge(rule, zeros, zeros).figure));
  for (const std::string rule : {"sqnr", "frobenius", "nmse", "l1", "pcc", "cosine"}) CHECK_FALSE(passes(rule, zeros, zeros));
  for (const std::string rule :
       {"allclose", "assert_close", "ulp", "bitwise", "matched_ratio", "mse", "mean_abs", "mean_rel", "nrmse", "rms_rel"})
    CHECK(passes(rule, zeros, zeros));
}

TEST_CASE("calc_diff of zeros against zeros is 0, and of anything else against zeros 1", "[verify]") {
  const Values zeros(10, 0.0);

  CHECK(judge("calc_diff", zeros, zeros).figure == 0);
  CHECK(passes("calc_diff", zeros, zeros));
  CHECK(judge("calc_diff", zeros, Values(10, 0x1p-30)).figure == 1);
  CHECK(judge("calc_diff", Values(10, 0x1p-30), zeros).figure == 1);
}

TEST_CASE("a word that is no rule is answered with what would be one", "[verify]") {
  const auto message = [](const std::string& word) {
    try {
      static_cast<void>(verify::parse_rule(word));
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK_THAT(message("calc_dif:1"), ContainsSubstring("'calc_dif'") && ContainsSubstring("calc_diff"));
  CHECK_THAT(message("calc_diff:abc"), ContainsSubstring("'abc' is no number") && ContainsSubstring("calc_diff:0.001"));
  CHECK_THAT(message("calc_diff:"), ContainsSubstring("nothing follows the colon"));
  CHECK_THAT(message("allclose:rtl=1"), ContainsSubstring("allclose:rtol=1e-05,atol=1e-08"));
  CHECK_THAT(message("allclose:0.1"), ContainsSubstring("nothing that it takes"));
  CHECK_THAT(message("ulp:-1"), ContainsSubstring("negative"));
  CHECK_THAT(message("ulp:nan"), ContainsSubstring("no number"));
  CHECK_THAT(message("bitwise:3"), ContainsSubstring("write bitwise alone"));
  CHECK(message("cosine:-0.5").empty());
  for (const std::string& form : verify::rule_forms()) CHECK(message(form).empty());
}
