// SPDX-License-Identifier: Apache-2.0
// Differences of tensors counted in ulps and judged by tolerances.
#include "studies/diff/diff.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <variant>
#include <vector>

#include "emu/catalogue.hpp"
#include "emu/error.hpp"
#include "reports/render.hpp"
#include "studies/diff/diff_findings.hpp"
#include "studies/diff/kept_diff.hpp"

using namespace ulpscope;

namespace {

constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN(), infinite = std::numeric_limits<float>::infinity();

studies::DiffResult diff_of(const std::vector<float>& a, const std::vector<float>& b, const std::string& tolerance = "") {
  return studies::diff(tensors::from_values("a", {a.size()}, a), tensors::from_values("b", {b.size()}, b), emu::fp16,
                       studies::parse_tolerance(tolerance));
}
bool fails(const std::vector<float>& a, const std::vector<float>& b, const std::string& tolerance) {
  return diff_of(a, b, tolerance).fails(studies::parse_tolerance(tolerance));
}

}  // namespace

TEST_CASE("a difference is counted in ulps of the format at the reference", "[studies]") {
  // fp16 in [1, 2) has steps of 2^-10
  const auto r = diff_of({1, 1, 1, 1, 2, 0}, {1, 1 + 0x1p-10F, 1 + 3 * 0x1p-10F, 1 + 0x1p-3F, 2 - 0x1p-10F, 0x1p-24F});

  CHECK(r.equal == 1);
  CHECK(r.beyond_1_ulp == 2);
  CHECK(r.beyond_2_ulp == 2);
  CHECK(r.beyond_10_ulp == 1);
  CHECK(r.beyond_100_ulp == 1);
  CHECK(r.worst.front().index == 3);
  CHECK(r.worst.front().error_ulp == 128);
  CHECK(r.bias_ulp == (0 + 1 + 3 + 128 - 0.5 + 1) / 6);
  CHECK(r.max_abs_error == 0.125);
}

TEST_CASE("NaN never passes against a number, whatever the tolerance", "[studies]") {
  const std::string generous = "ulp=1e300,abs=1e300,rel=1e300,frobenius=1e300";

  CHECK(fails({1, 2}, {not_a_number, 2}, generous));
  CHECK(fails({1, not_a_number}, {1, 2}, generous));
  CHECK(fails({1, 2}, {infinite, 2}, generous));
  CHECK(fails({infinite, 2}, {-infinite, 2}, "ulp=1e300"));
  CHECK(fails({1, 2}, {not_a_number, 2}, "frobenius=1e300"));
  CHECK_FALSE(fails({not_a_number, infinite, 0.0F}, {not_a_number, infinite, -0.0F}, ""));
}

TEST_CASE("what is infinite or NaN and differs is counted, for errors are of finite elements alone", "[studies]") {
  const auto r =
      diff_of({infinite, not_a_number, 1, infinite, not_a_number}, {-infinite, infinite, infinite, infinite, not_a_number});

  CHECK(r.nonfinite_one_side == 1);
  CHECK(r.nonfinite_unlike == 3);
  const reports::Table table = studies::diff_table(r);
  const auto column = std::ranges::find(table.columns, "nonfinite_unlike") - table.columns.begin();
  CHECK(table.rows.at(0).at(static_cast<std::size_t>(column)) == reports::Cell(std::int64_t{3}));
}

TEST_CASE("an element passes by any one elementwise rule and fails by none", "[studies]") {
  CHECK(fails({1}, {1.001F}, ""));
  CHECK(fails({1}, {1.001F}, "ulp=1"));
  CHECK_FALSE(fails({1}, {1.001F}, "ulp=1,rel=0.01"));
  CHECK_FALSE(fails({0}, {1e-6F}, "rel=0.01,abs=1e-5"));
  CHECK(fails({0}, {1e-6F}, "rel=0.01"));
  CHECK(fails({1, 1}, {1.5F, 1}, "frobenius=0.3"));
  CHECK_FALSE(fails({1, 1}, {1.5F, 1}, "frobenius=0.36"));
}

