// SPDX-License-Identifier: Apache-2.0
// A formula as text again, with no more brackets than it needs.
#include <map>
#include <string>

#include "verify/expressions/syntax.hpp"

namespace ulpscope::verify {
namespace {

/// How tightly an operator binds; 0 where a part needs no brackets.
int binding(const Syntax& s) {
  static const std::map<std::string, int> rows{{"or", 1}, {"and", 2}, {"not", 3}, {"<", 4}, {"<=", 4}, {">", 4},
                                               {">=", 4}, {"==", 4},  {"!=", 4},  {"+", 5}, {"-", 5},  {"*", 6},
                                               {"/", 6},  {"@", 6},   {"neg", 7}, {"**", 8}};
  if (s.kind == Syntax::Kind::precision) return 1;
  if (s.kind != Syntax::Kind::call) return 0;
  const auto row = rows.find(s.word);
  return row == rows.end() ? 0 : row->second;
}

std::string text_of(const Syntax& s);

std::string text_within(const Syntax& s, int outer) {
  const int own = binding(s);
  return own != 0 && own < outer ? "(" + text_of(s) + ")" : text_of(s);
}

std::string text_of(const SyntaxRange& range) {
  const auto part = [](const std::vector<Syntax>& s) { return s.empty() ? std::string() : text_of(s.front()); };
  switch (range.kind) {
    case SyntaxRange::Kind::rest: return "...";
    case SyntaxRange::Kind::index: return part(range.first);
    case SyntaxRange::Kind::range: break;
  }
  return part(range.first) + ":" + part(range.last) + (range.step.empty() ? "" : ":" + part(range.step));
}

std::string text_of(const Syntax& s) {
  const int own = binding(s);
  switch (s.kind) {
    case Syntax::Kind::number:
    case Syntax::Kind::name: return s.word;
    case Syntax::Kind::text: {
      const char quote = s.word.find('"') == std::string::npos ? '"' : '\'';  // it has no escapes
      return quote + s.word + quote;
    }
    case Syntax::Kind::precision: return s.word + ": " + text_of(s.operands.front());
    case Syntax::Kind::index: {
      std::string ranges;
      for (const SyntaxRange& range : s.ranges) ranges += (ranges.empty() ? "" : ", ") + text_of(range);
      return text_within(s.operands.front(), 9) + "[" + ranges + "]";
    }
    case Syntax::Kind::list: {
      std::string all = text_of(s.operands.front()) + ",";
      for (std::size_t i = 1; i < s.operands.size(); ++i) all += (i == 1 ? " " : ", ") + text_of(s.operands[i]);
      return "(" + all + ")";
    }
    case Syntax::Kind::call: break;
  }
  if (s.word == "neg" || s.word == "not") return (s.word == "neg" ? "-" : "not ") + text_within(s.operands.front(), own);
  if (own != 0) {
    // From left to right, powers from right to left.
    const bool is_power = s.word == "**";
    return text_within(s.operands[0], own + (is_power ? 1 : 0)) + (is_power ? "**" : " " + s.word + " ") +
           text_within(s.operands[1], own + (is_power ? 0 : 1));
  }
  std::string arguments;
  for (const Syntax& operand : s.operands) arguments += (arguments.empty() ? "" : ", ") + text_of(operand);
  for (const Syntax& value : s.named) arguments += (arguments.empty() ? "" : ", ") + value.name + "=" + text_of(value);
  return s.word + "(" + arguments + ")";
}

}  // namespace

std::string text_of(const Lines& lines) {
  std::string text;
  for (const auto& [name, syntax] : lines) text += name.empty() ? text_of(syntax) : name + " = " + text_of(syntax) + "; ";
  return text;
}

}  // namespace ulpscope::verify
