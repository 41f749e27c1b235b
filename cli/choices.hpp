// SPDX-License-Identifier: Apache-2.0
// What may stand where a command's description has a word such as F or FILE: for the completion of shells.
#pragma once

#include <string>
#include <vector>

namespace ulpscope::cli {

enum class ChoiceKind : unsigned char { nothing, words, files, folders };

struct Choices {
  ChoiceKind kind = ChoiceKind::nothing;
  std::string name = {};                ///< of the list, where many options have the same: `F`
  std::vector<std::string> words = {};  ///< where `kind` is words
  bool list = false;                    ///< several, separated by commas
};

/// `F,...` is any format, `last|all` are two words, `DIR` is a folder.
Choices choices_of(const std::string& value);

}  // namespace ulpscope::cli
