// SPDX-License-Identifier: Apache-2.0
// How two checkpoints differ: tensor by tensor, by name.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "reports/table.hpp"
#include "studies/diff/diff.hpp"
#include "studies/kept_rows.hpp"
#include "studies/study.hpp"
#include "tensors/tensor.hpp"

namespace ulpscope::studies {

/// A tensor that is on one side alone, or cannot be compared.
struct Unmatched {
  std::string tensor;   ///< its label
  std::string problem;  ///< `missing`, `added`, `renamed`, `shape` or `unknown dtype`
  std::string note;     ///< the other name, or the two shapes
};

/// The differences of two checkpoints.
struct CheckpointDiff {
  std::vector<DiffResult> differences =
      {};                                 ///< of tensors of the same name, or renamed: the worst first (sqnr_db), then by name
  std::vector<Unmatched> unmatched = {};  ///< the others, and renamed ones
  std::vector<tensors::Tensor> same_bytes = {};  ///< of a dtype that is not known, and the same on both sides: in neither
};

/// Compares tensors of the same name, in ulps of `format`, or of format_of_ulps() of each two. One that is missing in the
/// output and has the shape and the numbers of just one that was added is taken as renamed. What has no values is compared by
/// its bytes. What was compared before is not compared again where `open_kept` is given: rows are pairs, their tensors one
/// after the other.
/// @throws ulpscope::Error where two tensors of one side have the same name
CheckpointDiff diff_checkpoints(const std::vector<tensors::Tensor>& reference, const std::vector<tensors::Tensor>& output,
                                std::optional<emu::Format> format, const Tolerance& tolerance, const Progress& progress,
                                const OpenKeptRows& open_kept = {});

/// diff.csv, a row for each tensor.
reports::Table diff_table(const CheckpointDiff& result);
/// unmatched.csv.
reports::Table unmatched_table(const CheckpointDiff& result);

}  // namespace ulpscope::studies
