// SPDX-License-Identifier: Apache-2.0
// Quotes what a shell would take for something else.
#include "requests/command_line.hpp"

namespace ulpscope::requests {
namespace {

/// A word as a shell reads it.
std::string quoted(const std::string& word) {
  const bool plain = !word.empty() && word.find_first_not_of(
                                          "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                          "_-+=:,./@%") == std::string::npos;
  if (plain) return word;
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

}  // namespace

std::string command_line(const std::vector<std::string>& arguments) {
  std::string out = "ulpscope";
  for (const std::string& argument : arguments) out += " " + quoted(argument);
  return out;
}

}  // namespace ulpscope::requests
