// SPDX-License-Identifier: Apache-2.0
// Help as text, in our own layout: that of CLI11 differs between its versions.
#include <algorithm>
#include <sstream>
#include <utility>

#include "cli/description.hpp"

namespace ulpscope::cli {
namespace {

constexpr std::size_t widest_name = 26;  // longer ones have their text below them

/// Words of `text` in lines of at most `width` characters, the first of which follows `column` characters that are there
/// already.
std::string wrapped(const std::string& text, std::size_t column, std::size_t width) {
  std::istringstream words(text);
  std::string out, line;
  for (std::string word; words >> word;) {
    if (!line.empty() && column + line.size() + 1 + word.size() > width) {
      out += line + "\n" + std::string(column, ' ');
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
  }
  return out + line + "\n";
}

using Row = std::pair<std::string, std::string>;

/// A heading, and names beside what they mean.
std::string section(const std::string& heading, const std::vector<Row>& rows, std::size_t width) {
  if (rows.empty()) return "";
  std::size_t column = 0;
  for (const auto& [name, text] : rows)
    if (name.size() <= widest_name) column = std::max(column, name.size() + 4);
  std::string out = "\n" + heading + ":\n";
  for (const auto& [name, text] : rows) {
    out += "  " + name;
    out += name.size() + 4 > column ? "\n" + std::string(column, ' ') : std::string(column - name.size() - 2, ' ');
    out += wrapped(text, column, width);
  }
  return out;
}

std::string names_of(const OptionDescription& option) {
  std::string names;
  for (const std::string& name : option.names) names += (names.empty() ? "" : ", ") + name;
  return names + (option.is_input() || option.is_flag() ? "" : " ") + option.shown_value();
}

std::vector<Row> rows_of(const std::vector<OptionDescription>& options) {
  std::vector<Row> rows;
  for (const OptionDescription& option : options) rows.emplace_back(names_of(option), option.shown_text());
  return rows;
}

/// Commands below their headings, in the order in which they are declared.
std::string commands_of(const CommandDescription& command, std::size_t width) {
  std::vector<std::pair<std::string, std::vector<Row>>> groups;
  for (const CommandDescription& sub : command.commands) {
    if (groups.empty() || groups.back().first != sub.group) groups.push_back({sub.group, {}});
    groups.back().second.emplace_back(sub.name(), sub.summary);
  }
  std::string out;
  for (const auto& [group, rows] : groups) out += section(group, rows, width);
  return out;
}

std::string example_of(const CommandDescription& command) {
  return command.example.empty() ? "" : "\nExample: " + command.example + "\n";
}

}  // namespace

std::string introduction(const CommandDescription& program) {
  constexpr std::size_t column = 16;
  std::string out = program.path + ": " + program.summary + "\n", group;
  for (const CommandDescription& sub : program.commands) {
    if (sub.group == group) {
      out += " " + sub.name();
      continue;
    }
    group = sub.group;
    out += "\n  " + group + std::string(column - group.size() - 2, ' ') + sub.name();
  }
  return out + "\n" + example_of(program) +
         "\n`ulpscope --help` says what each command does, `ulpscope COMMAND --help` how it is used.\n";
}

std::string help_text(const CommandDescription& command, std::size_t width) {
  const bool is_program = command.path.find(' ') == std::string::npos;
  std::string out = wrapped(command.path + ": " + command.summary, 0, width) + "\n";
  out += "usage: " + wrapped(usage_of(command), 7, width);
  out += commands_of(command, width) + section("inputs", rows_of(command.inputs), width);
  out += section("options", rows_of(command.options), width);
  if (is_program) {
    std::vector<Row> rows;
    for (const auto& [code, meaning] : exit_codes) rows.emplace_back(std::to_string(code), meaning);
    out += section("exit codes", rows, width);
  }
  if (!command.remarks.empty()) out += "\n" + command.remarks + "\n";
  return out + example_of(command);
}

}  // namespace ulpscope::cli
