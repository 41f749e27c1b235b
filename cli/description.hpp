// SPDX-License-Identifier: Apache-2.0
// What a command takes and does, as its help, its manual page and the completion of shells say it: one description for all
// three, read from the commands as they are declared.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/choices.hpp"

namespace CLI {
class App;
}

namespace ulpscope::cli {

/// An option, or an input.
struct OptionDescription {
  std::vector<std::string> names = {};   ///< `-o`, `--output`; empty for an input
  std::string value = {};                ///< what it takes: `F,...`; the word of an input; empty for a flag
  std::string text = {}, standard = {};  ///< what it is, and its value where it is not given
  bool required = false, repeats = false;
  Choices choices = {};

  bool is_flag() const { return value.empty(); }
  bool is_input() const { return names.empty(); }
  std::string shown_value() const;  ///< `INPUT...`
  std::string shown_text() const;   ///< with the standard value in brackets
};

struct CommandDescription {
  std::string path = {};                   ///< `ulpscope verify matmul`
  std::string summary = {}, remarks = {};  ///< one line; lines, perhaps none
  std::string example = {};                ///< lines: commands
  std::string group = {};                  ///< the heading that it is listed under
  std::vector<OptionDescription> inputs = {}, options = {};
  std::vector<CommandDescription> commands = {};

  std::string name() const { return path.substr(path.rfind(' ') + 1); }
  std::string page() const;  ///< of its manual: `ulpscope-verify-matmul`
};

CommandDescription describe(const CLI::App& program);

/// The command and all below it, each before those below it.
std::vector<const CommandDescription*> with_all_below(const CommandDescription& command);

/// A command of several words, `verify matmul`, below `program`. @throws ulpscope::Error naming the nearest
const CommandDescription& find_command(const CommandDescription& program, const std::vector<std::string>& words);

/// `usage: ulpscope cast IN --to F -o OUT [OPTIONS]` without `usage: `.
std::string usage_of(const CommandDescription& command);

/// What an exit code means.
struct ExitCodeMeaning {
  int code;
  std::string_view meaning;
};
extern const std::vector<ExitCodeMeaning> exit_codes;

/// A script for a shell that completes the words of `ulpscope`.
std::string bash_completion(const CommandDescription& program);
std::string zsh_completion(const CommandDescription& program);
std::string fish_completion(const CommandDescription& program);

/// What the program says where it is given no words: the names of its commands by group, and its example.
std::string introduction(const CommandDescription& program);

/// The text that `--help` prints, in lines of at most `width` characters where words allow it.
std::string help_text(const CommandDescription& command, std::size_t width);

/// A page for man(1), in the language of groff_man(7).
std::string manual_page(const CommandDescription& command, const std::string& version);

}  // namespace ulpscope::cli
