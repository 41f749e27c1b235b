// SPDX-License-Identifier: Apache-2.0
// How quantities grow with a size: curves in panels that share their axes, both logarithmic.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "reports/gnuplot.hpp"

namespace ulpscope::reports {

struct Growth {
  enum class Dash { solid, dashed, dotted };
  struct Line {
    std::string name;
    std::size_t colour = 0;  ///< as palette::of_format()
    Dash dash = Dash::solid;
    std::vector<std::vector<double>> y;  ///< by panel, then as `x`; what is not a positive number is not drawn
  };
  /// Panels with one y axis, and a legend below.
  struct Row {
    std::string title;
    std::vector<Line> lines;
  };
  std::vector<double> x;  ///< positive, ascending
  std::string x_label;
  std::vector<std::string> panels;  ///< titles
  std::vector<Row> rows;
  std::string description;
};

/// No x, panel or row: no commands.
FigureScript growth_figure(const Growth& growth);

}  // namespace ulpscope::reports
