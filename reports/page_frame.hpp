// SPDX-License-Identifier: Apache-2.0
// What every page has around its content: head, title, the command that makes it again.
#pragma once

#include <string>

namespace ulpscope::reports {

/// A whole document; `main` is HTML, all else text. No settings, no command: none are shown.
std::string page_frame(const std::string& title, const std::string& settings, const std::string& main,
                       const std::string& command);

}  // namespace ulpscope::reports
