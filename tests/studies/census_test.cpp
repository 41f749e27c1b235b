// SPDX-License-Identifier: Apache-2.0
// The census against facts worked out by hand and figures published elsewhere.
#include "studies/census/census.hpp"

#include <algorithm>
#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "emu/catalogue.hpp"
#include "reports/render.hpp"

using namespace ulpscope;
using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;
using emu::Outcome;

namespace {

constexpr float infinite = std::numeric_limits<float>::infinity(), not_a_number = std::numeric_limits<float>::quiet_NaN();

studies::ErrorSums census_of(const std::vector<float>& values, emu::Format format, const std::string& scale = "none",
                             emu::RoundingOptions options = {}) {
  const auto tensor = tensors::from_values("t", {values.size()}, values);
  studies::CensusConfig config;
  config.formats = {format};
  config.options = options;
  return studies::census(tensor, studies::parse_scaling(scale), config).front().sums;
}

std::map<std::string, double> statistics(const studies::ErrorSums& sums) {
  std::map<std::string, double> out;
  const auto columns = studies::statistic_columns();
  const auto cells = studies::statistic_cells(sums);
  REQUIRE(columns.size() == cells.size());
  for (std::size_t i = 0; i < columns.size(); ++i)
    out[columns[i]] = std::holds_alternative<double>(cells[i]) ? std::get<double>(cells[i])
                                                               : static_cast<double>(std::get<std::int64_t>(cells[i]));
  return out;
}

std::vector<float> every_float16() {
  std::vector<float> values;
  for (int sign = 0; sign < 2; ++sign)
    for (int field = 0; field < 31; ++field)
      for (int fraction = 0; fraction < 1024; ++fraction) {
        const float magnitude = field == 0 ? std::ldexp(static_cast<float>(fraction), -24)
                                           : std::ldexp(static_cast<float>(1024 + fraction), field - 25);
        values.push_back(sign == 0 ? magnitude : -magnitude);
      }
  return values;
}

}  // namespace

TEST_CASE("each element of a hand-made tensor has the class that the definitions give", "[studies]") {
  const std::vector<float> values{not_a_number, infinite, -infinite, 0.0F,  -0.0F,   1.0F,     448.0F,
                                  464.0F,       465.0F,   -500.0F,   1.03F, 0x1p-9F, 0x1p-10F, 0x1.000002p-10F};

  const auto sums = census_of(values, emu::e4m3);

  CHECK(sums.of(Outcome::nan) == 1);
  CHECK(sums.of(Outcome::infinite) == 2);
  CHECK(sums.of(Outcome::zero) == 2);
  CHECK(sums.of(Outcome::exact) == 2);
  CHECK(sums.of(Outcome::rounded) == 2);    // 464 -> 448, 1.03 -> 1
  CHECK(sums.of(Outcome::subnormal) == 2);  // 2^-9 and the value just above the tie
  CHECK(sums.of(Outcome::to_zero) == 1);    // the tie 2^-10
  CHECK(sums.of(Outcome::overflow) == 2);
  CHECK(sums.count() == values.size());
}

TEST_CASE("errors of a hand-made tensor are those computed by hand", "[studies]") {
  // e4m3 in [1, 2) has steps of 1/8: 1.0625 is a tie and goes to 1, 1.1875 a tie that goes to 1.25.
  const auto s = statistics(census_of({1.0625F, -1.1875F, 2.0F}, emu::e4m3));

  CHECK(s.at("max_abs_error") == 0.0625);
  CHECK(s.at("mean_abs_error") == 0.125 / 3);
  CHECK(s.at("mean_signed_error") == -0.125 / 3);
  CHECK(s.at("rms_error") == std::sqrt(2 * 0.0625 * 0.0625 / 3));
  CHECK(s.at("max_rel_error") == 0.0625 / 1.0625);
  CHECK(s.at("max_ulp_error") == 0.5);
  CHECK_THAT(s.at("sqnr_db"),
             WithinRel(10 * std::log10((1.0625 * 1.0625 + 1.1875 * 1.1875 + 4) / (2 * 0.0625 * 0.0625)), 1e-14));
  CHECK(s.at("max_abs_input") == 2);
  CHECK(s.at("min_abs_input") == 1.0625);
}

