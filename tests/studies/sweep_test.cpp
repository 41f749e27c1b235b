// SPDX-License-Identifier: Apache-2.0
// The loss-scale window and the advice that follows from it.
#include "studies/census/sweep.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "emu/catalogue.hpp"
#include "emu/error.hpp"
#include "reports/render.hpp"
#include "studies/census/census_findings.hpp"

using namespace ulpscope;
using emu::Outcome;

namespace {

std::vector<studies::SweepRow> sweep_of(const std::vector<float>& values, emu::Format format, studies::ScaleRange range) {
  studies::CensusConfig config;
  config.formats = {format};
  return studies::sweep(tensors::from_values("g", {values.size()}, values), range, config);
}

std::vector<float> powers_down_to(int least) {
  std::vector<float> values;
  for (int i = 0; i >= least; --i) values.push_back(std::ldexp(1.0F, i));
  return values;
}

}  // namespace

TEST_CASE("the loss-scale window of 2^0 ... 2^-40 in fp16 is the one worked out by hand", "[studies]") {
  const auto rows = sweep_of(powers_down_to(-40), emu::fp16, {0, 16, 8});

  REQUIRE(rows.size() == 3);
  const auto counts = [&](std::size_t i) {
    return std::vector{rows[i].sums.of(Outcome::to_zero), rows[i].sums.of(Outcome::subnormal),
                       rows[i].sums.of(Outcome::overflow)};
  };
  CHECK(counts(0) == std::vector<std::uint64_t>{16, 10, 0});
  CHECK(counts(1) == std::vector<std::uint64_t>{8, 10, 0});
  CHECK(counts(2) == std::vector<std::uint64_t>{0, 10, 1});
}

TEST_CASE("advice takes the scale that loses least without overflow", "[studies]") {
  const auto advice = studies::advise(sweep_of(powers_down_to(-40), emu::fp16, {-10, 24, 1})).front();

  CHECK(advice.use_log2 == 15);
  CHECK(advice.first == 15);
  CHECK(advice.last == 15);
  CHECK(advice.lost_to_zero == 1);  // 2^-40 2^15 is the tie 2^-25
  CHECK(studies::sentence(advice) ==
        "g in float16: scale 2^15 loses nothing to overflow and 2.44% to zero; use 2^15; worst placed is element 40, the "
        "smallest at 9.095e-13.");
}

TEST_CASE("advice recommends no scale where none helps, and says where the sweep ended", "[studies]") {
  const auto said = [](const std::vector<float>& values, studies::ScaleRange range) {
    return studies::sentence(studies::advise(sweep_of(values, emu::fp16, range)).front());
  };
  CHECK(
      said({1e-30F, -1e-20F}, {-10, 24, 1}) ==
      "g in float16: every scale tried loses all elements to zero, or overflows; give larger ones (--log2-scale); worst placed "
      "is element 0, the smallest at 1e-30.");
  for (const float x : {0.0F, std::numeric_limits<float>::quiet_NaN()})
    CHECK(said({x, x}, {-10, 24, 1}) == "g in float16: no finite element but zeros: no scale is better than another.");
  const float infinity = std::numeric_limits<float>::infinity();
  const studies::Advice lost = studies::advise(sweep_of({infinity, 1, 1, 1}, emu::e4m3, {0, 4, 1})).front();
  CHECK(studies::sentence(lost).ends_with("; 25% is infinite or NaN, which the format does not have."));
  CHECK(studies::finding_of(lost).severity == reports::Severity::bad);
  CHECK(studies::finding_of(lost).value == reports::Cell(std::int64_t{1}));
  CHECK_THAT(said({0x1p-20F}, {0, 24, 1}),
             Catch::Matchers::StartsWith("g in float16: scales 2^0 to 2^24, the largest tried, lose nothing"));
  CHECK_THAT(said({0x1p-20F}, {0, 40, 1}), Catch::Matchers::StartsWith("g in float16: scales 2^0 to 2^35 lose nothing"));
  CHECK_THAT(said({0x1p-44F, 0x1p-60F}, {0, 24, 1}),
             Catch::Matchers::StartsWith(
                 "g in float16: scales 2^20 to 2^24, the largest tried, lose nothing to overflow and 50% to zero"));
}

TEST_CASE("advice says so when every scale overflows", "[studies]") {
  const auto advice = studies::advise(sweep_of({1e30F, 1.0F}, emu::e4m3, {-4, 4, 1})).front();

  CHECK_FALSE(advice.first.has_value());
  CHECK(advice.overflowing == 1);
}

TEST_CASE("loss_scales.csv says which scale to use, what it loses, and which scales lose no more", "[studies]") {
  const auto row = [](const std::vector<float>& values, emu::Format format, studies::ScaleRange range) {
    std::string text = reports::to_csv(studies::loss_scale_table(studies::advise(sweep_of(values, format, range))));
    return text.substr(text.find('\n') + 1);
  };
  CHECK(row(powers_down_to(-40), emu::fp16, {-10, 24, 1}) == "g,float16,15,15,15,41,1,0,40,9.094947017729282e-13,,\n");
  CHECK(row({0x1p-44F, 0x1p-60F}, emu::fp16, {0, 24, 1}) == "g,float16,20,20,24,2,1,0,1,8.673617379884035e-19,,\n");
  CHECK(row({1e30F, 1.0F}, emu::e4m3, {-4, 4, 1}) == "g,float8_e4m3fn,0,nan,nan,2,0,1,0,1.0000000150474662e+30,,\n");
  CHECK(row({0.0F}, emu::fp16, {0, 1, 1}) == "g,float16,0,0,1,1,0,0,nan,nan,,\n");
}

TEST_CASE("a tensor that fits is advised no scale", "[studies]") {
  CHECK(studies::advise(sweep_of({1.0F, 0.5F}, emu::bf16, {-10, 24, 1})).front().use_log2 == 0);
}

TEST_CASE("percentages never claim nothing or everything of what is neither", "[studies]") {
  CHECK(studies::percent(0, 7) == "0%");
  CHECK(studies::percent(7, 7) == "100%");
  CHECK(studies::percent(1, 1000000000) == "1e-07%");
  CHECK(studies::percent(612, 1000) == "61.2%");
  CHECK(studies::percent(999999999, 1000000000) == ">99.99%");
}

TEST_CASE("scale ranges that make no sense are refused", "[studies]") {
  for (const char* word : {"", "1", "4:1", "0:4:0", "0:4:-1", "a:b", "0:4:1:1", "0:99999999999", "-600:0", "0.5:1"}) {
    CAPTURE(word);
    CHECK_THROWS_AS(studies::parse_scale_range(word), Error);
  }
  CHECK(studies::parse_scale_range("-2:3:2").exponents() == std::vector<int>{-2, 0, 2});
  CHECK(studies::parse_scale_range("-10:+24").exponents().size() == 35);
}

TEST_CASE("sweeping at 2^0 is the census", "[studies]") {
  const auto tensor = tensors::open("studentt:2:100000").front();
  studies::CensusConfig config;
  config.formats = {emu::e5m2, emu::float6_e3m2fn};

  const auto census = studies::census(tensor, {}, config);
  const auto sweep = studies::sweep(tensor, {0, 0, 1}, config);

  for (std::size_t i = 0; i < census.size(); ++i)
    CHECK(studies::statistic_cells(census[i].sums) == studies::statistic_cells(sweep[i].sums));
}
