// SPDX-License-Identifier: Apache-2.0
// The style sheet of a page.
#pragma once

#include <string>

namespace ulpscope::reports {

/// Bars in cells of tables have this many lengths, classes w1 to w24; w0 is none.
inline constexpr int bar_lengths = 24;

/// Light, dark by the reader's preference, and print. Loads nothing.
std::string style_sheet();

/// The part of it that gives each colour of a figure its dark counterpart.
std::string dark_figures();

}  // namespace ulpscope::reports