TEST_CASE("a format does not look better for losing its largest values", "[studies]") {
  const auto s = statistics(census_of({1.0F, 1000.0F}, emu::e4m3));

  CHECK(s.at("max_abs_error") == std::numeric_limits<double>::infinity());
  CHECK(s.at("mean_rel_error") == std::numeric_limits<double>::infinity());
  CHECK(s.at("sqnr_db") == -std::numeric_limits<double>::infinity());
  CHECK_THAT(s.at("sqnr_saturating_db"), WithinRel(10 * std::log10(1000001.0 / (552.0 * 552.0)), 1e-14));
}

TEST_CASE("a statistic over nothing is nan and an exact one has infinite sqnr", "[studies]") {
  CHECK(std::isnan(statistics(census_of({}, emu::e4m3)).at("sqnr_db")));
  CHECK(std::isnan(statistics(census_of({not_a_number}, emu::e4m3)).at("mean_abs_error")));
  CHECK(std::isnan(statistics(census_of({0.0F}, emu::e4m3)).at("min_abs_input")));
  CHECK(statistics(census_of({1.0F, 2.0F}, emu::e4m3)).at("sqnr_db") == std::numeric_limits<double>::infinity());
}

TEST_CASE("all float16 values fall into the classes counted in closed form", "[studies]") {
  const std::vector<float> values = every_float16();
  struct Expected {
    emu::Format format;
    std::uint64_t overflow, to_zero, subnormal, normal;  // zero includes +0 and -0
  };
  const auto expected = GENERATE(Expected{emu::e4m3, 14718, 10242, 7934, 30594}, Expected{emu::e5m2, 256, 258, 1534, 61440});

  const auto sums = census_of(values, expected.format);

  CHECK(sums.of(Outcome::overflow) == expected.overflow);
  CHECK(sums.of(Outcome::to_zero) + sums.of(Outcome::zero) == expected.to_zero);
  CHECK(sums.of(Outcome::subnormal) == expected.subnormal);
  CHECK(sums.of(Outcome::exact) + sums.of(Outcome::rounded) == expected.normal);
}

TEST_CASE("the SQNR of normal data is that of the closed form", "[studies]") {
  const auto tensor = tensors::open("normal:0,1:4194304").front();
  studies::CensusConfig config;
  config.formats = {emu::fp16, emu::e4m3};

  const auto rows = studies::census(tensor, studies::parse_scaling("none"), config);

  CHECK_THAT(statistics(rows[0].sums).at("sqnr_db"), WithinAbs(73.6509, 0.02));
  CHECK_THAT(statistics(rows[1].sums).at("sqnr_db"), WithinAbs(31.5211, 0.02));
}

TEST_CASE("block scales give the published errors on normal data", "[studies]") {
  struct Expected {
    std::string scale;
    double mse, tolerance;
  };
  // MXFP4: the two scale rules, within 0.5%; NVFP4 in blocks of 16: Quartet-II, two digits given.
  const auto expected =
      GENERATE(Expected{"mx:floor", 1.3191e-2, 0.005}, Expected{"mx:rceil", 1.3291e-2, 0.005}, Expected{"nvfp4", 9.0e-3, 0.01});
  const auto tensor = tensors::open("normal:0,1:4096x1024").front();
  studies::CensusConfig config;
  config.formats = {emu::e2m1};
  config.options.policy = emu::Policy::saturating;

  const auto row = studies::census(tensor, studies::parse_scaling(expected.scale), config).front();

  const double rms = statistics(row.sums).at("rms_error");
  CAPTURE(expected.scale, rms * rms);
  CHECK_THAT(rms * rms, WithinRel(expected.mse, expected.tolerance));
}

TEST_CASE("results do not depend on the number of threads", "[studies][long]") {
  const auto tensor = tensors::open("lognormal:-8,4:1000003").front();
  studies::CensusConfig config;
  config.formats = {emu::fp16, emu::bf16, emu::e4m3, emu::e5m2, emu::e2m1};
  config.options.rounding = GENERATE(emu::Rounding::nearest_even, emu::Rounding::stochastic);
  const auto scaling = studies::parse_scaling(GENERATE("none", "1x128", "nvfp4"));

  config.threads = 1;
  const std::string one =
      reports::to_csv(studies::census_table(studies::census(tensor, scaling, config), scaling, config.options));
  config.threads = GENERATE(2, 3, 7);
  const std::string many =
      reports::to_csv(studies::census_table(studies::census(tensor, scaling, config), scaling, config.options));

  CHECK(one == many);
}

