// SPDX-License-Identifier: Apache-2.0
// Which numbers an attention's mask has written, of scores of each position by each.
#pragma once

#include <cstddef>

namespace ulpscope::training {

/// Matrices of so many rows and columns, one behind the other, of which a row hides the columns behind its own.
struct CausalMask {
  std::size_t rows = 0, columns = 0;  ///< 0: nothing is hidden

  /// Of the i-th number.
  bool hides(std::size_t i) const noexcept { return columns != 0 && i % columns > i / columns % rows; }
};

}  // namespace ulpscope::training
