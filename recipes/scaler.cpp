// SPDX-License-Identifier: Apache-2.0
// Scalers from words, and their state as numbers.
#include "recipes/scaler.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <type_traits>

#include "emu/decode.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"
#include "emu/suggestions.hpp"
#include "recipes/scaler_rule.hpp"
#include "requests/numbers.hpp"

namespace ulpscope::recipes {
namespace {

const std::vector<RuleMaker>& makers() {
  static const std::vector<RuleMaker> all = [] {
    std::vector<RuleMaker> rules;
    for (const auto& part : {pytorch_rules, deepspeed_rules, framework_rules, plain_rules, tensor_rules})
      for (RuleMaker& rule : part()) rules.push_back(std::move(rule));
    return rules;
  }();
  return all;
}

const RuleMaker& find_maker(const std::string& name) {
  const auto found = std::find_if(makers().begin(), makers().end(), [&](const RuleMaker& maker) { return maker.name == name; });
  if (found != makers().end()) return *found;
  std::vector<std::string> names;
  for (const RuleMaker& maker : makers()) names.push_back(maker.name);
  throw Error("unknown scaler '" + name + "'; nearest: " + emu::comma_separated(emu::closest_words(name, names)));
}

/// The part before the first `mark`, which is left out, and the rest.
std::pair<std::string, std::string> cut(const std::string& words, char mark) {
  const std::size_t at = words.find(mark);
  if (at == std::string::npos) return {words, ""};
  return {words.substr(0, at), words.substr(at + 1)};
}

std::vector<std::string> names_of(const requests::Fields& fields) {
  std::vector<std::string> names;
  for (const requests::Field& field : fields) names.push_back(field.name);
  return names;
}

void set_parameter(requests::Fields& fields, const std::string& scaler, const std::string& assignment) {
  const std::vector<std::string> names = names_of(fields);
  // `static` has one, which need not be named.
  const auto [key, value] = names.size() == 1 && assignment.find('=') == std::string::npos
                                ? std::pair(names.front(), assignment)
                                : cut(assignment, '=');
  requests::Field* const field = fields.find(key);
  if (field == nullptr)
    throw Error("scaler " + scaler + ": unknown parameter '" + key + "'; known: " + emu::comma_separated(names));
  std::string word = value;
  if (word.starts_with("2^") && field->is_real())
    if (std::string power = word.substr(2); !power.empty()) {
      const bool negative = power.front() == '-';
      if (negative) power.erase(0, 1);
      if (requests::read_whole(power, {.most = 1023}).empty()) word = "0x1p" + std::string(negative ? "-" : "") + power;
    }
  if (value == "none" && std::holds_alternative<std::optional<double>*>(field->variable)) return;
  field->short_option = key;  // begins the sentence of what is wrong
  try {
    field->set({word});
  } catch (const Error& error) {
    const std::string what = error.what();
    throw Error("scaler " + scaler + ": " + (what.starts_with(key) ? what : key + ": " + what));
  }
}

double number_of(const auto* variable) { return static_cast<double>(*variable); }

// What is wrong with a number of a state; nothing if steps can lead to it. Scales may have become 0 or infinite.
std::string wrong_of(const std::int64_t*, double value) {
  constexpr double most = 0x1p53;  // whole numbers up to here are their own doubles
  return std::fabs(value) <= most && value == std::trunc(value) ? "" : "is a count: give a whole number of at most 2^53";
}
std::string wrong_of(const double*, double scale) { return scale >= 0 ? "" : "is a scale: give a number of at least 0"; }
std::string wrong_of(const float*, double scale) {
  if (std::isfinite(scale) && std::isinf(static_cast<float>(scale))) return "is a scale in float32, which ends below";
  return scale >= 0 ? "" : "is a scale: give a number of at least 0";
}
std::string wrong_of(const std::vector<float>*, double amax) {
  if (std::isfinite(amax) && std::isinf(static_cast<float>(amax))) return "is an amax in float32, which ends below";
  return amax < 0 ? "is an amax: give a number of at least 0, inf or nan" : "";
}

/// Refuses what is not between two numbers. `kind`: behind "give a"; a number is looked at as `rounded` has it.
std::function<void(const std::string&)> checked_between(double low, double high, std::string kind, double (*rounded)(double)) {
  return [low, high, kind = std::move(kind), rounded](const std::string& word) {
    if (!requests::read_real(word, {}).empty()) return;  // the field says what is wrong
    const double x = rounded(requests::real_of(word));
    if (x > low && x < high) return;
    std::string wanted = "give " + kind + "more than " + requests::shortest(low);
    if (high < std::numeric_limits<double>::infinity()) wanted += " and less than " + requests::shortest(high);
    throw Error("'" + word + "': " + wanted);
  };
}

}  // namespace

std::function<void(const std::string&)> above(double limit) { return between(limit, std::numeric_limits<double>::infinity()); }

std::function<void(const std::string&)> between(double low, double high) {
  return checked_between(low, high, "", [](double x) { return x; });
}

std::function<void(const std::string&)> float_above(double limit) {
  return float_between(limit, std::numeric_limits<double>::infinity());
}
std::function<void(const std::string&)> float_between(double low, double high) {
  return checked_between(low, high, "a float32 number of ",
                         [](double x) { return static_cast<double>(static_cast<float>(x)); });
}

Scaler::Scaler(std::string_view words, emu::Format to) : to_(to) {
  const auto [name, parameters] = cut(std::string(words), ':');
  name_ = name;
  rule_ = find_maker(name).make();
  requests::Fields fields;
  rule_->describe(fields);
  std::set<std::string> given;
  for (std::string rest = parameters; !rest.empty();) {
    auto [first, others] = cut(rest, ',');
    set_parameter(fields, name, first);
    if (const std::string key = cut(first, '=').first; !given.insert(key).second)
      throw Error("scaler " + name + ": " + key + " is given twice");
    rest = std::move(others);
  }
  rule_->start(emu::max_finite(to));
  if (!(scale() > 0 && std::isfinite(scale())))
    throw Error("scaler " + name + ": its first scale would be " + requests::shortest(scale()) +
                ": give one between the least and the largest float32 number");
  if (floor() > cap())
    throw Error("scaler " + name + ": its least scale, " + requests::shortest(floor()) + ", is above its greatest, " +
                requests::shortest(cap()));
}

Scaler::Scaler(const Scaler& other) : name_(other.name_), to_(other.to_), rule_(other.rule_->copy()) {}
Scaler::Scaler(Scaler&& other) noexcept = default;
Scaler::~Scaler() = default;

std::string Scaler::words() const {
  const std::unique_ptr<ScalerRule> own = rule_->copy(), standard = find_maker(name_).make();
  requests::Fields fields, usual;
  own->describe(fields);
  standard->describe(usual);
  std::string words = name_;
  for (const requests::Field& field : fields) {
    const std::vector<std::string> value = field.words();
    if (value == usual.at(field.name).words()) continue;
    words += (words == name_ ? ":" : ",") + field.name + "=" + (value.empty() ? "false" : value.front());
  }
  return words;
}

double Scaler::scale() const { return rule_->scale(); }
bool Scaler::follows_amax() const { return rule_->follows_amax(); }
std::optional<double> Scaler::bin_edge() const { return rule_->bin_edge(); }
bool Scaler::unscales_in_format() const { return rule_->unscales_in_format(); }
double Scaler::floor() const { return rule_->floor(); }
double Scaler::cap() const { return rule_->cap(); }

ScalerStep Scaler::step(const Seen& seen) {
  if (follows_amax() && !seen.amax)
    throw Error("scaler " + name_ + ": follows the largest magnitude (amax), which is not given");
  if (seen.upper && !(*seen.upper >= 0 && *seen.upper <= 1))
    throw Error("scaler " + name_ + ": upper " + requests::shortest(*seen.upper) + ": is a share, from 0 to 1");
  return rule_->step(seen);
}

std::vector<std::pair<std::string, std::vector<double>>> Scaler::state() const {
  ScalerState state;
  rule_->describe(state);
  std::vector<std::pair<std::string, std::vector<double>>> values;
  for (const auto& [name, variable] : state.all())
    values.emplace_back(name, std::visit(
                                  [](const auto* pointer) -> std::vector<double> {
                                    if constexpr (requires { pointer->begin(); })
                                      return {pointer->begin(), pointer->end()};
                                    else
                                      return {number_of(pointer)};
                                  },
                                  variable));
  return values;
}

void Scaler::set_state(const std::vector<std::pair<std::string, std::vector<double>>>& values) {
  const auto own = state();
  const bool fits = std::equal(own.begin(), own.end(), values.begin(), values.end(), [](const auto& x, const auto& y) {
    return x.first == y.first && x.second.size() == y.second.size();
  });
  if (!fits) throw Error("scaler " + words() + ": a state of another scaler");
  ScalerState state;
  rule_->describe(state);
  for (std::size_t i = 0; i < values.size(); ++i)
    for (const double value : values[i].second)
      if (const std::string wrong =
              std::visit([value](auto* variable) { return wrong_of(variable, value); }, state.all()[i].second);
          !wrong.empty())
        throw Error("scaler " + words() + ": " + values[i].first + ": " + requests::shortest(value) + ": " + wrong);
  for (std::size_t i = 0; i < values.size(); ++i)
    std::visit(
        [&](auto* pointer) {
          using T = std::remove_pointer_t<decltype(pointer)>;
          if constexpr (requires { pointer->begin(); })
            for (std::size_t j = 0; j < pointer->size(); ++j) (*pointer)[j] = static_cast<float>(values[i].second[j]);
          else
            *pointer = static_cast<T>(values[i].second.front());
        },
        state.all()[i].second);
}

const std::vector<ScalerKind>& scaler_kinds() {
  static const std::vector<ScalerKind> all = [] {
    std::vector<ScalerKind> kinds;
    for (const RuleMaker& maker : makers()) {
      const std::unique_ptr<ScalerRule> rule = maker.make();
      requests::Fields fields;
      rule->describe(fields);
      ScalerKind kind{maker.name, maker.help, maker.source, {}};
      for (const requests::Field& field : fields) {
        const std::vector<std::string> words = field.words();
        kind.parameters.push_back({field.name, words.empty() ? field.is_flag() ? "false" : "" : words.front(), field.help});
      }
      kinds.push_back(std::move(kind));
    }
    return kinds;
  }();
  return all;
}

std::vector<std::string> split_scalers(const std::string& words) {
  std::vector<std::string> scalers;
  for (std::string rest = words; !rest.empty();) {
    auto [first, others] = cut(rest, ',');
    const std::size_t key = static_cast<std::size_t>(
        std::find_if(first.begin(), first.end(), [](unsigned char c) { return std::isalnum(c) == 0 && c != '_'; }) -
        first.begin());
    if (!scalers.empty() && key > 0 && key < first.size() && first[key] == '=')
      scalers.back() += "," + first;
    else
      scalers.push_back(first);
    rest = std::move(others);
  }
  return scalers;
}

}  // namespace ulpscope::recipes
