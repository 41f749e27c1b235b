// SPDX-License-Identifier: Apache-2.0
// The words of `ulpscope eval`, and what it says of a line that it cannot use.
#pragma once

#include <string>
#include <string_view>

#include "cli/eval_lines.hpp"

namespace ulpscope::cli {

/// Case is ignored, `-` and `_` are alike. @throws ulpscope::Error naming the closest known words.
Operation parse_operation(const std::string& word);
emu::Tininess parse_tininess(const std::string& word);

/// The names of all operations.
std::string operation_words(std::string_view separator);

/// Why evaluate_lines() refused `line`, which comes without its newline, and what would be right.
std::string what_is_wrong(const Evaluation& evaluation, std::string_view line);

}  // namespace ulpscope::cli
