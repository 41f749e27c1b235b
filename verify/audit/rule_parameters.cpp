// SPDX-License-Identifier: Apache-2.0
// Reads the parameters of a rule, and writes its form.
#include "verify/audit/rule_parameters.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "emu/error.hpp"
#include "emu/suggestions.hpp"

namespace ulpscope::verify {
namespace {

std::string number_text(double value) {
  std::array<char, 32> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  return {text.data(), end};
}

/// Reads the parameters of one word; every failure names the word, what is wrong and what would be right.
class ArgumentReader {
 public:
  ArgumentReader(std::string_view name, std::span<const RuleParameter> parameters, std::string_view word)
      : name_(name), parameters_(parameters), word_(word) {}

  std::vector<RuleArgument> read() const {
    std::vector<RuleArgument> arguments;
    for (const RuleParameter& parameter : parameters_) arguments.push_back({parameter.value});
    if (word_.size() == name_.size()) return arguments;
    std::string_view rest = word_.substr(name_.size() + 1);
    if (rest.empty()) refuse("nothing follows the colon");
    for (std::size_t comma = 0; comma != std::string_view::npos; rest.remove_prefix(std::min(comma + 1, rest.size()))) {
      comma = rest.find(',');
      read_part(rest.substr(0, comma), arguments);
      if (comma == std::string_view::npos) break;
    }
    return arguments;
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    std::string more;
    for (const RuleParameter& parameter : parameters_)
      if (!parameter.shown) more += (more.empty() ? "; it takes " : ", ") + std::string(parameter.key);
    const bool any_shown = std::ranges::any_of(parameters_, &RuleParameter::shown);
    throw Error("rule '" + std::string(word_) + "': " + why + "; write " +
                (any_shown ? "it like " + rule_form(name_, parameters_) : std::string(name_) + " alone") + more +
                (more.empty() ? "" : ", too"));
  }

  void read_part(std::string_view part, std::vector<RuleArgument>& arguments) const {
    const std::size_t equals = part.find('=');
    const std::string_view key = equals == std::string_view::npos ? std::string_view{} : part.substr(0, equals);
    const auto found = std::ranges::find(parameters_, key, &RuleParameter::key);
    if (found == parameters_.end()) refuse("'" + std::string(part) + "' is nothing that it takes");
    const std::string_view typed = equals == std::string_view::npos ? part : part.substr(equals + 1);
    arguments[static_cast<std::size_t>(found - parameters_.begin())] =
        found->words.empty() ? number_of(*found, typed) : choice_of(*found, typed);
  }

  RuleArgument choice_of(const RuleParameter& parameter, std::string_view typed) const {
    const auto found = std::ranges::find(parameter.words, typed);
    if (found != parameter.words.end()) return {static_cast<double>(found - parameter.words.begin())};
    const std::vector<std::string> words(parameter.words.begin(), parameter.words.end());
    refuse("'" + std::string(typed) + "' is no " + std::string(parameter.key) + ", which is one of " +
           emu::comma_separated(words));
  }

  RuleArgument number_of(const RuleParameter& parameter, std::string_view typed) const {
    RuleArgument argument;
    std::string_view digits = typed;
    for (const auto& [suffix, factor] :
         {std::pair{std::string_view("*sqrt(K)"), LengthFactor::root_k}, std::pair{std::string_view("*K"), LengthFactor::k}})
      if (digits.ends_with(suffix)) argument.factor = factor, digits.remove_suffix(suffix.size());
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), argument.value);
    if (error != std::errc{} || end != digits.data() + digits.size() || !std::isfinite(argument.value))
      refuse("'" + std::string(typed) + "' is no number");
    // A limit of an elementwise rule, a share or a norm below 0 could not be met.
    if (argument.value < 0 && !parameter.may_be_negative) refuse("'" + std::string(typed) + "' is negative");
    if (parameter.key == "ratio" && (argument.value > 1 || argument.factor != LengthFactor::one))
      refuse("'" + std::string(typed) + "' is no share from 0 to 1");
    return argument;
  }

  std::string_view name_;
  std::span<const RuleParameter> parameters_;
  std::string_view word_;
};

}  // namespace

double RuleArgument::at(double k) const {
  return factor == LengthFactor::one ? value : value * (factor == LengthFactor::k ? k : std::sqrt(k));
}

std::string rule_form(std::string_view name, std::span<const RuleParameter> parameters) {
  std::string form(name);
  char separator = ':';
  for (const RuleParameter& parameter : parameters) {
    if (!parameter.shown) continue;
    form += separator + (parameter.key.empty() ? "" : std::string(parameter.key) + "=") + number_text(parameter.value);
    separator = ',';
  }
  return form;
}

std::vector<RuleArgument> read_rule_arguments(std::string_view name, std::span<const RuleParameter> parameters,
                                              std::string_view word) {
  return ArgumentReader(name, parameters, word).read();
}

}  // namespace ulpscope::verify
