// SPDX-License-Identifier: Apache-2.0
// Reads the words as CLI11 would, up to the first that it would not know.
#include "cli/unknown_word.hpp"

#include <algorithm>

#include "emu/names.hpp"
#include "emu/suggestions.hpp"

namespace ulpscope::cli {
namespace {

std::string nearest_to(const std::string& word, const std::vector<std::string>& known) {
  const std::string nearest = emu::comma_separated(emu::closest_words(word, known));
  return nearest.empty() ? "" : "; nearest: " + nearest;
}

const OptionDescription* find_option(const CommandDescription& command, const std::string& name) {
  const auto has = [&](const OptionDescription& option) {
    return std::find(option.names.begin(), option.names.end(), name) != option.names.end();
  };
  const auto found = std::find_if(command.options.begin(), command.options.end(), has);
  return found == command.options.end() ? nullptr : &*found;
}

bool is_option(const std::string& word) { return word.size() > 1 && word.front() == '-'; }

/// The words of one command line, read from left to right.
class Reader {
 public:
  Reader(const CommandDescription& program, const std::vector<std::string>& words) : command_(&program), words_(words) {}

  std::optional<std::string> read() {
    while (next_ < words_.size()) {
      const std::string& word = words_[next_++];
      if (word == "--") return std::nullopt;
      if (auto sentence = is_option(word) ? read_option(word) : read_word(word)) return sentence;
    }
    return std::nullopt;
  }

 private:
  std::optional<std::string> read_option(const std::string& word) {
    const bool is_long = word.starts_with("--");
    const std::size_t equals = word.find('=');
    const std::string name = is_long ? word.substr(0, equals) : word.substr(0, 2);  // -oFILE
    const OptionDescription* const option = find_option(*command_, name);
    if (option != nullptr) {
      const bool has_value = is_long ? equals != std::string::npos : word.size() > 2;
      if (!option->is_flag() && !has_value && next_ < words_.size()) ++next_;
      return std::nullopt;
    }
    const bool may_be_formula = !is_long && inputs_ < command_->inputs.size() && command_->inputs[inputs_].value == "FORMULA";
    if (may_be_formula)
      return "unknown option '" + word + "' of `" + command_->path + "`; a formula that begins with - stands in brackets: (" +
             word + ")";
    std::vector<std::string> known;
    for (const OptionDescription& o : command_->options) known.insert(known.end(), o.names.begin(), o.names.end());
    const std::string typed = is_long ? name : word;
    return "unknown option '" + typed + "' of `" + command_->path + "`" + nearest_to(typed, known);
  }

  std::optional<std::string> read_word(const std::string& word) {
    const auto sub = std::ranges::find(command_->commands, word, &CommandDescription::name);
    if (sub != command_->commands.end()) {
      command_ = &*sub;
      inputs_ = 0;
      return std::nullopt;
    }
    if (inputs_++ < command_->inputs.size() || command_->commands.empty()) return std::nullopt;
    std::vector<std::string> known;
    for (const CommandDescription& c : command_->commands) known.push_back(c.name());
    return "unknown command '" + word + "' of `" + command_->path + "`" + nearest_to(word, known);
  }

  const CommandDescription* command_;
  const std::vector<std::string>& words_;
  std::size_t next_ = 0, inputs_ = 0;
};

}  // namespace

std::optional<std::string> unknown_word(const CommandDescription& program, const std::vector<std::string>& arguments) {
  return Reader(program, arguments).read();
}

}  // namespace ulpscope::cli
