// SPDX-License-Identifier: Apache-2.0
// Words for formats, directions, policies and outcomes.
#include "emu/names.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <set>
#include <string>

#include "emu/catalogue.hpp"
#include "emu/suggestions.hpp"

namespace {
using namespace ulpscope;

TEST_CASE("every name and alias means one format, whatever the case and the dashes", "[names]") {
  std::set<std::string> seen;
  for (const std::string& word : emu::format_words()) {
    INFO(word);
    CHECK(seen.insert(word).second);
    REQUIRE(emu::parse_format(word).has_value());
    std::string shouted = word;
    std::transform(shouted.begin(), shouted.end(), shouted.begin(), [](char c) {
      return c == '_' ? '-' : c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    });
    CHECK(emu::parse_format(shouted) == emu::parse_format(word));
  }
  for (const emu::NamedFormat& named : emu::catalogue) {
    CHECK(emu::parse_format(named.name) == named.format);
    CHECK(emu::format_name(named.format) == named.name);
  }
}

TEST_CASE("a name that numpy, PyTorch or safetensors have for a format means it, as they spell it", "[names]") {
  for (const emu::NamedFormat& named : emu::catalogue)
    for (const std::string_view word : {named.numpy, named.torch, named.safetensors}) {
      INFO(word);
      CHECK((word.empty() || emu::parse_format(word) == named.format));
    }
  CHECK(emu::parse_format("torch.float8_e4m3fn") == emu::float8_e4m3fn);
  CHECK(emu::parse_format("F8_E5M2") == emu::float8_e5m2);
  for (const char* const word : {"", "f4", "f8_e5m2", "torch.float8", "Torch.bfloat16"}) CHECK_FALSE(emu::parse_format(word));
}

TEST_CASE("the usual short names mean what everybody means by them", "[names]") {
  CHECK(emu::parse_format("fp16") == emu::float16);
  CHECK(emu::parse_format("half") == emu::float16);
  CHECK(emu::parse_format("bf16") == emu::bfloat16);
  CHECK(emu::parse_format("e4m3") == emu::float8_e4m3fn);
  CHECK(emu::parse_format("e4m3fn") == emu::float8_e4m3fn);
  CHECK(emu::parse_format("e4m3ieee") == emu::float8_e4m3);
  CHECK(emu::parse_format("e5m2") == emu::float8_e5m2);
  CHECK(emu::parse_format("e8m0") == emu::float8_e8m0fnu);
  CHECK(emu::parse_format("e3m2") == emu::float6_e3m2fn);
  CHECK(emu::parse_format("e2m3") == emu::float6_e2m3fn);
  CHECK(emu::parse_format("e2m1") == emu::float4_e2m1fn);
  CHECK(emu::parse_format("double") == emu::float64);
}

/// IEEE-style formats whose names without a suffix are the catalogue's words for others.
constexpr emu::Format shadowed[] = {{2, 1, 1, emu::Specials::ieee},
                                    {2, 3, 1, emu::Specials::ieee},
                                    {3, 2, 3, emu::Specials::ieee},
                                    {8, 0, 127, emu::Specials::ieee}};
TEST_CASE("a custom format reads back from its name", "[names]") {
  using enum emu::Specials;
  for (const auto specials : {ieee, fn, fnuz, finite, se, ue, uf})
    for (int exponent_bits = 2; exponent_bits <= 8; ++exponent_bits)
      for (int fraction_bits = 0; fraction_bits <= 23; ++fraction_bits)
        for (const int bias : {0, 1, (1 << (exponent_bits - 1)) - 1, 1 << (exponent_bits - 1), 40, 1023}) {
          const emu::Format format{exponent_bits, fraction_bits, bias, specials};
          INFO(emu::format_name(format));
          CHECK(emu::parse_format(emu::format_name(format)) == format);
        }
}

TEST_CASE("an IEEE-style format reads back though the catalogue has its short word", "[names]") {
  for (const emu::Format format : shadowed) {
    INFO(emu::format_name(format));
    CHECK(emu::parse_format(emu::format_name(format)) == format);
  }
}

TEST_CASE("custom names: defaults of bias and special values", "[names]") {
  using enum emu::Specials;
  CHECK(emu::parse_format("e6m9") == emu::Format{6, 9, 31, ieee});
  CHECK(emu::parse_format("E6M9B40") == emu::Format{6, 9, 40, ieee});
  CHECK(emu::parse_format("e5m3fn") == emu::Format{5, 3, 15, fn});
  CHECK(emu::parse_format("e5m3fnuz") == emu::Format{5, 3, 16, fnuz});
  CHECK(emu::parse_format("e3m0finite") == emu::Format{3, 0, 3, finite});
  CHECK(emu::parse_format("e2m1b1finite") == emu::float4_e2m1fn);
  CHECK(emu::parse_format("e5m10") == emu::float16);
  CHECK(emu::parse_format("e4m3b11fnuz") == emu::float8_e4m3b11fnuz);
}

TEST_CASE("words that name no format are refused", "[names]") {
  for (const char* word : {"",
                           "e",
                           "m",
                           "e4",
                           "e4m",
                           "em3",
                           "e1m3",
                           "e9m3",
                           "e4m24",
                           "e4m-1",
                           "e-4m3",
                           "e+4m3",
                           "e4m+3",
                           "e4m3b",
                           "e4m3b-1",
                           "e4m3b1024",
                           "e4m3b99999999999",
                           "e99999999999m1",
                           "e4m3fnu",
                           "e4m3x",
                           "e4m3 ",
                           " e4m3",
                           "e4m3fn7",
                           "fp17",
                           "float",
                           "e4m3ieeefn",
                           "e4.0m3",
                           "m3e4"}) {
    INFO('"' << word << '"');
    CHECK_FALSE(emu::parse_format(word).has_value());
  }
}

TEST_CASE("directions, policies and outcomes read back from their names", "[names]") {
  std::set<std::string_view> seen;
  for (const emu::Rounding rounding : emu::all_roundings) {
    CHECK(emu::parse_rounding(emu::name_of(rounding)) == rounding);
    CHECK(seen.insert(emu::name_of(rounding)).second);
  }
  for (const emu::Policy policy : emu::all_policies) {
    CHECK(emu::parse_policy(emu::name_of(policy)) == policy);
    CHECK(seen.insert(emu::name_of(policy)).second);
  }
  for (int i = 0; i < emu::outcome_count; ++i) {
    CHECK_FALSE(emu::name_of(static_cast<emu::Outcome>(i)).empty());
    CHECK(seen.insert(emu::name_of(static_cast<emu::Outcome>(i))).second);
  }
  for (const std::string& word : emu::rounding_words()) CHECK(emu::parse_rounding(word).has_value());
  for (const std::string& word : emu::policy_words()) CHECK(emu::parse_policy(word).has_value());
  CHECK(emu::parse_rounding("Nearest-Even") == emu::Rounding::nearest_even);
}

TEST_CASE("PTX's words for directions are understood", "[names]") {
  CHECK(emu::parse_rounding("rn") == emu::Rounding::nearest_even);
  CHECK(emu::parse_rounding("rne") == emu::Rounding::nearest_even);
  CHECK(emu::parse_rounding("rna") == emu::Rounding::nearest_away);
  CHECK(emu::parse_rounding("rz") == emu::Rounding::toward_zero);
  CHECK(emu::parse_rounding("rp") == emu::Rounding::upward);
  CHECK(emu::parse_rounding("rm") == emu::Rounding::downward);
  CHECK(emu::parse_rounding("rs") == emu::Rounding::stochastic);
  for (const char* word : {"", "nearest", "rx", "nearest_even "}) CHECK_FALSE(emu::parse_rounding(word).has_value());
  for (const char* word : {"", "saturate", "clip"}) CHECK_FALSE(emu::parse_policy(word).has_value());
}

TEST_CASE("a misspelt word is answered with the nearest ones", "[names]") {
  CHECK(emu::closest_words("bflot16", emu::format_words(), 1).front() == "bfloat16");
  CHECK(emu::closest_words("stochastik", emu::rounding_words(), 1).front() == "stochastic");
  CHECK(emu::closest_words("e4m4", emu::format_words()).size() == 3);
  CHECK(emu::closest_words("x", {}).empty());
  CHECK(emu::closest_words("up", emu::rounding_words(), 1).front() == "upward");         // begins with it
  CHECK(emu::closest_words("zero", emu::rounding_words(), 1).front() == "toward_zero");  // contains it
  CHECK(emu::closest_words("--sed", {"--to", "--seed"}, 1).front() == "--seed");
}

TEST_CASE("a rounding mode's name elsewhere is answered with the name here", "[names]") {
  CHECK(emu::closest_roundings("floor") == std::vector<std::string>{"downward"});
  CHECK(emu::closest_roundings("RU") == std::vector<std::string>{"upward"});
  CHECK(emu::closest_roundings("rtz") == std::vector<std::string>{"toward_zero"});
  CHECK(emu::closest_roundings("stochastik", 1) == std::vector<std::string>{"stochastic"});
}

TEST_CASE("a device is answered with its engine", "[names]") {
  CHECK(emu::closest_engines("H100") == std::vector<std::string>{"sm_90"});
  CHECK(emu::closest_engines("RTX 4090") == std::vector<std::string>{"sm_89"});
  CHECK(emu::closest_engines("SM90") == std::vector<std::string>{"sm_90"});
  CHECK(emu::closest_engines("sm-103a") == std::vector<std::string>{"sm_100"});
  CHECK(emu::closest_engines("mi300x") == std::vector<std::string>{"cdna3"});
  CHECK(emu::closest_engines("sm_9", 1) == std::vector<std::string>{"sm_90"});
}

}  // namespace
