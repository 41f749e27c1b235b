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
#include <vector>

#include "emu/catalogue.hpp"
#include "emu/error.hpp"

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
