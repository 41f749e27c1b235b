// SPDX-License-Identifier: Apache-2.0
// Parses whole and real numbers strictly, and says what is wrong with a word.
#include "requests/numbers.hpp"

#include <charconv>
#include <cmath>
#include <iterator>
#include <optional>
#include <string_view>

namespace ulpscope::requests {
namespace {

bool is_hexadecimal(std::string_view word) { return word.starts_with("0x") || word.starts_with("0X"); }

std::optional<std::uint64_t> parse_whole(std::string_view word) {
  const int base = is_hexadecimal(word) ? 16 : 10;
  if (base == 16) word.remove_prefix(2);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value, base);
  return error == std::errc{} && end == word.data() + word.size() ? std::optional(value) : std::nullopt;
}

std::optional<double> parse_real(std::string_view word) {
  const bool negative = word.starts_with('-');
  if (negative || word.starts_with('+')) word.remove_prefix(1);
  if (word.starts_with('-')) return std::nullopt;
  const auto format = is_hexadecimal(word) ? std::chars_format::hex : std::chars_format::general;
  if (is_hexadecimal(word)) word.remove_prefix(2);
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value, format);
  if (error != std::errc{} || end != word.data() + word.size() || !std::isfinite(value)) return std::nullopt;
  return negative ? -value : value;
}

std::string in_words(RealBounds bounds) {
  const bool below = bounds.least > RealBounds{}.least, above = bounds.most < RealBounds{}.most;
  if (!below && !above) return "a finite number";
  if (!above) return "a finite number of at least " + shortest(bounds.least);
  return "a number from " + shortest(bounds.least) + " to " + shortest(bounds.most);
}

}  // namespace

std::string shortest(double value) {
  char text[64];
  return {text, std::to_chars(std::begin(text), std::end(text), value).ptr};
}

std::string read_whole(std::string& word, WholeBounds bounds) {
  const auto value = parse_whole(word);
  if (!value || *value < bounds.least || *value > bounds.most)
    return "'" + word + "': give a whole number from " + std::to_string(bounds.least) + " to " + std::to_string(bounds.most);
  word = std::to_string(*value);
  return "";
}

std::string read_real(const std::string& word, RealBounds bounds) {
  const auto value = parse_real(word);
  if (value && *value >= bounds.least && *value <= bounds.most) return "";
  return "'" + word + "': give " + in_words(bounds);
}

double real_of(const std::string& word) { return parse_real(word).value(); }

}  // namespace ulpscope::requests
