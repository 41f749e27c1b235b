// SPDX-License-Identifier: Apache-2.0
// A text file that comes with the program: a study, a recipe.
#pragma once

#include <string>
#include <string_view>

namespace ulpscope::requests {

/// A file that was compiled in.
struct BuiltInFile {
  std::string_view name;  ///< without its ending
  std::string_view text;  ///< all of it
};

/// The comment (lines that begin with `#`) that a text begins with, in one line.
std::string leading_comment(std::string_view text);

}  // namespace ulpscope::requests
