// SPDX-License-Identifier: Apache-2.0
// Text made visible, over every character; words that a shell reads as they are.
#include "emu/visible.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <string>

#include "emu/error.hpp"
#include "emu/shell_word.hpp"

using namespace ulpscope::emu;

namespace {

/// The character in UTF-8, by the table of RFC 3629.
std::string utf8(char32_t c) {
  const auto byte = [](char32_t value) { return static_cast<char>(value); };
  if (c < 0x80) return {byte(c)};
  if (c < 0x800) return {byte(0xc0 + c / 64), byte(0x80 + c % 64)};
  if (c < 0x10000) return {byte(0xe0 + c / 4096), byte(0x80 + c / 64 % 64), byte(0x80 + c % 64)};
  return {byte(0xf0 + c / 262144), byte(0x80 + c / 4096 % 64), byte(0x80 + c / 64 % 64), byte(0x80 + c % 64)};
}

}  // namespace

TEST_CASE("every character but those that act stays as it is", "[emu]") {
  // General category Cc; Bidi_Control of Unicode 15 (PropList.txt); categories Zl and Zp.
  const std::u32string acting =
      U"\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u2028\u2029\ufffe\uffff";
  std::size_t changed = 0, wrong = 0;
  for (char32_t c = 0; c <= 0x10ffff; ++c) {
    if (c >= 0xd800 && c <= 0xdfff) continue;
    const std::string text = "a" + utf8(c) + "b", shown = visible(text);
    const bool acts = c <= 0x1f || (c >= 0x7f && c <= 0x9f) || acting.find(c) != acting.npos;
    changed += shown != text;
    wrong += (shown != text) != acts || visible(shown) != shown;
  }
  CHECK(changed == 32 + 33 + acting.size());
  CHECK(wrong == 0);
}

TEST_CASE("bytes that are no UTF-8 are escaped one by one, and what follows is read again", "[emu]") {
  CHECK(visible("\xff") == "\\xff");
  CHECK(visible("\xe9t\xe9") == "\\xe9t\\xe9");
  CHECK(visible("\x9b\x1b\xc2\x9b") == "\\x9b\\x1b\\u009b");
  CHECK(visible("\xc0\xaf") == "\\xc0\\xaf");                    // overlong
  CHECK(visible("\xe0\x80\xaf") == "\\xe0\\x80\\xaf");           // overlong
  CHECK(visible("\xed\xa0\x80") == "\\xed\\xa0\\x80");           // a surrogate
  CHECK(visible("\xf4\x90\x80\x80") == "\\xf4\\x90\\x80\\x80");  // beyond U+10FFFF
  CHECK(visible("\xe2\x82") == "\\xe2\\x82");                    // cut short
  CHECK(visible("\xe2\x82\xac\xe2\x82") == "\xe2\x82\xac\\xe2\\x82");
  CHECK(visible(std::string("a\0b", 3)) == "a\\x00b");
}

TEST_CASE("an error says all of its words, a NUL among them as an escape", "[emu]") {
  const std::string words("name 'a\0b\0': give\x1b another", 26);
  const ulpscope::Error error(words);
  CHECK(error.what() == std::string("name 'a\\x00b\\x00': give\x1b another"));
  CHECK(visible(error.what()) == visible(words));
}

TEST_CASE("commands to CI systems are none any more", "[emu]") {
  CHECK(visible("a ##[error]b ##vso[c] ##teamcity[d]") == "a \\x23#[error]b \\x23#vso[c] \\x23#teamcity[d]");
  CHECK(visible("## # ##1[ ##") == "## # ##1[ ##");
  CHECK(visible_lines("::error ::x\n a::b\n\t ::c\n:: d") == "\\x3a:error ::x\n a::b\n\t \\x3a:c\n\\x3a: d");
  CHECK(visible_lines("a\tb\n\n") == "a\tb\n\n");
  CHECK(is_command_line(" \t::x"));
  CHECK(!is_command_line("x::"));
}

TEST_CASE("words for a shell are quoted as plainly as will do", "[emu]") {
  CHECK(shell_word("a-b_c/d.npy:w") == "a-b_c/d.npy:w");
  CHECK(shell_word("") == "''");
  CHECK(shell_word("m$(touch X)').pt") == "'m$(touch X)'\\'').pt'");
  CHECK(shell_word("a\nb'\\\x1b c") == "$'a\\x0ab\\x27\\x5c\\x1b c'");
}
