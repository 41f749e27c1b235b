// SPDX-License-Identifier: Apache-2.0
// A sealed text is known by every bit of it.
#include "reports/seal.hpp"

#include <catch2/catch_test_macros.hpp>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>

namespace {
using namespace ulpscope::reports;

TEST_CASE("a sealed object holds the SHA-256 of what it was, and its members", "[seal]") {
  const std::string text = sealed("{\n \"a\": 1\n}\n");
  // printf '{\n "a": 1\n}\n' | sha256sum
  CHECK(text == "{\"sha256\": \"b606a40d68ae742be63266c691e611efd8bfa4375628a5d31b8f5962a71afa47\",\n \"a\": 1\n}\n");
  CHECK(is_sealed(text));
  CHECK(nlohmann::json::parse(text).at("a") == 1);
}

TEST_CASE("a text with a bit, a byte or its end changed is not sealed", "[seal]") {
  const std::string text = sealed(R"({"numbers": [1, 2.5, "x"], "sha256": "y"})");
  REQUIRE(is_sealed(text));
  for (std::size_t i = 0; i < text.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string other = text;
      other[i] = static_cast<char>(other[i] ^ 1 << bit);
      CHECK_FALSE(is_sealed(other));
    }
    CHECK_FALSE(is_sealed(text.substr(0, i)));
    CHECK_FALSE(is_sealed(text.substr(0, i) + text.substr(i + 1)));
  }
  for (const std::string& other : {text + "\n", "\n" + text, text + text, std::string("{}"), std::string()})
    CHECK_FALSE(is_sealed(other));
}

}  // namespace
