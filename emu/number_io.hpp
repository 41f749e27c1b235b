// SPDX-License-Identifier: Apache-2.0
// Numbers to and from text streams.
#pragma once

#include <charconv>
#include <cstddef>
#include <istream>
#include <ostream>
#include <string>
#include <string_view>
#include <system_error>

#include "emu/number_type.hpp"

namespace ulpscope::emu {

namespace detail {

/// Whether c can be part of a number's text: 1.5e-3, -inf, nan.
constexpr bool is_number_text(int c) noexcept {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' || c == '+' || c == '-';
}

/// The rest of the word that `in` stands before; what follows it is left in the stream.
inline std::string take_number_text(std::istream& in) {
  std::string word;
  for (int c = in.peek(); is_number_text(c); c = in.peek()) word += static_cast<char>(in.get());
  return word;
}

}  // namespace detail

/// Prints the value in the fewest digits that tell it from every other double: 448, 0.1015625, -0, inf, nan. Width, fill and
/// alignment are obeyed; precision and notation are those of a double: `out << static_cast<double>(x)`.
template <Format F, RoundingOptions O>
std::ostream& operator<<(std::ostream& out, Number<F, O> x) {
  char text[32];  // the longest has 24 characters: -2.2250738585072014e-308
  const auto [end, error] = std::to_chars(text, text + sizeof(text), static_cast<double>(x));
  return out << std::string_view(text, static_cast<std::size_t>(end - text));
}

/// Reads a word of digits, letters, points and signs, which must as a whole be a double in decimal notation, inf or nan. It
/// becomes a double and then a Number, as literals do; text beyond the doubles fails.
template <Format F, RoundingOptions O>
std::istream& operator>>(std::istream& in, Number<F, O>& x) {
  const std::istream::sentry ready(in);
  if (!ready) return in;
  const std::string word = detail::take_number_text(in);
  const std::size_t plus = word.starts_with('+') && !word.starts_with("+-") ? 1 : 0;  // from_chars takes no plus
  double value = 0;
  const auto [end, error] = std::from_chars(word.data() + plus, word.data() + word.size(), value);
  if (error != std::errc{} || end != word.data() + word.size()) {
    in.setstate(std::ios_base::failbit);
  } else {
    x = Number<F, O>(value);
  }
  return in;
}

}  // namespace ulpscope::emu
