// SPDX-License-Identifier: Apache-2.0
// The page of a study: what is seen, in sentences, the figure, and a table.
#pragma once

#include <string>
#include <vector>

#include "reports/gnuplot.hpp"
#include "reports/table.hpp"

namespace ulpscope::reports {

/// A report with one figure and one table.
struct StudyPage {
  std::string title;                         ///< the heading
  std::string settings;                      ///< what was done, in words
  std::vector<std::string> sentences;        ///< what is seen
  FigureScript figure;                       ///< no commands: none
  std::string figure_title, figure_caption;  ///< above the figure
  Table table;                               ///< every row
  std::string command;                       ///< reproduces the page
};

/// Self-contained, as reports/page.hpp.
std::string to_html(const StudyPage& page);

}  // namespace ulpscope::reports
