// SPDX-License-Identifier: Apache-2.0
// What is in a tensor: its range, and how many elements are special.
#pragma once

#include <vector>

#include "reports/table.hpp"
#include "tensors/tensor.hpp"

namespace ulpscope::studies {

/// One row per tensor: name, dtype, shape, count, min, max (finite), min_abs (nonzero), and counts of zero, subnormal (in its
/// own dtype), infinite, nan; of a dtype that is not known, all but the first four are nan. Each tensor is read once, in
/// pieces.
reports::Table info_table(const std::vector<tensors::Tensor>& tensors);

}  // namespace ulpscope::studies
