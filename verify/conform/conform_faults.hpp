// SPDX-License-Identifier: Apache-2.0
// To which group a wrong result belongs: where it lies, what is wrong with it at first sight, and which hypotheses give it,
// too.
#pragma once

#include <span>
#include <vector>

#include "verify/conform/conform_tally.hpp"

namespace ulpscope::verify {

/// Knows what is right and what is tried in its place.
class Classification {
 public:
  /// Both outlive this.
  Classification(const ConformConfig& config, const std::vector<ConformHypothesis>& tried);

  /// Which hypotheses give this result, by what each of them gives.
  Mask explained_by(std::span<const emu::Code> given, emu::Code got) const;
  /// `explained`: by which hypotheses. Of one piece of inputs (conform_pieces.hpp) the group depends on nothing but in which
  /// range of word_bounds() the result lies.
  Group group_of(const Mismatch& mismatch, Mask explained) const;
  /// The first words of ranges, ascending from 0 on, in each of which all words are accepted, or all belong to one group.
  void word_bounds(std::span<const emu::Code> codes, std::vector<emu::Code>& bounds) const;

 private:
  const ConformConfig& config_;
  Mask directed_ = 0, ties_ = 0;
};

}  // namespace ulpscope::verify
