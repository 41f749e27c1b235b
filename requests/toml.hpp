// SPDX-License-Identifier: Apache-2.0
// TOML 1.0 as plain data that knows its lines, so that an error names its line, and requests set from it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "requests/field.hpp"

namespace ulpscope::requests {

/// Bytes of a file that people write: most have some thousand. In memory they become up to 160 times as many, where parts of
/// dotted keys are as short as can be.
inline constexpr std::size_t most_toml = std::size_t{1} << 22;

struct TomlValue;

/// The keys of a table, in the order of the file.
struct TomlTable {
  std::vector<std::pair<std::string, TomlValue>> entries;  ///< keys and values

  /// The value of a key, or null.
  const TomlValue* find(std::string_view key) const;
};

/// A value and where it stands.
struct TomlValue {
  using List = std::vector<TomlValue>;                                                   ///< values of an array
  std::variant<bool, std::int64_t, double, std::string, List, TomlTable> value = false;  ///< as TOML has it
  std::shared_ptr<const std::string> file = {};                                          ///< what errors call it
  std::size_t line = 0;                                                                  ///< from 1

  /// `study.toml:12`. @pre it was parsed
  std::string place() const { return *file + ":" + std::to_string(line); }
  /// Whether it is an array.
  bool is_list() const { return std::holds_alternative<List>(value); }
  /// Whether it is a table.
  bool is_table() const { return std::holds_alternative<TomlTable>(value); }
  /// @pre is_list()
  const List& list() const { return std::get<List>(value); }
  /// @pre is_table()
  const TomlTable& table() const { return std::get<TomlTable>(value); }
};

/// A file of at most so many bytes as a table. @throws ulpscope::Error with file and line where it cannot be read or is no
/// TOML, or has dates, which nothing here asks for
TomlValue read_toml(const std::string& path, std::size_t most = most_toml);
/// The same of text; `name` stands for the file in what is said of errors.
TomlValue parse_toml(std::string_view text, const std::string& name);

/// Sets a field: a flag from a boolean, a number from a number, words from text or a number as it is written, a list from an
/// array.
/// @throws ulpscope::Error with file, line, key and what is right there
void set_from(Field& field, const TomlValue& value);

/// Sets the fields that a table names, except the keys in `others`. Keys that name no field of Scope::result, and fields that
/// are needed and not there, are refused. @throws ulpscope::Error with file and line, naming the nearest keys
void set_from(Fields& fields, const TomlValue& table, const std::vector<std::string>& others);

/// `key = value` lines that set_from() turns into the same fields: those whose values are not the standard ones.
std::string to_toml(const Fields& fields, const Fields& standard);

}  // namespace ulpscope::requests
