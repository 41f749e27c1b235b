// SPDX-License-Identifier: Apache-2.0
// Zeros that fill up the blocks of an operand's scales and are nowhere in memory.
#pragma once

#include <cstddef>

namespace ulpscope::training {

/// What belongs to numbers that are stored beside those that are there. Lines that zeros fill up have a multiple of 8 numbers
/// then.
struct Padding {
  std::size_t line = 0;   ///< numbers of a line that are there; 0: the numbers are no lines
  std::size_t zeros = 0;  ///< behind all lines, and lines of them
};

}  // namespace ulpscope::training
