// SPDX-License-Identifier: Apache-2.0
// A command and its options as the other files of this room describe them. CLI11, which reads the words, is behind it: its
// header takes ten seconds to compile, so few files include it, which docs/architecture.md names.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "requests/field.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace ulpscope::cli {

/// One option of a command: a handle, used like a pointer. What it says is kept by the command.
class Option {
 public:
  Option(std::nullptr_t = nullptr) {}
  explicit Option(CLI::Option* option) : option_(option) {}

  const Option* operator->() const { return this; }
  bool operator==(std::nullptr_t) const { return option_ == nullptr; }
  CLI::Option* get() const { return option_; }

  Option required(bool needed = true) const;
  Option type_name(const std::string& name) const;  ///< of its value, in help
  Option description(const std::string& text) const;
  Option capture_default_str() const;  ///< help shows what the variable holds now
  Option default_str(const std::string& text) const;
  Option delimiter(char between) const;                            ///< one word may hold several values
  Option expected(int least, int most) const;                      ///< number of values
  Option allow_extra_args(bool allowed) const;                     ///< whether the words after its value are values too
  Option repeatable() const;                                       ///< one value each time it is given
  Option comma_list() const;                                       ///< values between commas, each time it is given
  Option excludes(Option other) const;                             ///< not both
  Option each(std::function<void(const std::string&)> use) const;  ///< called with every value
  Option whole(requests::WholeBounds bounds = {}) const;           ///< whole numbers; others are refused
  Option real(requests::RealBounds bounds = {}) const;             ///< finite numbers; others are refused

  std::string name() const;  ///< without hyphens
  bool is_positional() const;
  std::size_t count() const;                 ///< times it was given
  std::vector<std::string> results() const;  ///< its words

 private:
  CLI::Option* option_ = nullptr;
};

/// A command, or a group of commands.
class Command {
 public:
  Command();                        ///< one that stands alone, to parse() with
  explicit Command(CLI::App& app);  ///< the program's, which must outlive it
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;
  ~Command();

  void heading(const std::string& text);  ///< help lists the subcommands that follow below it
  Command* add_subcommand(const std::string& name, const std::string& description);  ///< kept by this one
  /// `variable` gets the value: text, a number, a list of either. It must outlive the parsing, and text may not be empty.
  /// Defined for the types in command.cpp.
  template <class T>
  Option add_option(const std::string& names, T& variable, const std::string& description);
  /// The same of what the command writes: a folder where `type` says `DIR`, else a file. Before the command runs it is held
  /// against all other words (cli/written_names.hpp).
  Option add_written(const std::string& names, std::string& variable, const std::string& description, const std::string& type);
  /// Where `is_name` says so, words of this option name no input, and what is written may have the same name.
  void holds_names(Option option, std::function<bool(const std::string&)> is_name);
  Option add_flag(const std::string& names, bool& variable, const std::string& description);
  /// An option or an input for each field, which is set when the words are read. The request must outlive the parsing.
  void add(const requests::Fields& fields);
  Option add(const requests::Field& field);
  template <class Request>
  void add_request(Request& request) {
    add(requests::fields_of(request));
  }
  void remove_option(Option option);
  Option get_option_no_throw(const std::string& name) const;  ///< or nullptr

  void require_subcommand(int exactly);
  void require_subcommand(int least, int most);
  void footer(const std::string& text);
  void callback(std::function<void()> run);  ///< what the command does once its words are read

  std::size_t count(const std::string& option) const;  ///< times it was given
  bool has_chosen_subcommand() const;
  /// Fills the variables. @throws ulpscope::Error in CLI11's words.
  void parse(std::vector<std::string> arguments);

  CLI::App& app() { return app_; }

 private:
  std::unique_ptr<CLI::App> own_;
  CLI::App& app_;
  std::string heading_;
  std::vector<Option> written_;
  std::vector<std::unique_ptr<Command>> subcommands_;
  std::vector<std::pair<Option, std::function<bool(const std::string&)>>> names_;

  void check_outputs() const;
};

}  // namespace ulpscope::cli
