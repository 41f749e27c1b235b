// SPDX-License-Identifier: Apache-2.0
// Every rounding of a run, counted by where it happens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

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
  /// The classes of emu::Outcome, but for rounded(), which are the rest. Overflow: finite before, infinite or NaN behind; or
  /// clamped to the largest finite number, which rounding alone would not give.
  ///@{
  std::uint64_t nan = 0, infinite = 0, zero = 0, exact = 0, subnormal = 0, to_zero = 0, overflow = 0;
  ///@}
  double signal = 0, noise = 0;  ///< sums of squares before, and of what rounding changed, of finite numbers

  /// Finite before, normal and another number behind.
  std::uint64_t rounded() const { return count - nan - infinite - zero - exact - subnormal - to_zero - overflow; }
  /// Of signal and noise, in dB; infinite where nothing was changed.
  double sqnr_db() const;
  /// Of all numbers that became zero or overflowed.
  double lost_share() const;

  friend bool operator==(const PlaceCounts&, const PlaceCounts&) = default;
};

/// Where the classes of a format begin, as magnitudes (emu::magnitude_word).
struct FormatLimits {
  emu::Format format;      ///< the one
  bool of_doubles;         ///< words of doubles, else of floats
  std::int64_t normal;     ///< the least normal number
  std::int64_t largest;    ///< the largest finite one
  std::int64_t overflows;  ///< the least magnitude that is beyond the format once it is rounded
};

/// Told of every number that a tape stores.
class Monitor {
 public:
  /// Counts what is stored from now on, and forgets what was.
  void clear();
  template <class Real>
  void add(const Stored<Real>& stored);

  /// By place, in alphabetical order.
  std::map<Place, PlaceCounts> places() const;
  /// Where a number became infinite or NaN first, since the last clear(); what a mask has written is so on purpose.
  const std::optional<Place>& first_nonfinite() const { return first_; }
  /// That number. @pre there is one
  double first_nonfinite_number() const { return first_number_; }

 private:
  /// A place as it is looked for, in the order of places.
  struct Key {
    std::string_view layer, operation, place;

    auto operator<=>(const Key&) const = default;
  };
  struct Order {
    using is_transparent = void;
    static Key key_of(const Place& place) { return {place.layer, place.operation, place.place}; }
    static Key key_of(const Key& key) { return key; }
    bool operator()(const auto& x, const auto& y) const { return key_of(x) < key_of(y); }
  };
  /// A place stays when its counts are forgotten: the next step has it, too.
  struct Watched {
    PlaceCounts counts;
    bool is_seen = false;                     ///< since the last clear()
    std::optional<FormatLimits> limits = {};  ///< of the format of the counts
  };
  std::map<Place, Watched, Order> places_;
  std::optional<Place> first_;
  double first_number_ = 0;
};

}  // namespace ulpscope::training
