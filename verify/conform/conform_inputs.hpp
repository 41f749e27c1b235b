// SPDX-License-Identifier: Apache-2.0
// Which inputs a subject is asked: all codes of a format, or of float64 a stated sample.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "emu/format.hpp"
#include "verify/conform/words.hpp"

namespace ulpscope::verify {

/// The inputs that a subject is asked about.
class Inputs {
 public:
  /// Every code of `from`; where that has more than 32 bits, the sample.
  /// The sample: every exponent with the least, the largest and the middle fractions; of every number of `to` (where that has
  /// more than 16 bits: of 2^17 numbers that Philox chooses) the number itself, the middle between it and the next, and the
  /// doubles on either side of both; 2^21 words of Philox under `seed`, and 2^21 numbers of the exponents of `to`. Of both
  /// signs.
  Inputs(emu::Format from, emu::Format to, std::uint64_t seed);

  /// The format of the inputs.
  emu::Format format() const { return from_; }
  /// Whether not every code is asked about.
  bool is_sample() const { return !sample_.empty(); }
  /// How many there are.
  std::uint64_t size() const { return is_sample() ? sample_.size() : std::uint64_t{1} << from_.bits(); }
  /// Inputs [first, first + words.size()).
  void fill(std::uint64_t first, Words& words) const;

 private:
  emu::Format from_;
  std::vector<std::uint64_t> sample_;
};

}  // namespace ulpscope::verify
