// SPDX-License-Identifier: Apache-2.0
// Which word of a command line is not known, and what is nearest to it. CLI11 would speak of what is missing instead, in words
// that differ between its versions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/description.hpp"

namespace ulpscope::cli {

/// A sentence about the first word that names no command and no option; nothing where all are known.
std::optional<std::string> unknown_word(const CommandDescription& program, const std::vector<std::string>& arguments);

}  // namespace ulpscope::cli
