// SPDX-License-Identifier: Apache-2.0
// What a difference is told as: findings, and a figure.
#pragma once

#include <vector>

#include "reports/page.hpp"
#include "reports/table.hpp"
#include "studies/diff/diff_checkpoints.hpp"

namespace ulpscope::studies {

/// Whether anything differs beyond what may, which tensor is worst, and what has no like on the other side. `tolerance` as it
/// was asked for; empty: nothing may differ.
std::vector<reports::Finding> diff_findings(const CheckpointDiff& result, const std::string& tolerance);

/// Of diff.csv, or a table with more columns in front: by how many ulps elements are off, a row for each of the first 40
/// tensors.
std::vector<reports::Figure> diff_figures(const reports::Table& table);

}  // namespace ulpscope::studies
