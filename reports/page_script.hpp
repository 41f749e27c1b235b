// SPDX-License-Identifier: Apache-2.0
// The one script of a page: tables that sort, and a filter of their rows. Without it the page holds the same.
#pragma once

#include <string>

namespace ulpscope::reports {

/// The script of a page, in JavaScript: it sorts tables and filters their rows.
std::string page_script();

/// `'sha256-...'`: what a content security policy allows it by.
std::string page_script_source();

}  // namespace ulpscope::reports
