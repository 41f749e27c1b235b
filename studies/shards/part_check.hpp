// SPDX-License-Identifier: Apache-2.0
// Whether what a part tells of a tensor can be so of its elements: counts that add up, extremes that are there.
#pragma once

#include <string>

#include "studies/census/tensor_part.hpp"

namespace ulpscope::studies {

/// What cannot be so of the elements `range` of a tensor, in words that follow the tensor's label; empty where nothing is
/// contradicted. A piece has sums and exponents, or a largest magnitude, alone or with blocks. Precondition: the range begins
/// at a chunk.
std::string contradiction_in(const TensorPart& piece, const ElementRange& range);
/// The same of sums alone.
std::string contradiction_in(const PartialSums& sums, const ElementRange& range);

}  // namespace ulpscope::studies
