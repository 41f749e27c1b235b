// SPDX-License-Identifier: Apache-2.0
// What is in a tensor: its range, and how many elements are special.
#pragma once

#include <vector>

#include "reports/table.hpp"
#include "studies/study.hpp"
#include "tensors/tensor.hpp"

namespace ulpscope::studies {

/// One row per tensor: name, dtype, shape, count, min, max (finite), min_abs (nonzero), and counts of zero, subnormal (in its
/// own dtype), infinite, nan; of a dtype that is not known, all but the first four are nan. -0 is below +0 (IEEE 754-2019,
/// 9.6: minimum). Each tensor is read once, in pieces, on so many threads (0: all), of which nothing depends.
reports::Table info_table(const std::vector<tensors::Tensor>& tensors, int threads = 0, const Progress& progress = {});

/// The first four of these columns: what headers say. No element is read.
reports::Table header_table(const std::vector<tensors::Tensor>& tensors);

}  // namespace ulpscope::studies
