// SPDX-License-Identifier: Apache-2.0
// What becomes of elements whose block has an extreme scale.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <limits>
#include <vector>

#include "emu/catalogue.hpp"
#include "studies/census/census.hpp"

using namespace ulpscope;
using emu::Outcome;

namespace {

studies::ErrorSums census_of(std::vector<float> values, const char* scale, emu::Format format, emu::Policy policy) {
  const std::uint64_t count = values.size();
  const auto tensor = tensors::from_values("t", {count}, std::move(values));
  studies::CensusConfig config;
  config.formats = {format};
  config.options.policy = policy;
  return studies::census(tensor, studies::parse_scaling(scale), config).front().sums;
}

constexpr float infinity = std::numeric_limits<float>::infinity(), not_a_number = std::numeric_limits<float>::quiet_NaN();

}  // namespace

TEST_CASE("elements of an nvfp4 block whose stored scale is 0 become zero", "[studies]") {
  // The block's scale would be 1e-6 * 448, below half of the least e4m3 number, 2^-9.
  std::vector<float> x(32);
  x[0] = 1, x[16] = 1e-6F, x[17] = -3e-7F;
  const auto policy = GENERATE(emu::Policy::saturating, emu::Policy::nonsaturating);
  const emu::Format format = GENERATE(emu::e2m1, emu::e4m3, emu::e5m2);

  const auto sums = census_of(x, "nvfp4", format, policy);

  CHECK(sums.of(Outcome::zero) == 29);
  CHECK(sums.of(Outcome::to_zero) == 2);
  CHECK(sums.of(Outcome::overflow) == 0);
  CHECK(sums.of(Outcome::exact) + sums.of(Outcome::rounded) == 1);
  CHECK(sums.lost == 0);
  CHECK(sums.max_rel == 1);
  CHECK(sums.sum_abs == static_cast<double>(1e-6F) + static_cast<double>(3e-7F));
  CHECK(sums.error.value().significand == sums.saturating_error.value().significand);
}

TEST_CASE("a block without a scale keeps its NaNs and loses numbers too large for the product", "[studies]") {
  std::vector<float> x(32);
  x[0] = 3e38F, x[16] = 1e30F, x[17] = not_a_number;  // 1e30 times the largest float32 is no float32

  const auto sums = census_of(x, "nvfp4", emu::e2m1, emu::Policy::saturating);

  CHECK(sums.of(Outcome::to_zero) == 1);
  CHECK(sums.of(Outcome::nan) == 1);
  CHECK(sums.of(Outcome::overflow) == 0);
  CHECK(sums.max_ulp < 4);  // of a number with one fraction bit that becomes 0
}

TEST_CASE("mx blocks at the ends of e8m0 count what they lose", "[studies]") {
  const char* const scale = GENERATE("mx:floor", "mx:ceil", "mx:rceil", "mx:even");
  std::vector<float> x(96);
  x[0] = 1;
  x[32] = std::numeric_limits<float>::denorm_min();  // the least scale is 2^-127: 2^-149 becomes 2^-22
  x[64] = infinity, x[65] = 1;                       // the scale is NaN

  const auto sums = census_of(x, scale, emu::e2m1, emu::Policy::saturating);

  CHECK(sums.of(Outcome::exact) == 1);
  CHECK(sums.of(Outcome::to_zero) == 1);
  CHECK(sums.of(Outcome::infinite) == 1);
  CHECK(sums.of(Outcome::zero) == 62);
  CHECK(sums.of(Outcome::overflow) == 31);  // finite numbers that become NaN
  CHECK(sums.lost == 31);
  CHECK(sums.lost_when_saturating == 31);
}
