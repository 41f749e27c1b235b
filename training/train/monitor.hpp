// SPDX-License-Identifier: Apache-2.0
// Every rounding of a run, counted by where it happens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>

#include "emu/format.hpp"
#include "training/tape/tape.hpp"

namespace ulpscope::training {

/// A place where numbers are rounded.
struct Place {
  std::string layer, operation, place;  ///< as Stored has them

  auto operator<=>(const Place&) const = default;
};
/// `layer 2, linear, grad_output`.
std::string words_of(const Place& place);

/// What became of the numbers of a place.
struct PlaceCounts {
  emu::Format format = emu::float32;  ///< that they were rounded to
  std::uint64_t count = 0;            ///< numbers
  std::uint64_t to_zero = 0;          ///< nonzero before, zero behind
  std::uint64_t subnormal = 0;        ///< of the format, and not zero
  std::uint64_t overflow = 0;         ///< finite before, infinite or NaN behind; or clamped to the largest finite number, which
                                      ///< rounding alone would not give
  std::uint64_t nonfinite = 0;        ///< infinite or NaN before
  double signal = 0, noise = 0;       ///< sums of squares before, and of what rounding changed, of finite numbers

  /// Of signal and noise, in dB; infinite where nothing was changed.
  double sqnr_db() const;
  /// Of all numbers that became zero or overflowed.
  double lost_share() const;
};

/// Told of every number that a tape stores.
class Monitor {
 public:
  /// Counts what is stored from now on, and forgets what was.
  void clear();
  template <class Real>
  void add(const Stored<Real>& stored);

  /// By place, in alphabetical order.
  const std::map<Place, PlaceCounts>& places() const { return places_; }
  /// Where a number became infinite or NaN first, since the last clear().
  const std::optional<Place>& first_nonfinite() const { return first_; }

 private:
  std::map<Place, PlaceCounts> places_;
  std::optional<Place> first_;
};

}  // namespace ulpscope::training
