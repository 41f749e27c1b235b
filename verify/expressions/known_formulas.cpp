// SPDX-License-Identifier: Apache-2.0
// The build makes one source of their files.
#include "verify/expressions/known_formulas.hpp"

#include <variant>

#include "requests/built_in_file.hpp"
#include "requests/toml.hpp"

namespace ulpscope::verify {

/// verify/expressions/library/*.toml; made by the build.
const std::vector<requests::BuiltInFile>& formula_files();

const std::vector<KnownFormula>& known_formulas() {
  static const std::vector<KnownFormula> all = [] {
    std::vector<KnownFormula> formulas;
    for (const requests::BuiltInFile& file : formula_files()) {
      const requests::TomlValue table = requests::parse_toml(file.text, std::string(file.name) + ".toml");
      formulas.push_back({std::string(file.name), requests::leading_comment(file.text),
                          std::get<std::string>(table.table().find("formula")->value)});
    }
    return formulas;
  }();
  return all;
}

std::string formula_text(const std::string& word) {
  for (const KnownFormula& known : known_formulas())
    if (known.name == word) return known.formula;
  return word;
}

}  // namespace ulpscope::verify
