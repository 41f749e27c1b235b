// SPDX-License-Identifier: Apache-2.0
// Random inner products that put a unit on the spot: few terms at a few distances from the greatest, cancellation, ties, and
// operands from all corners of their formats. The same seed makes the same ones everywhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "studies/probe/probe_bench.hpp"

namespace ulpscope::studies {

inline constexpr int most_kept_bits = 60;  ///< below the greatest exponent: what a sum of 128 bits can hold

/// Where the numbers come from.
enum class ProbeRange : std::uint8_t {
  plain,  ///< normal operands, sums far from both ends of the accumulator's range
  tiny,   ///< around the accumulator's least normal number, subnormal operands among them
  huge,   ///< around its greatest
  any,    ///< any code whatever
};

/// Which block scales the cases have.
enum class ProbeScales : std::uint8_t { ones, same, any };

/// Random inner products for a bench.
class ProbeCases {
 public:
  /// Cases for `bench`, the same under the same seed.
  ProbeCases(const ProbeBench& bench, std::uint64_t seed) : bench_(bench), seed_(seed) {}

  /// Distances in binades at which something happens; many terms are put there.
  void set_distances(std::vector<int> distances) { distances_ = std::move(distances); }
  /// The exponent that the greatest term of a plain case is not below, if one was seen; half of the tiny cases are around it.
  void set_floor(std::optional<int> exponent) { floor_ = exponent; }

  /// Products at these places, zeros elsewhere.
  ProbeCase at(std::span<const std::size_t> places, ProbeRange range, ProbeScales scales = ProbeScales::ones);
  /// Some products among the first `within`, up to all of them.
  ProbeCase among(std::size_t within, ProbeRange range, ProbeScales scales = ProbeScales::any);

  /// A random number below `bound`.
  std::uint32_t below(std::uint32_t bound);
  /// A random number from `least` to `most`; `least` where that is not less.
  int between(int least, int most) {
    return least >= most ? least : least + static_cast<int>(below(static_cast<std::uint32_t>(most - least) + 1));
  }

 private:
  int distance();
  emu::Code fraction(emu::Format format);
  emu::Code any_code(emu::Format format);
  emu::Code number(emu::Format format, int exponent);
  void put(ProbeCase& probe, std::size_t k, int exponent, bool subnormals);
  int scale(ProbeCase& probe, ProbeScales scales);
  void choose_addend(ProbeCase& probe, std::span<const std::size_t> places, int top, int greatest, ProbeRange range);

  /// Exponents of the greatest product of a case.
  struct Exponents {
    int least, greatest;
  };
  Exponents top_of(ProbeRange range);
  int least_plain() const;

  const ProbeBench& bench_;
  std::uint64_t seed_, count_ = 0;
  std::vector<int> distances_;
  std::optional<int> floor_;
};

}  // namespace ulpscope::studies
