// SPDX-License-Identifier: Apache-2.0
// What can be asked of a study or a check, said once. A request is a plain struct with a function describe(Fields&) that names
// each of its members: the command line, study files, the JSON schema and the printer of requests all read that description.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "requests/numbers.hpp"

namespace ulpscope::requests {

/// What a field decides.
enum class Scope : std::uint8_t {
  result,   ///< the numbers: it stands in study files, in manifests and in the command that reproduces a result
  machine,  ///< how they are computed, and no number: threads
  output    ///< where they go and how they are shown: on the command line alone
};

/// How a list is typed on the command line; in study files it is an array.
enum class ListForm : std::uint8_t {
  commas,    ///< `--to fp16,e4m3`
  repeated,  ///< `--scale-a s.npy --scale-a 0.5`
  either,    ///< `--in fp16,bf16` or `--in fp16 bf16`: of requests without inputs, which would be taken for values
  words      ///< one after the other: inputs
};

/// The member of a request that a field sets and reads.
using Variable = std::variant<bool*, int*, std::uint64_t*, double*, std::string*, std::optional<double>*,
                              std::optional<std::uint64_t>*, std::vector<std::string>*, std::vector<std::uint64_t>*>;

/// One member of a request.
struct Field {
  std::string name;               ///< the key of a study file: `log2_scale`. The option is option()
  Variable variable;              ///< what it sets and reads
  std::string help;               ///< a phrase
  std::string value = {};         ///< what stands for the value in help: `F,...`; by type where it is empty
  std::string input = {};         ///< of an input: what stands for it in help: `INPUT`
  std::string short_option = {};  ///< replaces option(): `-o`
  std::string standard = {};      ///< what help shows as the default; empty: nothing
  std::function<void(const std::string&)> check = {};  ///< throws ulpscope::Error for a word that means nothing
  std::optional<WholeBounds> whole_bounds = {};        ///< of a whole number; none: any
  std::optional<RealBounds> real_bounds = {};          ///< of a real number; none: any finite one
  ListForm form = ListForm::words;                     ///< how a list is typed
  Scope scope = Scope::result;                         ///< what it decides
  bool required = false;                               ///< a value must be given

  /// Whether it is typed without an option's name.
  bool is_input() const { return !input.empty(); }
  /// Whether it is an option without a value.
  bool is_flag() const { return std::holds_alternative<bool*>(variable); }
  /// Whether it may have several values.
  bool is_list() const;
  bool is_whole() const;  ///< its value, or each of its values, is a whole number
  /// Its value, or each of its values, is a number that need not be whole.
  bool is_real() const;

  /// `--log2-scale`; of an input the word that help has for it.
  std::string option() const;

  /// The values as words, in order; of a flag one word if it is set; none for an optional without value and for empty text.
  std::vector<std::string> words() const;
  /// Sets the variable. @throws ulpscope::Error in one line that begins with the option's name
  void set(const std::vector<std::string>& words);

  // For the description, which reads as one sentence: fields.add("promote", promote, "...").whole({.most = 4096}).shown();
  /// Sets the member of the same meaning, and gives the field back.
  ///@{
  Field& as_value(std::string word) { return value = std::move(word), *this; }
  Field& as_input(std::string word) { return input = std::move(word), *this; }
  Field& as_commas() { return form = ListForm::commas, *this; }
  Field& as_either() { return form = ListForm::either, *this; }
  Field& as_repeated() { return form = ListForm::repeated, *this; }
  Field& in(Scope of) { return scope = of, *this; }
  Field& needed() { return required = true, *this; }
  Field& whole(WholeBounds bounds = {}) { return whole_bounds = bounds, *this; }
  Field& real(RealBounds bounds = {}) { return real_bounds = bounds, *this; }
  Field& checked(std::function<void(const std::string&)> by) { return check = std::move(by), *this; }
  Field& shown_as(std::string words) { return standard = std::move(words), *this; }
  ///@}
  Field& shown();  ///< help shows as the default what the variable holds now
};

/// The fields of one request, in the order of its description. It refers to the request, which must outlive it.
class Fields {
 public:
  /// Adds a field of this name for `variable`.
  template <class T>
  Field& add(std::string name, T& variable, std::string help) {
    fields_.push_back({.name = std::move(name), .variable = &variable, .help = std::move(help)});
    return fields_.back();
  }
  /// Whether there is a field of this name.
  bool has(std::string_view name) const { return find(name) != nullptr; }
  /// The field of this name, or null.
  const Field* find(std::string_view name) const;
  Field* find(std::string_view name);
  /// @throws std::out_of_range
  Field& at(std::string_view name);
  /// Removes a field; unknown names are ignored.
  void remove(std::string_view name);

  /// In the order of the description.
  ///@{
  auto begin() { return fields_.begin(); }
  auto end() { return fields_.end(); }
  auto begin() const { return fields_.begin(); }
  auto end() const { return fields_.end(); }
  ///@}

 private:
  std::deque<Field> fields_;  // which moves none when another is added
};

/// The fields of a request. `request` must outlive them.
template <class Request>
Fields fields_of(Request& request) {
  Fields fields;
  request.describe(fields);
  return fields;
}

/// The words behind `ulpscope COMMAND` that ask for these fields: inputs, then the options whose values are not the standard
/// ones, of Scope::result alone.
std::vector<std::string> words_of(const Fields& fields, const Fields& standard);

/// The words that ask for what `request` asks, where it differs from a new one.
template <class Request>
std::vector<std::string> words_of(Request request) {
  Request standard;
  return words_of(fields_of(request), fields_of(standard));
}

}  // namespace ulpscope::requests
