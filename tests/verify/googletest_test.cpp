// SPDX-License-Identifier: Apache-2.0
// The predicate and the matcher of GoogleTest.
#include "verify/googletest.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <sstream>
#include <vector>

namespace {

using namespace ulpscope;
using Catch::Matchers::ContainsSubstring;
using verify::is_matmul_of;
using verify::IsMatmulOf;

const std::vector<float> a{1, 2, 3, 4}, b{5, 6, 7, 8}, right{19, 22, 43, 50}, wrong{19, 22, 43, 51};
const verify::MatmulCheck check{.a = a, .b = b, .m = 2, .n = 2, .k = 2, .in = emu::bf16};

/// GoogleMock has one; GoogleTest alone has not.
class Listener final : public testing::MatchResultListener {
 public:
  explicit Listener(std::ostream& out) : MatchResultListener(&out) {}
};

}  // namespace

TEST_CASE("GoogleTest's predicate succeeds for right outputs only, and carries the census", "[verify]") {
  CHECK(static_cast<bool>(is_matmul_of(right, check)));
  const testing::AssertionResult failure = is_matmul_of(wrong, check);
  CHECK_FALSE(static_cast<bool>(failure));
  CHECK_THAT(failure.message(), ContainsSubstring("FAIL: 1 of 4 elements are wrong") && ContainsSubstring("1;1 "));
}

TEST_CASE("GoogleTest's matcher becomes a testing::Matcher, which explains by the census", "[verify]") {
  const testing::Matcher<const std::vector<float>&> matcher = IsMatmulOf(check);
  CHECK(matcher.Matches(right));
  CHECK_FALSE(matcher.Matches(wrong));

  std::ostringstream explanation;
  Listener listener(explanation);
  CHECK_FALSE(matcher.MatchAndExplain(wrong, &listener));
  CHECK_THAT(explanation.str(), ContainsSubstring("FAIL: 1 of 4 elements are wrong"));
  std::ostringstream description;
  matcher.DescribeTo(&description);
  CHECK(description.str() == "is right, judged by ulpscope");
}
