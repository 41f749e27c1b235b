// SPDX-License-Identifier: Apache-2.0
// How quantities grow with a size: curves in panels that share their axes, both logarithmic.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "reports/gnuplot.hpp"

namespace ulpscope::reports {

/// Curves over one quantity, in rows of panels: how errors grow.
struct Growth {
  /// How a curve is drawn.
  enum class Dash { solid, dashed, dotted };
  /// A curve in every panel of a row.
  struct Line {
    std::string name;                    ///< in the legend
    std::size_t colour = 0;              ///< as palette::of_format()
    Dash dash = Dash::solid;             ///< of every stretch
    std::vector<std::vector<double>> y;  ///< by panel, then as `x`; what is not a positive number is not drawn
  };
  /// Panels with one y axis, and a legend below.
  struct Row {
    std::string title;        ///< above the panels
    std::vector<Line> lines;  ///< in the order of the legend
  };
  std::vector<double> x;            ///< positive, ascending
  std::string x_label;              ///< what x is
  std::vector<std::string> panels;  ///< titles
  std::vector<Row> rows;            ///< from the top
  std::string description;          ///< the figure in words
};

/// No x, panel or row: no commands.
FigureScript growth_figure(const Growth& growth);

}  // namespace ulpscope::reports
