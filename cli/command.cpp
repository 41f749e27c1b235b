// SPDX-License-Identifier: Apache-2.0
// Hands declarations on to CLI11 and keeps what CLI11 does not: groups, checks, lists.
#include "cli/command.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

#include "cli/written_names.hpp"
#include "emu/error.hpp"

namespace ulpscope::cli {

Option Option::required(bool needed) const { return Option(option_->required(needed)); }
Option Option::type_name(const std::string& name) const { return Option(option_->type_name(name)); }
Option Option::description(const std::string& text) const { return Option(option_->description(text)); }
Option Option::capture_default_str() const { return Option(option_->capture_default_str()); }
Option Option::default_str(const std::string& text) const { return Option(option_->default_str(text)); }
Option Option::delimiter(char between) const { return Option(option_->delimiter(between)); }
Option Option::expected(int least, int most) const { return Option(option_->expected(least, most)); }
Option Option::allow_extra_args(bool allowed) const { return Option(option_->allow_extra_args(allowed)); }
Option Option::excludes(Option other) const { return Option(option_->excludes(other.option_)); }
Option Option::each(std::function<void(const std::string&)> use) const { return Option(option_->each(std::move(use))); }

Option Option::whole(requests::WholeBounds bounds) const {
  const auto read = [bounds](std::string& word) { return requests::read_whole(word, bounds); };
  return Option(option_->type_name("N")->transform(CLI::Validator(read, "")));
}

Option Option::real(requests::RealBounds bounds) const {
  const auto read = [bounds](std::string& word) { return requests::read_real(word, bounds); };
  return Option(option_->type_name("VALUE")->check(CLI::Validator(read, "")));
}

Option Option::repeatable() const {
  return Option(option_->allow_extra_args(false)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll));
}

Option Option::comma_list() const { return delimiter(',').repeatable(); }

std::string Option::name() const { return option_->get_single_name(); }
bool Option::is_positional() const { return option_->get_positional(); }
std::size_t Option::count() const { return option_->count(); }
std::vector<std::string> Option::results() const { return option_->results(); }

Command::Command() : own_(std::make_unique<CLI::App>()), app_(*own_) {}
Command::Command(CLI::App& app) : app_(app) {}
Command::~Command() = default;

void Command::heading(const std::string& text) { heading_ = text; }

Command* Command::add_subcommand(const std::string& name, const std::string& description) {
  subcommands_.push_back(std::make_unique<Command>(*app_.add_subcommand(name, description)->group(heading_)));
  return subcommands_.back().get();
}

template <class T>
Option Command::add_option(const std::string& names, T& variable, const std::string& description) {
  CLI::Option* const option = app_.add_option(names, variable, description);
  // A word without a letter is a variable of a script that is not set, not what is left out.
  if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, std::vector<std::string>>)
    option->check(CLI::Validator([](const std::string& word) { return word.empty() ? "'': give a word" : ""; }, ""));
  return Option(option);
}

template Option Command::add_option(const std::string&, std::string&, const std::string&);
template Option Command::add_option(const std::string&, std::vector<std::string>&, const std::string&);
template Option Command::add_option(const std::string&, int&, const std::string&);
template Option Command::add_option(const std::string&, double&, const std::string&);
template Option Command::add_option(const std::string&, std::uint64_t&, const std::string&);
template Option Command::add_option(const std::string&, std::vector<std::uint64_t>&, const std::string&);
template Option Command::add_option(const std::string&, std::optional<double>&, const std::string&);
template Option Command::add_option(const std::string&, std::optional<std::uint64_t>&, const std::string&);

Option Command::add_written(const std::string& names, std::string& variable, const std::string& description,
                            const std::string& type) {
  return written_.emplace_back(add_option(names, variable, description).type_name(type));
}

void Command::holds_names(Option option, std::function<bool(const std::string&)> is_name) {
  names_.emplace_back(option, std::move(is_name));
}

Option Command::add_flag(const std::string& names, bool& variable, const std::string& description) {
  return Option(app_.add_flag(names, variable, description)->disable_flag_override());
}

void Command::add(const requests::Fields& fields) {
  for (const requests::Field& field : fields) add(field);
}

Option Command::add(const requests::Field& field) {
  const Option option = std::visit(
      [&]<class T>(T* variable) {
        if constexpr (std::is_same_v<T, bool>)
          return add_flag(field.option(), *variable, field.help);
        else
          return add_option(field.option(), *variable, field.help);
      },
      field.variable);
  if (field.whole_bounds) option.whole(*field.whole_bounds);
  if (field.real_bounds) option.real(*field.real_bounds);
  if (field.is_list() && field.form == requests::ListForm::commas) option.comma_list();
  if (field.is_list() && field.form == requests::ListForm::either) option.delimiter(',');
  if (field.is_list() && field.form == requests::ListForm::repeated) option.repeatable();
  if (!field.value.empty()) option.type_name(field.value);
  if (!field.standard.empty()) option.default_str(field.standard);
  if (field.check) option.each(field.check);
  if (field.required) option.required();
  return option;
}

void Command::remove_option(Option option) { app_.remove_option(option.get()); }
Option Command::get_option_no_throw(const std::string& name) const { return Option(app_.get_option_no_throw(name)); }

void Command::require_subcommand(int exactly) { app_.require_subcommand(exactly); }
void Command::require_subcommand(int least, int most) {
  app_.require_subcommand(static_cast<std::size_t>(least), static_cast<std::size_t>(most));
}
void Command::footer(const std::string& text) { app_.footer(text); }
void Command::callback(std::function<void()> run) {
  app_.callback([this, run = std::move(run)] { check_outputs(), run(); });
}

void Command::check_outputs() const {
  std::vector<WrittenName> written;
  std::vector<std::string> others;
  for (const CLI::Option* const option : app_.get_options()) {
    if (option->count() == 0 || option->get_items_expected() == 0) continue;
    const bool writes = std::ranges::any_of(written_, [&](const Option& one) { return one.get() == option; });
    const auto is_name = [&](const std::string& word) {
      return std::ranges::any_of(names_, [&](const auto& one) { return one.first.get() == option && one.second(word); });
    };
    for (const std::string& word : option->results())
      if (writes)
        written.push_back({option->get_name(), word, option->get_type_name() == "DIR"});
      else if (!is_name(word))
        others.push_back(word);
  }
  check_written(written, others);
}

std::size_t Command::count(const std::string& option) const { return app_.count(option); }
bool Command::has_chosen_subcommand() const { return !app_.get_subcommands().empty(); }

void Command::parse(std::vector<std::string> arguments) {
  std::reverse(arguments.begin(), arguments.end());  // as CLI11 takes them
  try {
    app_.parse(arguments);
  } catch (const CLI::ParseError& error) {
    throw Error(error.what());
  }
}

}  // namespace ulpscope::cli
