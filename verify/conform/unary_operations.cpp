// SPDX-License-Identifier: Apache-2.0
// The elementwise functions of one number, by the names of emu/.
#include <algorithm>
#include <span>

#include "emu/unary_functions.hpp"
#include "verify/conform/computation.hpp"

namespace ulpscope::verify {

std::optional<emu::UnaryFunction> parse_unary_operation(std::string_view word) {
  std::string name(word);
  for (char& c : name) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (c == '-') c = '_';
  }
  const std::span<const emu::UnaryFunction> all = emu::unary_functions();
  const auto found = std::find_if(all.begin(), all.end(), [&](const emu::UnaryFunction& op) { return op.name == name; });
  if (found == all.end()) return std::nullopt;
  return *found;
}

std::vector<std::string> unary_operation_words() {
  std::vector<std::string> out;
  for (const emu::UnaryFunction& op : emu::unary_functions()) out.emplace_back(op.name);
  return out;
}

}  // namespace ulpscope::verify
