// SPDX-License-Identifier: Apache-2.0
// Takes CLI11's objects apart into plain descriptions.
#include "cli/description.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "cli/commands.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"
#include "emu/suggestions.hpp"

namespace ulpscope::cli {
namespace {

constexpr std::string_view example_mark = "Example: ";

/// CLI11 puts a list in brackets, and differs between versions in whether it quotes a word.
std::string bare(std::string text) {
  for (const auto& [open, close] : {std::pair('[', ']'), std::pair('"', '"')})
    if (text.size() > 1 && text.front() == open && text.back() == close) text = text.substr(1, text.size() - 2);
  return text;
}

OptionDescription describe(const CLI::Option& option) {
  const bool input = option.get_positional() && option.get_lnames().empty() && option.get_snames().empty();
  OptionDescription out{.text = option.get_description(), .standard = bare(option.get_default_str())};
  for (const std::string& name : option.get_snames()) out.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) out.names.push_back("--" + name);
  if (input) {
    out.value = option.get_name(true);
  } else if (option.get_items_expected_max() != 0) {
    out.value = option.get_type_name();
  }
  out.required = option.get_required();
  out.repeats = option.get_items_expected_max() > 1;
  out.choices = choices_of(out.value);
  return out;
}

/// Remarks and example of a footer: `Example: ` begins the lines of the example, which ends the text.
void split_footer(const std::string& footer, CommandDescription& command) {
  const std::size_t mark = footer.rfind(example_mark);
  command.remarks = footer.substr(0, mark);
  while (command.remarks.ends_with('\n')) command.remarks.pop_back();
  if (mark != std::string::npos) command.example = footer.substr(mark + example_mark.size());
}

CommandDescription describe(const CLI::App& app, const std::string& parent) {
  CommandDescription command{.path = parent + app.get_name(), .summary = app.get_description(), .group = app.get_group()};
  split_footer(app.get_footer(), command);
  for (const CLI::Option* option : app.get_options()) {
    OptionDescription described = describe(*option);
    (described.names.empty() ? command.inputs : command.options).push_back(std::move(described));
  }
  // --help, which CLI11 declares first, ends the list.
  std::ranges::stable_partition(command.options, [](const auto& option) { return option.names.back() != "--help"; });
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; }))
    command.commands.push_back(describe(*sub, command.path + " "));
  for (CommandDescription& sub : command.commands)
    if (sub.group.empty()) sub.group = "commands";
  return command;
}

}  // namespace

CommandDescription describe(const CLI::App& program) { return describe(program, ""); }

const CommandDescription& find_command(const CommandDescription& program, const std::vector<std::string>& words) {
  const CommandDescription* command = &program;
  for (const std::string& word : words) {
    const auto found = std::ranges::find(command->commands, word, &CommandDescription::name);
    if (found != command->commands.end()) {
      command = &*found;
      continue;
    }
    if (command->commands.empty()) throw Error("`" + command->path + "` has no commands, so not '" + word + "'");
    std::vector<std::string> known;
    for (const CommandDescription& sub : command->commands) known.push_back(sub.name());
    const std::string nearest = emu::comma_separated(emu::closest_words(word, known));
    throw Error("unknown command '" + word + "'; nearest: " + nearest);
  }
  return *command;
}

std::string OptionDescription::shown_value() const { return value + (is_input() && repeats ? "..." : ""); }

std::string OptionDescription::shown_text() const {
  return text + (standard.empty() ? "" : " [" + standard + "]") + (required && !is_input() ? " (required)" : "");
}

std::string CommandDescription::page() const {
  std::string page = path;
  std::ranges::replace(page, ' ', '-');
  return page;
}

std::vector<const CommandDescription*> with_all_below(const CommandDescription& command) {
  std::vector<const CommandDescription*> all{&command};
  for (const CommandDescription& sub : command.commands)
    for (const CommandDescription* below : with_all_below(sub)) all.push_back(below);
  return all;
}

std::string usage_of(const CommandDescription& command) {
  std::string usage = command.path;
  for (const OptionDescription& input : command.inputs) {
    usage += input.required ? " " + input.shown_value() : " [" + input.shown_value() + "]";
  }
  for (const OptionDescription& option : command.options)
    if (option.required) usage += " " + option.names.front() + " " + option.value;
  if (!command.options.empty()) usage += " [OPTIONS]";
  return usage + (command.commands.empty() ? "" : " COMMAND ...");
}

const std::vector<ExitCodeMeaning> exit_codes{
    {done, "done, or the check holds"},
    {check_failed, "a check failed: an output is wrong, tensors differ, a device is not what its model says"},
    {bad_usage, "bad usage or bad input: one line says what, where, and what would be right"},
    {vacuous, "the check could not have failed, or nothing was checked"},
    {no_hardware, "the hardware that was asked for is not here"},
    {own_error, "out of memory, or an error of the program itself"}};

}  // namespace ulpscope::cli
