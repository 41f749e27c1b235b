// SPDX-License-Identifier: Apache-2.0
// The script for zsh, a file of the function path.
#include "cli/description.hpp"
#include "cli/shell_words.hpp"

namespace ulpscope::cli {
namespace {

constexpr const char* beginning = R"(  local command=ulpscope context state state_descr line
  local -a commands
  local -A opt_args
  integer i at=1
  for ((i = 2; i < CURRENT; ++i)); do
    if [[ $known == *"|$command $words[i]|"* ]]; then
      command+=" $words[i]"
      at=i
    fi
  done
  words=("${(@)words[at,-1]}")
  ((CURRENT -= at - 1))
)";

/// Text of a part of a specification of _arguments, which : ends, and ] where it stands in brackets.
std::string part(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == ':' || c == '\\') out += '\\';
    out += c == '[' ? '(' : c == ']' ? ')' : c;
  }
  return out;
}

std::string action_of(const Choices& choices) {
  switch (choices.kind) {
    case ChoiceKind::files: return "_files";
    case ChoiceKind::folders: return "_files -/";
    case ChoiceKind::nothing: return " ";
    case ChoiceKind::words: break;
  }
  if (choices.name.empty()) return "(" + part(joined(choices.words)) + ")";
  return (choices.list ? " _sequence _ulpscope_" : "_ulpscope_") + choices.name;
}

std::string options_of(const CommandDescription& command) {
  std::string out;
  for (const OptionDescription& option : command.options)
    for (const std::string& name : option.names) {
      std::string spec = (option.repeats ? "*" : "") + name;
      if (!option.is_flag()) spec += name.starts_with("--") ? "=" : "+";
      spec += "[" + part(option.shown_text()) + "]";
      if (!option.is_flag()) spec += ":" + part(option.value) + ":" + action_of(option.choices);
      out += " \\\n        " + shell_quoted(spec);
    }
  return out;
}

std::string inputs_of(const CommandDescription& command) {
  std::string out;
  std::size_t place = 0;
  for (const OptionDescription& input : command.inputs) {
    const std::string at = input.repeats ? "*" : std::to_string(++place);
    out += " \\\n        " + shell_quoted(at + ":" + part(input.value) + ":" + action_of(input.choices));
  }
  if (!command.commands.empty()) out += " \\\n        '" + std::to_string(++place) + ": :->command'";
  return out;
}

std::string case_of(const CommandDescription& command) {
  std::string out = "    '" + command.path + "')\n      commands=(";
  for (const CommandDescription& sub : command.commands) out += "\n        " + shell_quoted(sub.name() + ":" + sub.summary);
  return out + ")\n      _arguments -C" + options_of(command) + inputs_of(command) + "\n      ;;\n";
}

}  // namespace

std::string zsh_completion(const CommandDescription& program) {
  const auto all = with_all_below(program);
  std::string out = "#compdef ulpscope\n# Completion of ulpscope for zsh; written by `ulpscope completion zsh`.\n";
  for (const auto& [name, words] : shared_lists(all))
    out +=
        "(( $+functions[_ulpscope_" + name + "] )) || _ulpscope_" + name + "() { compadd \"$@\" - " + joined(words) + "; }\n";
  out += "\n_ulpscope() {\n  local known='|";
  for (const CommandDescription* command : all) out += command->path + "|";
  out += "'\n" + std::string(beginning) + "  case $command in\n";
  for (const CommandDescription* command : all) out += case_of(*command);
  return out + "  esac\n  [[ $state == command ]] && _describe command commands\n}\n\n_ulpscope \"$@\"\n";
}

}  // namespace ulpscope::cli
