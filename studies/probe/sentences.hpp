// SPDX-License-Identifier: Apache-2.0
// Sentences with values in them, by the standard library alone: the probes are also built into a program that has no other
// (docs/devices.md).
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <type_traits>

namespace ulpscope::studies {

/// `pattern` with each {} replaced by the next value: a string or an integer. Precondition: as many {} as values.
template <class... Values>
std::string filled(std::string_view pattern, const Values&... values) {
  std::string text;
  const auto append = [&](const auto& value) {
    const std::size_t place = pattern.find("{}");
    text += pattern.substr(0, place);
    if constexpr (std::is_integral_v<std::remove_cvref_t<decltype(value)>>) {
      text += std::to_string(value);
    } else {
      text += value;
    }
    pattern.remove_prefix(place + 2);
  };
  (append(values), ...);
  return text += pattern;
}

/// An integer in hexadecimal, with zeros in front up to `digits`.
inline std::string hexadecimal(std::uint64_t value, std::size_t digits = 1) {
  char text[16];
  const auto end = std::to_chars(std::begin(text), std::end(text), value, 16).ptr;
  const std::string shortest(std::begin(text), end);
  return shortest.size() < digits ? std::string(digits - shortest.size(), '0') + shortest : shortest;
}

}  // namespace ulpscope::studies
