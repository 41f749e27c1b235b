// SPDX-License-Identifier: Apache-2.0
// Numbers rounded to a narrow format with the scales of a mode, as one would to multiply them well.
#pragma once

#include "gpu/library_scales.hpp"
#include "studies/devices/product_operands.hpp"

namespace ulpscope::studies {

/// A matrix of codes and the scales that undo theirs.
struct ScaledOperand {
  OwnMatrix matrix, scales;  ///< of numbers divided by their scales; as gpu::scale_extent() says
};

/// Each scale is the greatest magnitude of its numbers divided by the greatest number of `format`, rounded to the scale's
/// format: e8m0 upward, so that nothing overflows, others to nearest; 1 where that is 0. `numbers`: float32.
ScaledOperand scaled_operand(emu::Format format, gpu::ScaleMode mode, gpu::OperandSide side, const OwnMatrix& numbers);

}  // namespace ulpscope::studies