TEST_CASE("identical tensors have no error, cosine 1 and infinite sqnr", "[studies]") {
  const auto r = diff_of({3, 4}, {3, 4});

  CHECK(r.rel_frobenius_error == 0);
  CHECK(r.cosine == 1);
  CHECK(std::isinf(r.sqnr_db));
  CHECK(r.worst.empty());
}

TEST_CASE("a cosine does not depend on the size of the numbers", "[studies]") {
  for (const double of_a : {1.0, 1e200, 1e-200, 0x1p-1060})
    for (const double of_b : {1.0, 1e200, 1e-200, 0x1p-1060}) {
      CAPTURE(of_a, of_b);
      // 4 * 3 + 3 * 4 of 5 * 5
      const auto r = studies::diff(tensors::from_values("a", {2}, std::vector<double>{4 * of_a, 3 * of_a}),
                                   tensors::from_values("b", {2}, std::vector<double>{3 * of_b, 4 * of_b}), emu::float64, {});
      CHECK_THAT(r.cosine, Catch::Matchers::WithinRel(0.96, 4 * std::numeric_limits<double>::epsilon()));
    }
  const auto r = studies::diff(tensors::from_values("a", {2}, std::vector<double>{1e200, 1e-200}),
                               tensors::from_values("b", {2}, std::vector<double>{1e-200, 1e200}), emu::float64, {});
  CHECK(r.cosine == 0);
}

TEST_CASE("means and ratios of doubles are finite where their sums are not", "[studies]") {
  const std::vector<double> a{0.75 * 0x1p1023, 0.75 * 0x1p1023, 1}, b{-a[0], -a[1], 1};  // 1 is nothing of the others

  const auto r = studies::diff(tensors::from_values("a", {3}, a), tensors::from_values("b", {3}, b), emu::fp64, {});

  CHECK(r.max_abs_error == 1.5 * 0x1p1023);
  CHECK(r.mean_abs_error == 0x1p1023);
  CHECK(r.rel_frobenius_error == 2);
  CHECK(r.cosine == -1);
  CHECK(r.sqnr_db == 10 * std::log10(0.25));
}

TEST_CASE("tensors of different shape are not compared", "[studies]") {
  CHECK_THROWS_AS(studies::diff(tensors::from_values("a", {2, 1}, std::vector<float>{1, 2}),
                                tensors::from_values("b", {1, 2}, std::vector<float>{1, 2}), emu::fp16, {}),
                  Error);
}

TEST_CASE("a tolerance that makes no sense is refused", "[studies]") {
  for (const char* word : {"ulp", "ulp=", "ulp=-1", "ulp=x", "size=1", "ulp=1,,", "abs=nan", "ulp=inf"}) {
    CAPTURE(word);
    CHECK_THROWS_AS(studies::parse_tolerance(word), Error);
  }
}

namespace {

/// Two checkpoints, of which `w` differs, `n` in an infinity, and `gone` has no like.
studies::CheckpointDiff two_checkpoints(const std::string& tolerance) {
  const auto tensor = [](const std::string& side, const std::string& name, const std::vector<float>& values) {
    tensors::Tensor made = tensors::from_values(side + ":" + name, {values.size()}, values);
    made.name = name;
    return made;
  };
  return studies::diff_checkpoints({tensor("a", "w", {1, 2, 3, 4}), tensor("a", "n", {1, infinite}), tensor("a", "same", {5})},
                                   {tensor("b", "w", {1, 2.5F, 3, 4 + 0x1p-8F}), tensor("b", "n", {1, -infinite}),
                                    tensor("b", "same", {5}), tensor("b", "more", {6})},
                                   emu::fp16, studies::parse_tolerance(tolerance), {});
}

}  // namespace

