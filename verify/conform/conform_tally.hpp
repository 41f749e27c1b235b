// SPDX-License-Identifier: Apache-2.0
// Wrong results in groups: by where they lie, what is wrong at first sight, and which hypotheses give the same result.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <vector>

#include "verify/conform/conform.hpp"
#include "verify/conform/conform_pieces.hpp"

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
  Mask explained;      ///< by which hypotheses; by none where may_be_explained() says so

  friend auto operator<=>(const Group&, const Group&) = default;
};

/// Whether a hypothesis may be believed of such mismatches: NaNs have their own classes, and so has the sign of zero.
bool may_be_explained(InputRegion region, Fault fault);

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
  std::uint64_t not_judged = 0;  ///< inputs for which nothing is prescribed
  std::uint64_t computed = 0;    ///< inputs for which the hypotheses were computed

  /// The mismatches of a group, for more to be added.
  Members& members(const Group& group);
  /// Whether the mismatch of this index is one of the first of the group; then it is to be kept.
  bool wants(const Members& members, std::uint64_t index) const {
    return members.examples.size() < most_ || (most_ != 0 && index < members.examples.back().index);
  }
  /// Keeps an example that is wanted.
  void keep(Members& members, const Mismatch& mismatch) const;
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

/// Inputs, what is right of them and what the subject gave.
struct Compared {
  std::uint64_t first;    ///< index of the first among all inputs
  const Words& inputs;    ///< as many as expected
  const Words& expected;  ///< what is right
  const Words& results;   ///< as many as expected
};

/// The first mismatches, `most` at most.
std::vector<Mismatch> first_mismatches(const ConformConfig& config, const Compared& compared, std::size_t most);

/// Compares results with the right ones and adds to the tally what is wrong. `every_code`: input i is the code of number i.
void tally_mismatches(const ConformConfig& config, const std::vector<ConformHypothesis>& tried, const Compared& compared,
                      bool every_code, Tally& tally);

/// For each region the number of inputs where `other` is not accepted for `expected`.
using RegionCounts = std::array<std::uint64_t, region_count>;
/// How many mismatches of each region every hypothesis explains.
std::vector<RegionCounts> explained_counts(const Tally& tally, std::size_t tried);
/// Which hypotheses may be believed in a region, given what they explain there and a part, or all, of the inputs on which they
/// differ from what is right: those that explain more than they leave inputs on which the subject is not wrong in that way.
/// More inputs never add one.
Mask believable(const std::vector<RegionCounts>& explained, const std::vector<RegionCounts>& differing);
/// Adds the differences between two converters' results on these inputs.
void count_differences(const ConformConfig& config, const Words& inputs, const Words& expected, const Words& other,
                       RegionCounts& counts);
/// The same of those hypotheses whose bit is in `useful`, on inputs whose numbers are their codes. Returns for how many inputs
/// they were computed.
std::uint64_t count_differences(const ConformConfig& config, const std::vector<ConformHypothesis>& tried, Mask useful,
                                Stretch codes, std::vector<RegionCounts>& counts);

/// What the groups mean in the end. `differing[h]`: where hypothesis h differs from what is right, over all inputs, or enough
/// of them for it not to be believable.
std::vector<ConformFinding> findings(const Tally& tally, const std::vector<ConformHypothesis>& tried,
                                     const std::vector<RegionCounts>& differing, std::size_t examples);

}  // namespace ulpscope::verify
