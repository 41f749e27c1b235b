// SPDX-License-Identifier: Apache-2.0
// Splits a line into words, and deals words out to fields.
#include "requests/words.hpp"

#include <algorithm>
#include <map>
#include <sstream>
#include <utility>

#include "emu/error.hpp"

namespace ulpscope::requests {
namespace {

/// The values that one word of the command line has for a field.
std::vector<std::string> values_in(const Field& field, const std::string& word) {
  if (!field.is_list() || (field.form != ListForm::commas && field.form != ListForm::either)) return {word};
  std::vector<std::string> values;
  std::istringstream stream(word);
  for (std::string value; std::getline(stream, value, ',');) values.push_back(value);
  return values;
}

}  // namespace

std::vector<std::string> split_words(std::string_view text, const std::string& said) {
  std::vector<std::string> words;
  char quote = 0;
  bool inside = false;  // of a word, which quotes may leave empty
  for (const char c : text) {
    const bool blank = c == ' ' || c == '\t' || c == '\n';
    if (quote != 0 && c == quote) {
      quote = 0;
    } else if (quote == 0 && blank) {
      inside = false;
    } else {
      if (!inside) words.emplace_back();
      inside = true;
      if (quote == 0 && (c == '\'' || c == '"')) {
        quote = c;
      } else {
        words.back() += c;
      }
    }
  }
  if (quote != 0) throw Error(said + "a quote is not closed");
  return words;
}

void set_words(Fields& fields, std::span<const std::string> words) {
  std::map<std::string, std::vector<std::string>> given;  // by field
  auto input = fields.begin();
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const auto option = std::find_if(fields.begin(), fields.end(),
                                     [&](const Field& field) { return !field.is_input() && field.option() == word; });
    if (option == fields.end() && word.starts_with("--")) throw Error("there is no option " + word);
    if (option == fields.end()) {
      input = std::find_if(input, fields.end(), [](const Field& field) { return field.is_input(); });
      if (input == fields.end()) throw Error("'" + word + "' is one word too many");
      given[input->name].push_back(word);
      if (!input->is_list()) ++input;
    } else if (option->is_flag()) {
      given[option->name] = {"true"};
    } else {
      if (i + 1 == words.size()) throw Error(word + ": give a value");
      for (std::string& value : values_in(*option, words[++i])) given[option->name].push_back(std::move(value));
    }
  }
  for (Field& field : fields)
    if (const auto values = given.find(field.name); values != given.end()) field.set(values->second);
}

}  // namespace ulpscope::requests
