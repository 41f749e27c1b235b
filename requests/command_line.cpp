// SPDX-License-Identifier: Apache-2.0
// Joins words that a shell reads as they are.
#include "requests/command_line.hpp"

#include "emu/shell_word.hpp"

namespace ulpscope::requests {

std::string command_line(const std::vector<std::string>& arguments) {
  std::string out = "ulpscope";
  for (const std::string& argument : arguments) out += " " + emu::shell_word(argument);
  return out;
}

}  // namespace ulpscope::requests
