// SPDX-License-Identifier: Apache-2.0
// Requests from the words of a command line, where no command is declared: the way back from words_of().
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "requests/field.hpp"

namespace ulpscope::requests {

/// The words of a line, with blanks between them; quotes, single or double, keep what is inside together and nothing else has a
/// meaning: no shell reads it. `said` begins errors. @throws ulpscope::Error where a quote is open
std::vector<std::string> split_words(std::string_view text, const std::string& said);

/// Sets fields from what stands behind `ulpscope COMMAND`: inputs in their order, options with their values.
/// @throws ulpscope::Error in one line that names the word, or the option as Field::set()
void set_words(Fields& fields, std::span<const std::string> words);

}  // namespace ulpscope::requests
