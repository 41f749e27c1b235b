// SPDX-License-Identifier: Apache-2.0
// A conversion that is wrong by a declaration that was not made says which.
#include "verify/other_conversions.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <string>
#include <utility>
#include <vector>

#include "emu/catalogue.hpp"
#include "tensors/tensor.hpp"
#include "verify/operations/elementwise.hpp"
#include "verify/verdict.hpp"

namespace {

using namespace ulpscope;

verify::Verdict judged(const std::vector<float>& inputs, std::vector<double> output, const verify::LastRounding& last) {
  const std::uint64_t count = inputs.size();
  const auto expectation = verify::expect_conversion({.x = {{count}, inputs, emu::float32}, .last = last});
  return verify::verify(*expectation, tensors::from_values("d", {count}, std::move(output)), {.last = last, .threads = 1});
}

bool says(const verify::Verdict& verdict, const std::string& line) {
  return std::ranges::find(verdict.patterns, line) != verdict.patterns.end();
}

bool says_some(const verify::Verdict& verdict) {
  return std::ranges::any_of(verdict.patterns, [](const std::string& line) { return line.starts_with("every element"); });
}

const verify::LastRounding to_e4m3{.out = emu::float8_e4m3fn};  // 448 is the largest number, 464 the tie above it

}  // namespace

TEST_CASE("a conversion that saturates, and is said not to, is right with the other policy", "[verify]") {
  const verify::Verdict verdict = judged({1, 500, -1000}, {1, 448, -448}, to_e4m3);

  CHECK(verdict.outcome() == verify::Outcome::fail);
  CHECK(says(verdict, "every element is right with --out-policy saturating"));
  CHECK_FALSE(says_some(judged({1, 500, -1000}, {1.125, 448, -448}, to_e4m3)));  // 1 is a number of the format
}

TEST_CASE("another rounding and a flush are told from wrong elements, and confirmed on all others", "[verify]") {
  // Spacing 2^-3 in [1, 2): 1.1 lies between 1 and 1.125, 1.07 likewise, and 2^-9 is the least subnormal number.
  CHECK(says(judged({1.1F, 1.07F}, {1, 1}, to_e4m3), "every element is right with --out-rounding toward_zero"));
  CHECK(says(judged({1.03F, 1.07F}, {1.125, 1.125}, to_e4m3), "every element is right with --out-rounding upward"));
  CHECK(says(judged({0x1p-9F, 1}, {0, 1}, to_e4m3), "every element is right with --out-flush"));
  // Without infinity an overflow is NaN, in whichever direction.
  CHECK(says(judged({1.1F, 500}, {1, 448}, to_e4m3),
             "every element is right with --out-policy saturating --out-rounding toward_zero"));
  // The second is right to nearest alone.
  CHECK_FALSE(says_some(judged({1.1F, 1.12F, -1.12F}, {1, 1.125, -1.125}, to_e4m3)));
}

TEST_CASE("two roundings and another largest number are told", "[verify]") {
  // 1.0625 is the tie of 1 and 1.125: what is just above it, and is rounded to float16 or bfloat16 first, becomes the tie.
  const float above = 1.0625F + 0x1p-13F;
  CHECK(says(judged({above, 1.1F}, {1, 1.125}, to_e4m3),
             "every element is right where inputs are rounded to float16 before they are converted"));
  CHECK(says(judged({300, -400, 2}, {240, -240, 2}, to_e4m3), "every element is right where the largest number is 240"));
}

TEST_CASE("zeros of the other sign are named", "[verify]") {
  // -2^-30 becomes -0 in float16, whose least number is 2^-24.
  const verify::LastRounding to_fp16{.out = emu::float16};
  const verify::Verdict verdict = judged({1.5F, -0.0F, -0x1p-30F, 3}, {1.5, 0, 0, 3}, to_fp16);

  CHECK(verdict.beyond == 2);
  CHECK(says(verdict, "2 zeros have the other sign"));
  CHECK_FALSE(says(judged({1.5F, -0.0F, 3}, {1, -0.0, 3}, to_fp16), "1 zero has the other sign"));
}
