// SPDX-License-Identifier: Apache-2.0
// The largest magnitude of each tensor in one checkpoint after the other: what delayed scaling goes by.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reports/table.hpp"
#include "studies/census/census_request.hpp"
#include "studies/kept_rows.hpp"
#include "studies/study.hpp"
#include "tensors/tensor.hpp"

namespace ulpscope::studies {

/// A tensor, or a group of them, in one checkpoint.
struct AmaxHistoryRow {
  std::string tensor;         ///< its name, or `group:NAME`, `all`
  std::string input;          ///< the checkpoint, as typed
  std::uint64_t place = 0;    ///< of the checkpoint among the inputs, from 0
  std::uint64_t count = 0;    ///< elements
  double amax = 0;            ///< as amax_of() has it
  double amax_before = 0;     ///< the largest of the checkpoints before this one that have it; nan: there is none
  double growth_binades = 0;  ///< log2(amax / amax_before): beyond 0, a scale from the history alone overflows; nan: unknown
};

/// Rows of each tensor in the order of the checkpoints; tensors, by name, in the order in which they are first met, then
/// groups. Inputs are checkpoints, oldest first. Magnitudes are kept by `open_kept`, a row for each tensor of each checkpoint.
/// @throws ulpscope::Error where there are fewer than two
std::vector<AmaxHistoryRow> amax_history(const CensusRequest& request, std::vector<std::string>& remarks,
                                         const Progress& progress, const OpenKeptRows& open_kept = {});

/// history.csv.
reports::Table amax_history_table(const std::vector<AmaxHistoryRow>& rows);

}  // namespace ulpscope::studies
