// SPDX-License-Identifier: Apache-2.0
// Stretches of inputs for which each of several computations gives one result, found at their ends and not by visiting them
// all.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "verify/conform/computation.hpp"

namespace ulpscope::verify {

/// Positions [begin, end) of inputs.
struct Stretch {
  std::uint64_t begin;  ///< the first
  std::uint64_t end;    ///< behind the last

  /// How many there are.
  std::uint64_t size() const { return end - begin; }
};

/// What is asked of for_each_piece(). Neighbours are neighbouring codes of a format, and all computations are conversions:
/// these keep the order of numbers of one sign, so that they are constant between two that they send to the same code.
struct PieceQuestion {
  std::vector<const Computation*> computations;           ///< the first is what is right
  std::function<emu::Code(std::uint64_t position)> code;  ///< of the input at a position
  /// The first position of interest in a stretch, or its end.
  std::function<std::uint64_t(Stretch)> first;
};

/// Whether the right result is the largest number because the input, rounded, is larger. Of an operation that is not known.
bool is_saturated(const Computation& right, emu::Code input, emu::Code expected);

/// Calls act(stretch, codes) for pieces that have no input in common, in ascending order, and together all that is of interest.
/// codes[c] is what computation c gives for each input of the piece; NaN, infinities, zeros, finite numbers, the signs of them,
/// and inputs that are saturated and that are not, are in different pieces. Returns for how many inputs the results were
/// computed: of conversions some tens for each result that they give; of each 65536 inputs never more than one that
/// is of no interest.
std::uint64_t for_each_piece(const PieceQuestion& question, Stretch all,
                             const std::function<void(Stretch, std::span<const emu::Code> codes)>& act);

}  // namespace ulpscope::verify