TEST_CASE("subnormal inputs count as zero where asked", "[studies]") {
  emu::RoundingOptions options;
  options.subnormals_are_zero = true;

  const auto sums = census_of({0x1p-127F, 0x1p-126F}, emu::bf16, "none", options);

  CHECK(sums.of(Outcome::to_zero) == 1);
  CHECK(sums.of(Outcome::exact) == 1);
}

TEST_CASE("squares of extreme doubles neither overflow nor vanish", "[studies]") {
  const double unit = GENERATE(1.0, 0x1p900, 0x1p-1000);
  const auto tensor = tensors::from_values("t", {2}, std::vector<double>{1.25 * unit, 3 * unit});
  studies::CensusConfig config;
  config.formats = {emu::fp32};

  const studies::Scaling scaling{.rule = studies::ScaleRule::number, .number = 0.3 / unit, .word = "0.3/unit"};
  const auto s = statistics(studies::census(tensor, scaling, config).front().sums);

  CHECK(s.at("sqnr_db") > 140);
  CHECK(s.at("sqnr_db") < 180);
  CHECK(s.at("rms_error") > 0);
}

TEST_CASE("a mean of doubles is finite where their sum is not", "[studies]") {
  const auto tensor = tensors::from_values("t", {5}, std::vector<double>{1e308, -1e308, 1e308, 1e308, 3e100});
  studies::CensusConfig config;
  config.formats = {emu::e2m1};  // up to 6, which is nothing of 1e100
  config.options.policy = emu::Policy::saturating;

  const auto s = statistics(studies::census(tensor, {}, config).front().sums);

  CHECK_THAT(s.at("mean_abs_error"), WithinRel(0.8e308, 1e-15));
  CHECK_THAT(s.at("mean_signed_error"), WithinRel(-0.4e308, 1e-15));
  CHECK_THAT(s.at("rms_error"), WithinRel(1e308 * std::sqrt(0.8), 1e-15));
}

TEST_CASE("decibels of sums of squares whose exponents differ", "[studies]") {
  studies::SquareSum large, one, small;
  large.add(0x1p600);
  one.add(1);
  small.add(0x1p-600);
  REQUIRE((large.value().exponent != one.value().exponent && one.value().exponent != small.value().exponent));

  const double of_600_bits = 20 * 600 * std::log10(2.0);
  CHECK_THAT(studies::decibels(large, one), WithinRel(of_600_bits, 1e-12));
  CHECK_THAT(studies::decibels(one, large), WithinRel(-of_600_bits, 1e-12));
  CHECK_THAT(studies::decibels(one, small), WithinRel(of_600_bits, 1e-12));
  CHECK_THAT(studies::decibels(large, small), WithinRel(2 * of_600_bits, 1e-12));
}

TEST_CASE("progress tells of the elements that are done, to the last one", "[studies]") {
  const std::uint64_t count = GENERATE(std::uint64_t{1}, std::uint64_t{70'000}, (std::uint64_t{1} << 22) + 5);
  const auto tensor = tensors::from_values("t", {count}, std::vector<float>(count, 1.0F));
  studies::CensusConfig config;
  config.formats = {emu::fp16};
  std::vector<std::uint64_t> told;
  config.progress = [&](std::uint64_t done) { told.push_back(done); };

  studies::census(tensor, {}, config);

  REQUIRE_FALSE(told.empty());
  CHECK(told.back() == count);
  CHECK(std::is_sorted(told.begin(), told.end()));
  CHECK(told.front() == std::min(count, std::uint64_t{1} << 22));  // parts are as long as that
}

TEST_CASE("every float32 falls into the class counted in closed form", "[studies][exhaustive]") {
  studies::ErrorSums total;
  for (std::uint64_t first = 0; first < (std::uint64_t{1} << 32); first += 1 << 24) {
    std::vector<float> values;
    for (std::uint64_t bits = first; bits < first + (1 << 24); ++bits) {
      const auto x = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
      if (std::isfinite(x)) values.push_back(x);
    }
    total.merge(census_of(values, emu::e4m3));
  }

  CHECK(total.of(Outcome::overflow) == 1999634430);
  CHECK(total.of(Outcome::to_zero) + total.of(Outcome::zero) == 1962934274);
  CHECK(total.of(Outcome::subnormal) == 65011710);
  CHECK(total.of(Outcome::exact) + total.of(Outcome::rounded) == 250609666);
}
