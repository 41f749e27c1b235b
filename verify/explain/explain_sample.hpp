// SPDX-License-Identifier: Apache-2.0
// Which outputs hypotheses are tried on, and how many of them they reproduce.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "verify/explain/hypotheses.hpp"
#include "verify/explain/replay.hpp"

namespace ulpscope::verify {

/// Equal to the bit, but any NaN is any other.
bool same_value(double x, double y);

/// Elements of some outputs.
struct Score {
  std::uint64_t matched = 0;           ///< elements reproduced
  std::uint64_t matched_of_wrong = 0;  ///< elements reproduced that the claim gets wrong
  std::uint64_t changed = 0;           ///< that are not the claim's
  std::uint64_t digest = 0;            ///< of all bits of the outputs; sums of digests do not depend on their order

  /// Adds those of other elements.
  void add(const Score& other) noexcept;
};

/// `count` lines of those that `marked` has, or all, ascending; half of them where it is not 0, if so many are.
std::vector<std::size_t> chosen_lines(const std::vector<char>& marked, std::size_t count);

/// What a kernel returned, and what it claims to return.
class ReplayedOutputs {
 public:
  /// `d`: the elements of D. Replays the claim.
  ReplayedOutputs(const MatmulData& data, const Kernel& claimed, std::vector<double> d, int threads);

  /// Elements of D.
  std::uint64_t count() const noexcept { return d_.size(); }
  /// What the kernel returned, and what the claim returns.
  ///@{
  std::span<const double> d() const noexcept { return d_; }
  std::span<const double> claimed() const noexcept { return claimed_; }
  ///@}
  /// Elements that the claim does not reproduce.
  std::uint64_t wrong() const noexcept { return wrong_; }

  /// Whether the claim does not reproduce element i.
  bool is_wrong(std::size_t i) const;
  /// How far the wrong elements are from the claim: the bits of the number of codes between, summed. Codes of
  /// `out`, or of `wide` where the element is no number of `out`.
  std::uint64_t bits(emu::Format out, emu::Format wide) const;

  /// A sample of at most `outputs` outputs, and about `products` products, of the matrix that has most wrong elements. Half of
  /// its rows are spread over those that have any, half of its columns over those where these rows do: it has one if D has.
  Region sample(std::size_t outputs, std::size_t products) const;

  /// Where element i of a region stands in D.
  std::size_t place(const Region& region, std::size_t i) const noexcept;
  /// Replays a kernel on a region and compares it with D.
  Score score(const Kernel& kernel, const Region& region) const;
  /// Replays a kernel on all of D.
  Score score_all(const Kernel& kernel) const;
  /// Bits of what score_all() is told about tiles: one for each of D that it chooses one of two ways for, and
  /// WrongTiles::choices() where the kernel is so in some alone.
  std::uint64_t choices(const Kernel& kernel) const;

 private:
  std::vector<Region> tiles() const;
  std::vector<double> replayed(const Kernel& kernel, const Region& region) const;
  std::vector<double> replayed_in_tiles(const Kernel& kernel, const Region& region) const;

  const MatmulData& data_;
  std::vector<double> d_, claimed_;
  std::vector<std::uint64_t> wrong_of_matrix_;
  std::uint64_t wrong_ = 0;
  int threads_;
};

}  // namespace ulpscope::verify
