// SPDX-License-Identifier: Apache-2.0
// The ranking as a heat map: a row for each tensor, a column for each format and its best scale.
#include "reports/columns.hpp"
#include "studies/census/sqnr_heat_map.hpp"
#include "studies/quantization/quantization.hpp"

namespace ulpscope::studies {

std::vector<reports::Figure> quantization_figures(const std::vector<reports::Table>& tables) {
  const reports::Columns columns(tables.front());
  std::vector<SqnrCell> cells;
  for (const auto& row : tables.front().rows) {
    const std::string tensor = columns.text(row, "tensor");
    cells.push_back({.row = tensor.substr(tensor.rfind('/') + 1),
                     .title = tensor,
                     .column = columns.text(row, "format"),
                     .sqnr_db = columns.number(row, "sqnr_db"),
                     .note = ", scale " + columns.text(row, "scale")});
  }
  return {{.name = "formats",
           .title = "Signal to rounding noise of each tensor in each format under its best scale, in dB",
           .caption =
               "Formats from the most bits to the fewest, the best of the first tensor first. The scale of a cell is in its "
               "tooltip.",
           .description = "A row for each tensor, a column for each format.",
           .data = sqnr_heat_map(cells)}};
}

}  // namespace ulpscope::studies
