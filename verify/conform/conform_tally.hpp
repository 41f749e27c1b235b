// SPDX-License-Identifier: Apache-2.0
// Wrong results in groups: by where they lie, what is wrong at first sight, and which hypotheses give the same result.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <vector>

#include "verify/conform/conform.hpp"

namespace ulpscope::verify {

/// Where the right result of an input lies. Hypotheses are believed or not in each region by itself.
enum class InputRegion : std::uint8_t { not_a_number, zero, small, normal, large };
inline constexpr int region_count = 5;  ///< values of InputRegion

/// A bit for each hypothesis.
using Mask = std::uint32_t;

/// Mismatches that are alike.
struct Group {
  InputRegion region;  ///< of the right result
  Fault fault;         ///< at first sight, without hypotheses of the whole
  Mask explained;      ///< by which hypotheses

  friend auto operator<=>(const Group&, const Group&) = default;
};

/// How many mismatches a group has, and the first of them.
struct Members {
  std::uint64_t count = 0;         ///< all of them
  std::vector<Mismatch> examples;  ///< by index, ascending
};

/// Counts of groups; sums of tallies do not depend on their order.
class Tally {
 public:
  /// Keeps this many examples of a group.
  explicit Tally(std::size_t examples) : most_(examples) {}
  std::uint64_t compared = 0, not_judged = 0;  ///< inputs judged, and inputs for which nothing is prescribed

  /// One more mismatch of a group.
  void add(const Group& group, const Mismatch& mismatch);
  /// What another tally has counted.
  void add(const Tally& other);
  /// In all groups.
  std::uint64_t mismatches() const;
  /// Counts by group.
  const std::map<Group, Members>& groups() const { return groups_; }

 private:
  void merge(Members& to, const Members& from) const;
  std::size_t most_;
  std::map<Group, Members> groups_;
  std::map<Group, Members>::iterator last_ = groups_.end();  ///< wrong results come in runs
};

/// Where a result lies among the numbers of both formats.
InputRegion region_of(emu::Format from, emu::Format to, emu::Code input, emu::Code expected);

/// Compares results with the right ones and adds to the tally what is wrong.
void tally_mismatches(const ConformConfig& config, const std::vector<ConformHypothesis>& tried, std::uint64_t first,
                      const Words& inputs, const Words& expected, const Words& results, Tally& tally);

/// For each region the number of inputs where `other` is not accepted for `expected`.
using RegionCounts = std::array<std::uint64_t, region_count>;
/// Adds the differences between two converters' results on these inputs.
void count_differences(const ConformConfig& config, const Words& inputs, const Words& expected, const Words& other,
                       RegionCounts& counts);

/// What the groups mean in the end. `differing[h]`: where hypothesis h differs from what is right, over all inputs.
std::vector<ConformFinding> findings(const Tally& tally, const std::vector<ConformHypothesis>& tried,
                                     const std::vector<RegionCounts>& differing, std::size_t examples);

}  // namespace ulpscope::verify