TEST_CASE("a difference is the same after it was a line", "[studies]") {
  const studies::DiffResult right = diff_of({1, 2, infinite, not_a_number, 0}, {1, 2.5F, -infinite, 3, -0.0F}, "ulp=3");
  const std::string line = studies::diff_line(right);
  studies::DiffResult read = right;
  read.count = 5, read.equal = read.beyond_1_ulp = read.intolerable = 77;
  read.mean_abs_error = read.sqnr_db = -1, read.worst.clear();
  studies::read_diff_line(line, read);
  CHECK(studies::diff_line(read) == line);
  CHECK(reports::to_csv(studies::diff_table(read)) == reports::to_csv(studies::diff_table(right)));
  CHECK(reports::to_csv(studies::worst_elements(read)) == reports::to_csv(studies::worst_elements(right)));
  CHECK(read.fails(studies::parse_tolerance("ulp=1e9")) == right.fails(studies::parse_tolerance("ulp=1e9")));
  CHECK(read.intolerable == right.intolerable);
  CHECK(read.worst.size() == 3);

  for (const std::string& wrong :
       {std::string(), line + " 1", line.substr(0, line.rfind(' ')), line + "  1", line + " ", " " + line,
        line + " 5 0 0 0 0 0", "g" + line, "1" + line, line + " 10000000000000000 0 0 0 0 0"}) {
    CAPTURE(wrong);
    studies::DiffResult into = right;
    CHECK_THROWS_AS(studies::read_diff_line(wrong, into), Error);
  }
}

TEST_CASE("findings of a difference say how many tensors are beyond what may differ, and which is worst", "[studies]") {
  const auto all = studies::diff_findings(two_checkpoints(""), "");
  REQUIRE(all.size() == 3);
  CHECK(all[0].sentence == "2 of 3 tensors differ.");
  CHECK(all[1].sentence ==
        "b:n beside a:n: 1 of 2 elements differs, the worst at 1; in 1 of them an infinity or a NaN is another number.");
  CHECK(all[2].sentence == "1 tensor is missing, added, renamed or of another shape.");
  for (const reports::Finding& finding : all) CHECK(finding.severity == reports::Severity::bad);

  const auto some = studies::diff_findings(two_checkpoints("ulp=2"), "ulp=2");
  CHECK(some[0].sentence == "2 of 3 tensors differ, 2 of them beyond ulp=2.");

  const studies::CheckpointDiff two{
      .differences = {diff_of({1, 4}, {1, 5}, "ulp=1"), diff_of({1, 4}, {1, 4 + 0x1p-8F}, "ulp=1")}};
  const auto half = studies::diff_findings(two, "ulp=1");
  CHECK(half[0].sentence == "2 of 2 tensors differ, 1 of them beyond ulp=1.");
  CHECK(half[0].value == reports::whole(1));
  const studies::CheckpointDiff close{.differences = {two.differences[1], two.differences[1]}};
  CHECK(studies::diff_findings(close, "ulp=1").front().sentence == "2 of 2 tensors differ, none beyond ulp=1.");
  CHECK(studies::diff_findings(close, "ulp=1").front().severity == reports::Severity::good);

  const studies::CheckpointDiff one{.differences = {diff_of({1, 2, 4}, {1, 2, 4 + 0x1p-8F}, "ulp=1")}};
  const auto within = studies::diff_findings(one, "ulp=1");
  REQUIRE(within.size() == 1);
  CHECK(within[0].severity == reports::Severity::good);
  CHECK(within[0].sentence == "b beside a: 1 of 3 elements differs, by up to 1 ulp of float16, the worst at 2; 61.4 dB.");
  CHECK(studies::diff_findings(one, "").front().severity == reports::Severity::bad);
  CHECK(studies::diff_findings({}, "").empty());
}

TEST_CASE("the figure of a difference has the share of elements in each step of ulps", "[studies]") {
  const auto figures = studies::diff_figures(studies::diff_table(two_checkpoints("")));
  REQUIRE(figures.size() == 1);
  const auto& map = std::get<reports::HeatMap>(figures.front().data);
  REQUIRE(map.groups.front().rows.size() == 3);
  const auto texts = [&](std::size_t row) {
    std::vector<std::string> all;
    for (const auto& cell : map.groups.front().rows[row].cells) all.push_back(cell.text);
    return all;
  };
  CHECK(map.groups.front().rows[1].name == "w");
  CHECK(texts(0) == std::vector<std::string>{"50", "", "", "", "", "50"});
  CHECK(texts(1) == std::vector<std::string>{"50", "25", "", "", "", "25"});
  CHECK(texts(2) == std::vector<std::string>{"100", "", "", "", "", ""});
  CHECK(studies::diff_figures(studies::diff_table(studies::CheckpointDiff{})).empty());
}
