// SPDX-License-Identifier: Apache-2.0
// Faults of where results are put, not of how they are computed: rows of zeros, a tile that is doubled, transposed or
// another's, elements in each other's place. They are read off D beside what the claim returns, without any replay.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "verify/explain/hypotheses.hpp"

namespace ulpscope::verify {

/// A fault of placement that accounts for every element.
struct Placement {
  Cause cause;              ///< without a change of the kernel
  std::uint64_t tried = 0;  ///< places that were looked at for it: as many chances to fit by accident
  std::uint64_t choices = 0;  ///< bits that say which of several places are meant
};

/// Wrong elements that say where they come from; of a D that has few numbers.
///@{
inline constexpr std::size_t enough = 4, enough_of_few_numbers = 16;
///@}
/// Whether some number like those of D is too often also another place's: a coarse format has few numbers.
bool has_few_numbers(std::span<const double> claimed);

/// Those after which `claimed` is `d`, both row-major; the simplest first.
std::vector<Placement> placements(const Claim& claim, std::span<const double> d, std::span<const double> claimed);

}  // namespace ulpscope::verify
