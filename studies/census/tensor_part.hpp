// SPDX-License-Identifier: Apache-2.0
// What a report on a tensor needs to know of a part of it: parts of one tensor, measured anywhere, make the whole.
#pragma once

#include <optional>
#include <vector>

#include "studies/census/block_sums.hpp"
#include "studies/census/census.hpp"
#include "studies/census/census_page.hpp"
#include "studies/census/sweep.hpp"

namespace ulpscope::studies {

/// Measurements of a part of a tensor.
struct TensorPart {
  std::vector<PartialSums> census;    ///< one each format
  std::vector<PartialSums> sweep;     ///< one each format and scale, by format
  ExponentCounts exponents;           ///< of the part
  std::vector<double> tensor_scales;  ///< one each format: the scale of the whole tensor, where the rule has one; else 1
  std::vector<BlockSums> blocks;      ///< one each format, of a part that is measured for these: the sums above are none
  std::optional<double> amax;         ///< of such a part, and of one that is measured for this alone: the largest magnitude

  /// Adds what follows in the tensor.
  void merge(const TensorPart& next);
};

/// Measures a part of a tensor: what gather() says of the whole. Scales of the whole tensor are found in all of it.
TensorPart measure(const tensors::Tensor& tensor, const Scaling& scaling, const std::optional<ScaleRange>& range,
                   const CensusConfig& config, const ElementRange& part);

/// Measures the blocks that begin in a part of a tensor, alone.
TensorPart measure_blocks(const tensors::Tensor& tensor, const Scaling& scaling, const CensusConfig& config,
                          const ElementRange& part);

/// The largest magnitude that a part has met. Precondition: it is of some format.
double magnitude_met(const TensorPart& part);

/// What is known of a tensor all parts of which are in `whole`.
TensorResults results_of(const tensors::Tensor& tensor, const TensorPart& whole, const std::vector<emu::Format>& formats,
                         const std::optional<ScaleRange>& range);

}  // namespace ulpscope::studies
