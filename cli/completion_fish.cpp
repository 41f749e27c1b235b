// SPDX-License-Identifier: Apache-2.0
// The script for fish, 3.0 or newer.
#include "cli/description.hpp"
#include "cli/shell_words.hpp"

namespace ulpscope::cli {
namespace {

constexpr const char* functions = R"(
function __ulpscope_at
  set -l command ulpscope
  set -l words (commandline -opc)
  for word in $words[2..-1]
    contains -- "$command $word" $__ulpscope_commands; and set command "$command $word"
  end
  test "$command" = "$argv"
end

function __ulpscope_list
  set -l before (commandline -ct | string replace -r '^--[^=]*=' '' | string match -r '^.*,')
  printf '%s\n' "$before"$argv
end

complete -c ulpscope -f
)";

/// In single quotes, as fish reads them.
std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return out + "'";
}

std::string words_of(const Choices& choices) {
  return choices.name.empty() ? joined(choices.words) : "$__ulpscope_" + choices.name;
}

std::string value_of(const Choices& choices) {
  switch (choices.kind) {
    case ChoiceKind::files: return " -r -F";
    case ChoiceKind::folders: return " -x -a '(__fish_complete_directories)'";
    case ChoiceKind::nothing: return " -x";
    case ChoiceKind::words: break;
  }
  return " -x -a " + quoted(choices.list ? "(__ulpscope_list " + words_of(choices) + ")" : words_of(choices));
}

std::string lines_of(const CommandDescription& command) {
  const std::string begin = "complete -c ulpscope -n " + quoted("__ulpscope_at " + command.path);
  std::string out = "\n";
  for (const CommandDescription& sub : command.commands)
    out += begin + " -a " + sub.name() + " -d " + quoted(sub.summary) + "\n";
  for (const OptionDescription& input : command.inputs) {
    if (input.choices.kind == ChoiceKind::files) out += begin + " -F\n";
    if (input.choices.kind == ChoiceKind::words) out += begin + " -a " + quoted(words_of(input.choices)) + "\n";
  }
  for (const OptionDescription& option : command.options) {
    out += begin;
    for (const std::string& name : option.names)
      out += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
    out += (option.is_flag() ? "" : value_of(option.choices)) + " -d " + quoted(option.text) + "\n";
  }
  return out;
}

}  // namespace

std::string fish_completion(const CommandDescription& program) {
  const auto all = with_all_below(program);
  std::string out = "# Completion of ulpscope for fish; written by `ulpscope completion fish`.\nset -g __ulpscope_commands";
  for (const CommandDescription* command : all) out += " " + quoted(command->path);
  out += "\n";
  for (const auto& [name, words] : shared_lists(all)) out += "set -g __ulpscope_" + name + " " + joined(words) + "\n";
  out += functions;
  for (const CommandDescription* command : all) out += lines_of(*command);
  return out;
}

}  // namespace ulpscope::cli
