// SPDX-License-Identifier: Apache-2.0
// Values beside every threshold of a conversion from float32, and the codes that they become.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "emu/format.hpp"
#include "emu/rounding.hpp"

namespace ulpscope::verify {

/// A stretch of the inputs and what they are.
struct CastGroup {
  std::string name;          ///< a word for reports
  std::size_t first, count;  ///< indices of inputs
  std::string what;          ///< one sentence
};

/// Inputs of a conversion and what comes out of a right one.
struct CastCase {
  std::vector<float> input;         ///< numbers of float32
  std::vector<emu::Code> expected;  ///< codes of the format converted to
  std::vector<CastGroup> groups;    ///< in order; together all inputs
  std::size_t outside_float32 = 0;  ///< ties and thresholds of the format that no float32 number is
};

/// Every number, every tie between neighbours and the float32 numbers beside it, the thresholds of overflow and underflow,
/// zeros, infinities, NaNs; all with both signs.
/// @throws ulpscope::Error for formats of more than 19 bits, which have too many numbers, and for stochastic rounding
CastCase generate_cast(emu::Format to, const emu::RoundingOptions& options = {});

}  // namespace ulpscope::verify
