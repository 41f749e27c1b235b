// SPDX-License-Identifier: Apache-2.0
// What the scripts for all shells have in common.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/description.hpp"

namespace ulpscope::cli {

/// Words with a blank between them.
std::string joined(const std::vector<std::string>& words);

/// In single quotes, as bash and zsh read them.
std::string shell_quoted(const std::string& text);

/// The lists of words that have a name, by name.
std::map<std::string, std::vector<std::string>> shared_lists(const std::vector<const CommandDescription*>& commands);

}  // namespace ulpscope::cli
