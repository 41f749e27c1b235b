// SPDX-License-Identifier: Apache-2.0
#include "reports/page.hpp"

#include "reports/escape.hpp"

namespace ulpscope::reports {

std::string to_html(const Page& page) { return "<!doctype html><title>" + html_escaped(page.title) + "</title>\n"; }

}  // namespace ulpscope::reports
