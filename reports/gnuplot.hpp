// SPDX-License-Identifier: Apache-2.0
// Figures drawn by the program gnuplot, as SVG that can stand inside an HTML page.
#pragma once

#include <string>
#include <vector>

namespace ulpscope::reports {

/// A figure as gnuplot's commands.
struct FigureScript {
  int width = 0;            ///< in units of SVG
  int height = 0;           ///< in units of SVG
  std::string commands;     ///< draw one figure
  std::string description;  ///< the figure in words, for those who do not see it
};

/// What gnuplot drew.
struct Drawings {
  std::vector<std::string> svgs;  ///< one per script, or none
  std::string problem;            ///< why there are none, in a sentence that says what to do
};

/// Runs one gnuplot for all scripts.
Drawings draw(const std::vector<FigureScript>& scripts);

/// gnuplot's SVG document made ready for a page: no prolog, names, ids or symbol definitions (they would clash between figures
/// of a page), black becomes the colour of the text around it.
std::string inline_svg(const std::string& document, const std::string& description);

/// `text` as a gnuplot string: what gnuplot could take for syntax becomes `?`.
std::string gnuplot_string(const std::string& text);

}  // namespace ulpscope::reports
