// SPDX-License-Identifier: Apache-2.0
// The formulas that come with the program: verify/expressions/library/*.toml.
#pragma once

#include <string>
#include <vector>

namespace ulpscope::verify {

/// A formula that comes with the program.
struct KnownFormula {
  std::string name;     ///< `swiglu`
  std::string about;    ///< what it computes, of which inputs
  std::string formula;  ///< its text
};
/// In alphabetical order.
const std::vector<KnownFormula>& known_formulas();

/// The text of a known formula, or the word itself, which is one.
std::string formula_text(const std::string& word);

}  // namespace ulpscope::verify
