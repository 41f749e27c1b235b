// SPDX-License-Identifier: Apache-2.0
// A field's value to words and back, whatever its type.
#include "requests/field.hpp"

#include <algorithm>
#include <charconv>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "emu/error.hpp"

namespace ulpscope::requests {
namespace {

template <class T>
struct is_optional : std::false_type {};
template <class T>
struct is_optional<std::optional<T>> : std::true_type {};
template <class T>
struct is_vector : std::false_type {};
template <class T>
struct is_vector<std::vector<T>> : std::true_type {};

/// The type of one value: of a list its elements'.
template <class T>
struct one_of {
  using type = T;
};
template <class T>
struct one_of<std::optional<T>> : one_of<T> {};
template <class T>
struct one_of<std::vector<T>> : one_of<T> {};

/// Calls `act` with a null pointer to the type of the field's values.
template <class Act>
auto with_type(const Variable& variable, Act act) {
  return std::visit(
      [&](auto* pointer) {
        return act(static_cast<typename one_of<std::remove_pointer_t<decltype(pointer)>>::type*>(nullptr));
      },
      variable);
}

std::string word_of(const std::string& value) { return value; }
std::string word_of(bool) { return "true"; }

template <class Number>
std::string word_of(Number value) {
  char text[64];
  return {text,
          std::to_chars(std::begin(text), std::end(text), value).ptr};  // of a double the shortest that reads back as the same
}

template <class T>
T read(const Field& field, std::string word) {
  if constexpr (std::is_same_v<T, std::string>) {
    return word;
  } else if constexpr (std::is_same_v<T, bool>) {
    if (word != "true" && word != "false") throw Error(field.option() + ": '" + word + "': give true or false");
    return word == "true";
  } else {
    constexpr bool real = std::is_same_v<T, double>;
    const std::string wrong = real ? read_real(word, field.real_bounds.value_or(RealBounds{}))
                                   : read_whole(word, field.whole_bounds.value_or(WholeBounds{}));
    if (!wrong.empty()) throw Error(field.option() + ": " + wrong);
    if constexpr (real)
      return real_of(word);
    else
      return static_cast<T>(std::stoull(word));
  }
}

}  // namespace

bool Field::is_list() const {
  return std::visit([](auto* pointer) { return is_vector<std::remove_pointer_t<decltype(pointer)>>::value; }, variable);
}

bool Field::is_whole() const {
  return with_type(variable, [](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    return std::is_same_v<T, int> || std::is_same_v<T, std::uint64_t>;
  });
}

bool Field::is_real() const {
  return with_type(variable, [](auto* type) { return std::is_same_v<std::remove_pointer_t<decltype(type)>, double>; });
}

std::string Field::option() const {
  if (is_input()) return input;
  if (!short_option.empty()) return short_option;
  std::string text = "--" + name;
  std::replace(text.begin(), text.end(), '_', '-');
  return text;
}

std::vector<std::string> Field::words() const {
  return std::visit(
      [](const auto* pointer) -> std::vector<std::string> {
        using T = std::remove_cv_t<std::remove_pointer_t<decltype(pointer)>>;
        if constexpr (std::is_same_v<T, bool>) {
          if (!*pointer) return {};
          return {word_of(true)};
        } else if constexpr (is_optional<T>::value) {
          if (!*pointer) return {};
          return {word_of(**pointer)};
        } else if constexpr (is_vector<T>::value) {
          std::vector<std::string> words;
          for (const auto& one : *pointer) words.push_back(word_of(one));
          return words;
        } else if constexpr (std::is_same_v<T, std::string>) {
          if (pointer->empty()) return {};
          return {*pointer};
        } else {
          return {word_of(*pointer)};
        }
      },
      variable);
}

void Field::set(const std::vector<std::string>& words) {
  if (!is_list() && words.size() != 1) throw Error(option() + ": " + std::to_string(words.size()) + " values; give one");
  if (check)
    for (const std::string& word : words) check(word);
  std::visit(
      [&](auto* pointer) {
        using T = std::remove_pointer_t<decltype(pointer)>;
        using One = typename one_of<T>::type;
        if constexpr (is_vector<T>::value) {
          pointer->clear();
          for (const std::string& word : words) pointer->push_back(read<One>(*this, word));
        } else {
          *pointer = read<One>(*this, words.front());
        }
      },
      variable);
}

Field& Field::shown() {
  standard.clear();
  for (const std::string& word : words()) standard += (standard.empty() ? "" : ",") + word;
  return *this;
}

const Field* Fields::find(std::string_view name) const {
  const auto found = std::find_if(fields_.begin(), fields_.end(), [&](const Field& field) { return field.name == name; });
  return found == fields_.end() ? nullptr : &*found;
}

Field* Fields::find(std::string_view name) { return const_cast<Field*>(std::as_const(*this).find(name)); }

Field& Fields::at(std::string_view name) {
  Field* const field = find(name);
  if (field == nullptr) throw std::out_of_range("no field " + std::string(name));
  return *field;
}

void Fields::remove(std::string_view name) {
  std::erase_if(fields_, [&](const Field& field) { return field.name == name; });
}

std::vector<std::string> words_of(const Fields& fields, const Fields& standard) {
  std::vector<std::string> words, options;
  for (const Field& field : fields) {
    const std::vector<std::string> values = field.words();
    const Field* const usual = standard.find(field.name);
    if (field.scope != Scope::result || (usual != nullptr && values == usual->words())) continue;
    if (field.is_input()) {
      words.insert(words.end(), values.begin(), values.end());
    } else if (field.is_flag()) {
      options.push_back(field.option());
    } else if (field.is_list() && (field.form == ListForm::commas || field.form == ListForm::either)) {
      std::string joined;
      for (const std::string& value : values) joined += (joined.empty() ? "" : ",") + value;
      options.insert(options.end(), {field.option(), joined});
    } else {
      for (const std::string& value : values) options.insert(options.end(), {field.option(), value});
    }
  }
  words.insert(words.end(), options.begin(), options.end());
  return words;
}

}  // namespace ulpscope::requests
