// SPDX-License-Identifier: Apache-2.0
// Which tensors of a formula are indices: labels, tokens, places.
#include <set>
#include <string>

#include "verify/expressions/syntax.hpp"

namespace ulpscope::verify {
namespace {

void find_indices(const Syntax& s, std::set<std::string>& names) {
  const bool has_indices = s.kind == Syntax::Kind::call && (s.word == "gather" || s.word == "take") && s.operands.size() == 2;
  if (has_indices && s.operands[1].kind == Syntax::Kind::name) names.insert(s.operands[1].word);
  for (const Syntax& operand : s.operands) find_indices(operand, names);
}

}  // namespace

std::set<std::string> names_of_indices(const Lines& lines) {
  std::set<std::string> names;
  for (const auto& [name, syntax] : lines) find_indices(syntax, names);
  return names;
}

}  // namespace ulpscope::verify
