// SPDX-License-Identifier: Apache-2.0
// Faults of where results are put, not of how they are computed: rows of zeros, a tile that is doubled, transposed or
// another's, elements in each other's place. They are read off D beside what the claim returns, without any replay.
#pragma once

#include <cstddef>
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

/// Whether so many wrong elements that other places have say where they come from: chance has it of a few, and of more where
/// many places have the same number.
bool say_whence(std::size_t wrong, std::span<const double> claimed);

/// Those after which `claimed` is `d`, both row-major; the simplest first.
std::vector<Placement> placements(const Claim& claim, std::span<const double> d, std::span<const double> claimed);

}  // namespace ulpscope::verify
