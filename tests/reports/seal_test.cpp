// SPDX-License-Identifier: Apache-2.0
// A sealed text is known by every bit of it.
#include "reports/seal.hpp"

#include <catch2/catch_test_macros.hpp>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace {
using namespace ulpscope::reports;

TEST_CASE("a sealed object holds the SHA-256 of what it was, and its members", "[seal]") {
  const std::string text = sealed("{\n \"a\": 1\n}\n");
  // printf '{\n "a": 1' | sha256sum
  CHECK(text == "{\n \"a\": 1,\n\"sha256\": \"a62d71e05280b3e777c0cab14dfe081560f124e17f88af0c49eeabeecf2f1785\"}\n");
  CHECK(is_sealed(text));
  CHECK(nlohmann::json::parse(text).at("a") == 1);
  CHECK(nlohmann::json::parse(sealed(R"({"a": {"b": {}}})")).at("a").at("b").empty());
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

TEST_CASE("a seal is that of the bytes, in whatever pieces they come", "[seal]") {
  const std::string text = sealed(R"({"numbers": [1, 2.5, "x"]})");
  for (std::size_t size = 1; size <= text.size(); ++size) {
    SealCheck check;
    for (std::size_t first = 0; first < text.size(); first += size) check.add(std::string_view(text).substr(first, size));
    CHECK(check.holds());
  }
  CHECK(has_former_seal("{\"sha256\": \"0\", \"a\": 1}"));
  CHECK_FALSE(has_former_seal(text));
}

}  // namespace
