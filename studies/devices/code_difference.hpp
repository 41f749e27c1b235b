// SPDX-License-Identifier: Apache-2.0
// How far two lists of codes of one format are apart.
#pragma once

#include <cstdint>

#include "emu/format.hpp"

namespace ulpscope::studies {

/// Differences in units in the last place: how many numbers of the format away. A NaN on one side alone is infinitely far.
class CodeDifference {
 public:
  /// Compares codes of `format`.
  explicit CodeDifference(emu::Format format) : format_(format) {}

  /// Compares one result with what is expected of it.
  void add(emu::Code got, emu::Code expected);

  /// How many were compared.
  std::uint64_t compared() const noexcept { return compared_; }
  /// How many codes differ; of two NaNs with different codes too.
  std::uint64_t mismatches() const noexcept { return mismatches_; }
  /// The largest difference.
  double max_ulp() const noexcept { return max_ulp_; }
  /// nan where nothing was compared, as the next two.
  double mean_ulp() const noexcept;
  /// The share that is equal.
  double equal_share() const noexcept;
  /// The Frobenius norm of the differences, divided by that of the expected numbers; nan where that is 0.
  double relative() const noexcept;

 private:
  emu::Format format_;
  std::uint64_t compared_ = 0, mismatches_ = 0;
  double max_ulp_ = 0, sum_ulp_ = 0, squared_difference_ = 0, squared_expected_ = 0;
};

}  // namespace ulpscope::studies
