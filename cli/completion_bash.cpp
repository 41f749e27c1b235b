// SPDX-License-Identifier: Apache-2.0
// The script for bash, 4.4 or newer.
#include <map>

#include "cli/description.hpp"
#include "cli/shell_words.hpp"

namespace ulpscope::cli {
namespace {

// Bash cuts the line at = and : too, and replaces the last piece only: the words are taken from the line itself, and what
// stands before that piece is taken off the replies.
constexpr const char* beginning =
    R"(  local line=${COMP_LINE:0:COMP_POINT} command=ulpscope word options= commands= inputs= kind= list= candidates= lead= before=
  local -a words replies=()
  read -ra words <<<"$line"
  [[ $line == *[[:space:]] ]] && words+=('')
  local current=${words[${#words[@]} - 1]} option=${words[${#words[@]} - 2]}
  [[ $current == --*=* ]] && lead=${current%%=*}= option=${current%%=*}
  for word in "${words[@]:1:${#words[@]} - 2}"; do
    [[ $known == *"|$command $word|"* ]] && command+=" $word"
  done
)";

constexpr const char* end = R"(  if [[ -z $kind ]]; then
    candidates="$commands $inputs"
    [[ $current == -* ]] && candidates=$options
    [[ $current != -* && $inputs == *FILES* ]] && kind=files candidates=${candidates/FILES/}
  fi
  [[ $list && $current == *,* ]] && before=${current#"$lead"} before=${before%,*},
  if [[ $kind == folders ]]; then
    compopt -o filenames 2>/dev/null
    mapfile -t replies < <(compgen -P "$lead" -d -- "${current#"$lead"}")
  else
    for word in $candidates; do
      [[ $lead$before$word == "$current"* ]] && replies+=("$lead$before$word")
    done
    [[ $list ]] && compopt -o nospace 2>/dev/null
    [[ $kind == files ]] || compopt +o default 2>/dev/null
  fi
  local piece=${COMP_WORDS[COMP_CWORD]}
  [[ $piece == [=:] ]] && piece=
  COMPREPLY=("${replies[@]#"${current%"$piece"}"}")
}
complete -o default -F _ulpscope ulpscope
)";

std::string value_of(const Choices& choices) {
  switch (choices.kind) {
    case ChoiceKind::files: return "kind=files";
    case ChoiceKind::folders: return "kind=folders";
    case ChoiceKind::nothing: return "kind=nothing";
    case ChoiceKind::words: break;
  }
  const std::string words = choices.name.empty() ? shell_quoted(joined(choices.words)) : "$words_" + choices.name;
  return std::string("kind=words ") + (choices.list ? "list=1 " : "") + "candidates=" + words;
}

std::string case_of(const CommandDescription& command) {
  std::string options, commands, inputs, values;
  for (const OptionDescription& option : command.options) {
    std::string pattern;
    for (const std::string& name : option.names) {
      options += (options.empty() ? "" : " ") + name;
      pattern += (pattern.empty() ? "" : "|") + name;
    }
    if (!option.is_flag()) values += "        " + pattern + ") " + value_of(option.choices) + " ;;\n";
  }
  for (const CommandDescription& sub : command.commands) commands += (commands.empty() ? "" : " ") + sub.name();
  for (const OptionDescription& input : command.inputs) {
    if (input.choices.kind == ChoiceKind::words) inputs += " $words_" + input.choices.name;
    if (input.choices.kind == ChoiceKind::files && inputs.find("FILES") == std::string::npos) inputs += " FILES";
  }
  std::string out =
      "    '" + command.path + "')\n      options='" + options + "' commands='" + commands + "' inputs=\"" + inputs + "\"\n";
  if (!values.empty()) out += "      case $option in\n" + values + "      esac\n";
  return out + "      ;;\n";
}

}  // namespace

std::string bash_completion(const CommandDescription& program) {
  const auto all = with_all_below(program);
  std::string out = "# Completion of ulpscope for bash; written by `ulpscope completion bash`.\n_ulpscope() {\n";
  for (const auto& [name, words] : shared_lists(all)) out += "  local words_" + name + "=" + shell_quoted(joined(words)) + "\n";
  out += "  local known='|";
  for (const CommandDescription* command : all) out += command->path + "|";
  out += "'\n" + std::string(beginning) + "  case $command in\n";
  for (const CommandDescription* command : all) out += case_of(*command);
  return out + "  esac\n" + end;
}

}  // namespace ulpscope::cli
