// SPDX-License-Identifier: Apache-2.0
// Text of the outside world made harmless in JSON and HTML. What acts on readers and terminals is visible in both, as
// emu/visible.hpp says: whoever prints what a parser returns is not surprised.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ulpscope::reports {

/// The quoted JSON string of the visible text.
std::string json_string(std::string_view text);

/// For HTML and XML text, and quoted attribute values. Line feeds and tabs stay.
std::string html_escaped(std::string_view text);

/// What is longer than `most` bytes as its first and last 3/8 of these, in whole characters.
std::string without_middle(const std::string& text, std::size_t most);

}  // namespace ulpscope::reports
