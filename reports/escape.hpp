// SPDX-License-Identifier: Apache-2.0
// Text of the outside world made harmless in JSON, HTML and on a terminal.
#pragma once

#include <string>
#include <string_view>

namespace ulpscope::reports {

/// The quoted JSON string; bytes that are not UTF-8 become U+FFFD.
std::string json_string(const std::string& text);

/// For HTML text and quoted attribute values; control characters become U+FFFD.
std::string html_escaped(std::string_view text);

/// Control characters as backslash, x and two hexadecimal digits, so that a name cannot move the cursor or break a line.
std::string terminal_escaped(std::string_view text);

}  // namespace ulpscope::reports
