// SPDX-License-Identifier: Apache-2.0
// The commands that write what shells and man(1) read.
#include <memory>

#include "cli/command.hpp"
#include "cli/commands.hpp"
#include "cli/description.hpp"
#include "cli/output.hpp"
#include "emu/error.hpp"
#include "files/folder.hpp"
#include "files/new_files.hpp"
#include "reports/build_info.hpp"

namespace ulpscope::cli {
namespace {

std::string completion_for(const std::string& shell, const CommandDescription& program) {
  if (shell == "bash") return bash_completion(program);
  if (shell == "zsh") return zsh_completion(program);
  if (shell == "fish") return fish_completion(program);
  throw Error("'" + shell + "' is no shell that is known here; give bash, zsh or fish");
}

/// `ulpscope verify matmul` is described in ulpscope-verify-matmul.1.
void write_pages(const std::string& folder, const CommandDescription& program) {
  files::NewFolder made(folder);
  files::NewFiles pages{files::Folder(folder)};
  for (const CommandDescription* command : with_all_below(program))
    pages.add(command->page() + ".1").write(manual_page(*command, reports::version()));
  pages.commit();
  made.keep();
}

}  // namespace

void add_completion(Command& app) {
  auto shell = std::make_shared<std::string>();
  Command& command = *app.add_subcommand("completion", "a script that completes these commands in bash, zsh or fish");
  command.add_option("SHELL", *shell, "bash, zsh or fish")->required();
  command.footer(
      "An installed program brings the scripts along. For one that is not installed, in ~/.bashrc: source <(ulpscope "
      "completion "
      "bash)\n"
      "Example: ulpscope completion bash");
  command.callback([shell, &app] { print(completion_for(*shell, describe(app.app()))); });
}

void add_man(Command& app) {
  struct Words {
    std::vector<std::string> command;
    std::string folder;
  };
  auto words = std::make_shared<Words>();
  Command& command = *app.add_subcommand("man", "the manual page of a command");
  command.add_option("COMMAND", words->command, "the command; without it the page of the program");
  command.add_written("-o", words->folder, "write all pages into this folder instead", "DIR");
  command.footer("Example: ulpscope man verify matmul");
  command.callback([words, &app] {
    const CommandDescription program = describe(app.app());
    const CommandDescription& wanted = find_command(program, words->command);
    if (words->folder.empty()) return print(manual_page(wanted, reports::version()));
    if (&wanted != &program) throw Error("-o " + words->folder + ": all pages are written; leave the command out");
    write_pages(words->folder, program);
  });
}

}  // namespace ulpscope::cli
