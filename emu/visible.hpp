// SPDX-License-Identifier: Apache-2.0
// Text of the outside world made visible: names of tensors, of cases, of files come from others, and are printed on terminals
// and in the logs of CI systems, which obey what some characters say.
#pragma once

#include <string>
#include <string_view>

namespace ulpscope::emu {

/// Whether all of it is UTF-8 (RFC 3629).
bool is_utf8(std::string_view text);

/// Text in which nothing acts. As escapes appear:
/// - control characters: C0, DEL and C1 (ISO/IEC 6429), with which a terminal moves its cursor or runs a sequence, and which
/// begin
///   a new line: `\x1b`, and `\u009b` where UTF-8 has two bytes for it;
/// - bytes that are no UTF-8: a terminal of 8 bits takes 0x9b for a C1 control, and XML may not hold them: `\xff`;
/// - what changes the order in which text is read (Unicode UAX #9, explicit directional formatting and marks) and the two
///   separators that some readers take for the end of a line: `\u202e`;
/// - `##[` and `##word[`, which begin a command to GitHub, Azure and TeamCity anywhere in a line: `\x23#[`.
/// All else stays as it is. Escaped text is its own escaped text.
std::string visible(std::string_view text);

/// The same of lines of our own: line feeds and tabs stay, and a line that begins with `::`, as commands to GitHub do, begins
/// with
/// `\x3a:`.
std::string visible_lines(std::string_view text);

/// Whether a line that begins so is a command to GitHub: `::` behind any blanks.
bool is_command_line(std::string_view line);

}  // namespace ulpscope::emu
