// SPDX-License-Identifier: Apache-2.0
// Pages as HTML, and their figures as files.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "reports/directory.hpp"
#include "reports/page.hpp"

namespace ulpscope::reports {

/// The page, self-contained: nothing is loaded, light and dark. Its one script sorts and filters; all is there without it.
std::string to_html(const Page& page);

/// The content of a page: what to_html() frames.
std::string blocks_html(const std::vector<Block>& blocks);

/// NAME.svg of each figure that has a name: name and content. Light, on a white ground.
std::vector<std::pair<std::string, std::string>> figure_files(const Page& page);
std::vector<std::pair<std::string, std::string>> figure_files(const std::vector<Figure>& figures);

/// write_report() of the page as HTML, its figures as files, and `provenance.texts`. @throws ulpscope::Error
void write_page_report(const std::string& directory, const std::vector<Table>& tables, const Page& page, Provenance provenance);

}  // namespace ulpscope::reports
