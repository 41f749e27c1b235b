// SPDX-License-Identifier: Apache-2.0
// Numbers to hexadecimal digits and back.
#include "studies/kept_rows.hpp"

#include <array>
#include <charconv>
#include <string_view>
#include <system_error>

#include "emu/error.hpp"

namespace ulpscope::studies {

std::string line_of(std::span<const std::uint64_t> numbers) {
  std::string line;
  for (const std::uint64_t number : numbers) {
    std::array<char, 16> digits{};
    const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), number, 16);
    if (!line.empty()) line += ' ';
    line.append(digits.data(), end);
  }
  return line;
}

std::vector<std::uint64_t> numbers_of(const std::string& line) {
  std::vector<std::uint64_t> numbers;
  for (std::string_view rest = line; !rest.empty();) {
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number, 16);
    const auto size = static_cast<std::size_t>(end - rest.data());
    if (error != std::errc{} || (size != rest.size() && (rest[size] != ' ' || size + 1 == rest.size()))) refuse_line(line);
    numbers.push_back(number);
    rest.remove_prefix(size == rest.size() ? size : size + 1);
  }
  return numbers;
}

void refuse_line(const std::string& line) {
  throw Error("'" + line + "': is no line of what --resume keeps; remove the folder to begin anew");
}

}  // namespace ulpscope::studies
