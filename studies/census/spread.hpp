// SPDX-License-Identifier: Apache-2.0
// Quantiles of more numbers than are held: different ones are counted, and where there are too many of them, neighbours
// together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ulpscope::studies {

/// Numbers, none of them NaN, in any order: what it tells depends on which there are, and not on the order in which they come.
class Spread {
 public:
  /// The most different numbers, or neighbours counted as one, that are held.
  static constexpr std::size_t most_held = std::size_t{1} << 16;

  /// Puts in more. Precondition: sorted.
  void add(std::span<const double> sorted);
  /// Puts in those of another.
  void add(const Spread& other);

  /// The least number v with at least this share of all at most v; 0: the least. Where neighbours are counted together: the
  /// greatest of those that v is counted with, but of share 0, which is exact. NaN where there are no numbers.
  double quantile(double share) const;
  /// How many numbers there are.
  std::uint64_t count() const noexcept;

  /// All of it, in some ten bytes for each number that is held.
  std::string text() const;
  /// Back from it; nothing where it is no such text.
  static std::optional<Spread> of_text(std::string_view text);

 private:
  /// Numbers whose orders differ in no more than their last `dropped_` bits.
  struct Bin {
    std::uint64_t last;   ///< the order of the greatest
    std::uint64_t count;  ///< how many
  };
  void put(std::vector<Bin> bins, int dropped, std::uint64_t first);
  /// Counts neighbours together until they are few enough.
  void reduce();

  std::vector<Bin> bins_;
  std::uint64_t first_ = UINT64_MAX;  ///< the order of the least
  int dropped_ = 0;
};

}  // namespace ulpscope::studies
