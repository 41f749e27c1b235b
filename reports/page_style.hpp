// SPDX-License-Identifier: Apache-2.0
// The style sheet of a page.
#pragma once

#include <string>

namespace ulpscope::reports {

/// Light, dark by the reader's preference, and print. Loads nothing.
std::string style_sheet();

/// The part of it that gives each colour of a figure its dark counterpart.
std::string dark_figures();

}  // namespace ulpscope::reports
