// SPDX-License-Identifier: Apache-2.0
// Signal to rounding noise as a heat map: a column for each format.
#pragma once

#include <string>
#include <vector>

#include "reports/page.hpp"

namespace ulpscope::studies {

/// One cell of the map.
struct SqnrCell {
  std::string row, title;  ///< the head of its row, short and whole
  std::string column;      ///< a format
  double sqnr_db;          ///< in decibels; may be infinite or NaN
  std::string note;        ///< behind the number, in the tooltip
};

/// Rows and columns in the order in which they come; of several cells of a place the one of most decibels is shown.
reports::HeatMap sqnr_heat_map(const std::vector<SqnrCell>& cells);

/// Of census.csv, or a table with more columns in front: a row for each tensor and scale.
std::vector<reports::Figure> census_figures(const reports::Table& table);

}  // namespace ulpscope::studies
