// SPDX-License-Identifier: Apache-2.0
// Each word of help beside the list that it stands for.
#include "cli/choices.hpp"

#include <algorithm>
#include <array>
#include <sstream>
#include <string_view>

#include "cli/eval_words.hpp"
#include "emu/engines.hpp"
#include "emu/names.hpp"
#include "recipes/recipe.hpp"
#include "recipes/scaler.hpp"
#include "studies/census/scaling.hpp"
#include "verify/conform/computation.hpp"
#include "verify/conform/conform_presets.hpp"
#include "verify/generate/generate.hpp"
#include "verify/operations/elementwise.hpp"

namespace ulpscope::cli {
namespace {

using Words = std::vector<std::string>;

Words split(const std::string& text, char at) {
  Words words;
  std::istringstream stream(text);
  for (std::string word; std::getline(stream, word, at);) words.push_back(word);
  return words;
}

template <class Items, class Name>
Words names_of(const Items& items, Name name) {
  Words words;
  for (const auto& item : items) {
    const std::string word(item.*name);
    if (std::find(words.begin(), words.end(), word) == words.end()) words.push_back(word);
  }
  return words;
}

struct List {
  std::string_view value;  ///< as descriptions spell it
  Words (*words)();
};

const std::array<List, 14> lists{{{"F", emu::format_words},
                                  {"FORMAT", emu::format_words},
                                  {"R", emu::rounding_words},
                                  {"E", emu::engine_names},
                                  {"ENGINE", emu::engine_names},
                                  {"SCALE", studies::scaling_words},
                                  {"RECIPE", [] { return names_of(recipes::recipe_presets(), &requests::BuiltInFile::name); }},
                                  {"SCALER", [] { return names_of(recipes::scaler_kinds(), &recipes::ScalerKind::name); }},
                                  {"OPERATION", [] { return split(operation_words(" "), ' '); }},
                                  {"OP", verify::unary_operation_words},
                                  {"PRESET", [] { return names_of(verify::presets(), &verify::Preset::name); }},
                                  {"SHELL", [] { return Words{"bash", "zsh", "fish"}; }},
                                  {"FUNCTION", verify::elementwise_words},
                                  {"KIND", [] { return names_of(verify::case_kinds(), &verify::CaseKind::name); }}}};

constexpr std::string_view files = " FILE FILE.csv FILE.svg IN INPUT OUT D.npy LIB.so A B C Q K V X W REF OLD NEW LEDGER S ";

}  // namespace

Choices choices_of(const std::string& value) {
  const std::string base = value.substr(0, value.find_first_of(",["));
  Choices choices{.name = base};
  choices.list = value.find(',') != std::string::npos;
  if (base == "DIR") choices.kind = ChoiceKind::folders;
  if (files.find(" " + base + " ") != std::string_view::npos) choices.kind = ChoiceKind::files;
  for (const List& list : lists)
    if (list.value == base) choices.kind = ChoiceKind::words, choices.words = list.words();
  if (base.find('|') == std::string::npos) return choices;
  choices.kind = ChoiceKind::words;
  choices.name.clear();
  for (const std::string& word : split(base, '|')) {
    if (word == "FILE") return {.kind = ChoiceKind::files};
    choices.words.push_back(word);
  }
  return choices;
}

}  // namespace ulpscope::cli
