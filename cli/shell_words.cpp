// SPDX-License-Identifier: Apache-2.0
// Quotes and joins words, and lists what all shells complete.
#include "cli/shell_words.hpp"

namespace ulpscope::cli {

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : " ") + word;
  return out;
}

std::string shell_quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::map<std::string, std::vector<std::string>> shared_lists(const std::vector<const CommandDescription*>& commands) {
  std::map<std::string, std::vector<std::string>> lists;
  for (const CommandDescription* command : commands)
    for (const auto* options : {&command->inputs, &command->options})
      for (const OptionDescription& option : *options)
        if (option.choices.kind == ChoiceKind::words && !option.choices.name.empty())
          lists[option.choices.name] = option.choices.words;
  return lists;
}

}  // namespace ulpscope::cli
