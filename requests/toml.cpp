// SPDX-License-Identifier: Apache-2.0
// Reads TOML by toml++, and turns its values into those of fields.
#include "requests/toml.hpp"

#define TOML_HEADER_ONLY 1  // of its many users none has the compiled library at run time for it
// toml++ asserts what a file may break (`[[#`) a line before it says what is wrong there. No assertion ends the program, and
// none is made an assumption of Clang's, which is what it becomes with NDEBUG.
#undef NDEBUG
#define TOML_ASSERT(expr) static_assert(true)
#include <toml++/toml.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>
#include <type_traits>

#include "emu/error.hpp"
#include "emu/names.hpp"
#include "emu/suggestions.hpp"

namespace ulpscope::requests {
namespace {

/// Tables and arrays in each other deeper than this are refused: nothing that people write is.
constexpr int most_depth = 32;

std::string place_of(const std::string& name, const toml::source_region& source) {
  return name + ":" + std::to_string(source.begin.line);
}

TomlValue plain(const toml::node& node, const std::string& name, int depth) {
  TomlValue out{.value = false, .place = place_of(name, node.source())};
  if (depth > most_depth) throw Error(out.place + ": nested deeper than " + std::to_string(most_depth));
  node.visit([&](const auto& value) {
    using T = std::remove_cvref_t<decltype(value)>;
    if constexpr (std::is_same_v<T, toml::table>) {
      std::vector<std::pair<toml::source_position, std::pair<std::string, TomlValue>>> found;
      for (const auto& [key, item] : value)
        found.emplace_back(key.source().begin, std::pair(std::string(key.str()), plain(item, name, depth + 1)));
      std::sort(found.begin(), found.end(),
                [](const auto& x, const auto& y) { return x.first < y.first; });  // toml++ sorts by name
      TomlTable table;
      for (auto& [position, entry] : found) table.entries.push_back(std::move(entry));
      out.value = std::move(table);
    } else if constexpr (std::is_same_v<T, toml::array>) {
      TomlValue::List list;
      for (const toml::node& item : value) list.push_back(plain(item, name, depth + 1));
      out.value = std::move(list);
    } else {
      using Held = std::remove_cvref_t<decltype(*value)>;
      if constexpr (std::is_same_v<Held, bool> || std::is_same_v<Held, std::int64_t> || std::is_same_v<Held, double> ||
                    std::is_same_v<Held, std::string>)
        out.value = *value;
      else
        throw Error(out.place + ": dates and times mean nothing here");
    }
  });
  return out;
}

[[noreturn]] void refuse(const Field& field, const TomlValue& value, const std::string& wanted) {
  throw Error(value.place + ": " + field.name + ": give " + wanted);
}

std::string kind_of(const Field& field) {
  if (field.is_flag()) return "true or false";
  if (field.is_whole()) return "a whole number";
  if (field.is_real()) return "a number";
  return "text in quotes";
}

/// One value as the word that the command line would have.
std::string word_of(const Field& field, const TomlValue& value) {
  return std::visit(
      [&](const auto& held) -> std::string {
        using T = std::remove_cvref_t<decltype(held)>;
        if constexpr (std::is_same_v<T, std::string>) {
          if (field.is_flag() || field.is_whole() || field.is_real()) refuse(field, value, kind_of(field));
          return held;
        } else if constexpr (std::is_same_v<T, bool>) {
          if (!field.is_flag()) refuse(field, value, kind_of(field));
          return held ? "true" : "false";
        } else if constexpr (std::is_same_v<T, std::int64_t> || std::is_same_v<T, double>) {
          if (field.is_flag() || (field.is_whole() && std::is_same_v<T, double>)) refuse(field, value, kind_of(field));
          char text[64];
          return {text, std::to_chars(std::begin(text), std::end(text), held).ptr};
        } else {
          refuse(field, value, field.is_list() ? "an array of values" : kind_of(field));
        }
      },
      value.value);
}

std::string quoted(const std::string& text) {
  std::ostringstream out;
  out << toml::value<std::string>(text);
  return out.str();
}

std::string toml_word(const Field& field, const std::string& word) {
  return field.is_whole() || field.is_real() || field.is_flag() ? word : quoted(word);
}

}  // namespace

const TomlValue* TomlTable::find(std::string_view key) const {
  const auto found = std::find_if(entries.begin(), entries.end(), [&](const auto& entry) { return entry.first == key; });
  return found == entries.end() ? nullptr : &found->second;
}

TomlValue parse_toml(std::string_view text, const std::string& name) {
  try {
    return plain(toml::parse(text, name), name, 0);
  } catch (const toml::parse_error& error) {
    throw Error(place_of(name, error.source()) + ": " + std::string(error.description()));
  }
}

TomlValue read_toml(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error(path + ": cannot be read: " + std::strerror(errno));
  std::ostringstream text;
  text << file.rdbuf();
  if (file.bad() || text.fail())
    throw Error(path + ": cannot be read" + (errno != 0 ? std::string(": ") + std::strerror(errno) : ""));
  return parse_toml(text.view(), path);
}

void set_from(Field& field, const TomlValue& value) {
  std::vector<std::string> words;
  if (!value.is_list()) {
    words.push_back(word_of(field, value));
  } else if (!field.is_list()) {
    refuse(field, value, kind_of(field) + ", not an array");
  } else {
    for (const TomlValue& item : value.list()) words.push_back(word_of(field, item));
  }
  try {
    field.set(words);
  } catch (const Error& error) {
    throw Error(value.place + ": " + error.what());
  }
}

void set_from(Fields& fields, const TomlValue& table, const std::vector<std::string>& others) {
  std::vector<std::string> known;
  for (const Field& field : fields)
    if (field.scope == Scope::result) known.push_back(field.name);
  for (const auto& [key, value] : table.table().entries) {
    if (std::find(others.begin(), others.end(), key) != others.end()) continue;
    if (std::find(known.begin(), known.end(), key) == known.end())
      throw Error(value.place + ": unknown key '" + key +
                  "'; nearest: " + emu::comma_separated(emu::closest_words(key, known)));
    set_from(fields.at(key), value);
  }
  for (const Field& field : fields)
    if (field.required && field.scope == Scope::result && table.table().find(field.name) == nullptr)
      throw Error(table.place + ": " + field.name + " is missing: " + field.help);
}

std::string to_toml(const Fields& fields, const Fields& standard) {
  std::string text;
  for (const Field& field : fields) {
    const std::vector<std::string> words = field.words();
    const Field* const usual = standard.find(field.name);
    if (field.scope != Scope::result || (usual != nullptr && words == usual->words())) continue;
    text += field.name + " = ";
    if (field.is_list()) {
      text += "[";
      for (std::size_t i = 0; i < words.size(); ++i) text += (i == 0 ? "" : ", ") + toml_word(field, words[i]);
      text += "]";
    } else {
      text += words.empty() ? field.is_flag() ? "false" : "\"\"" : toml_word(field, words.front());
    }
    text += "\n";
  }
  return text;
}

}  // namespace ulpscope::requests
