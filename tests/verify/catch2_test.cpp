// SPDX-License-Identifier: Apache-2.0
// The matcher of Catch2.
#include "verify/catch2.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_quantifiers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <sstream>
#include <vector>

using namespace ulpscope;
using Catch::Matchers::ContainsSubstring;
using verify::IsMatmulOf;
using verify::Output;

namespace {

const std::vector<float> a{1, 2, 3, 4}, b{5, 6, 7, 8}, right{19, 22, 43, 50}, wrong{19, 22, 43, 51};
const verify::MatmulCheck check{.a = a, .b = b, .m = 2, .n = 2, .k = 2, .in = emu::bf16};

}  // namespace

TEST_CASE("Catch2's matcher matches right outputs only, and composes", "[verify]") {
  CHECK_THAT(Output(right), IsMatmulOf(check));
  CHECK_THAT(Output(right), IsMatmulOf({.a = a, .b = b, .m = 2, .n = 2, .k = 2, .in = emu::bf16}));
  CHECK_THAT(Output(wrong), !IsMatmulOf(check));
  CHECK_THAT(Output(right), IsMatmulOf(check) && !IsMatmulOf({.a = b, .b = a, .m = 2, .n = 2, .k = 2, .in = emu::bf16}));
}

TEST_CASE("Catch2's matcher describes itself by the census, in lines that its console keeps", "[verify]") {
  const auto matcher = IsMatmulOf(check);
  REQUIRE_FALSE(matcher.match(Output(wrong)));
  const std::string text = matcher.toString();
  CHECK_THAT(text, ContainsSubstring("FAIL: 1 of 4 elements are wrong: 1 beyond the bound"));
  CHECK_THAT(text, ContainsSubstring("\n1;1     51     50"));  // where the wrong element is
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    CHECK_FALSE(line.empty());
    if (!line.starts_with("bound: ")) CHECK(line.size() <= CATCH_CONFIG_CONSOLE_WIDTH - 3);
  }
  CHECK(Catch::StringMaker<Output>::convert(Output(wrong)) == "output of 4 elements");
}
