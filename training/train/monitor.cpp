// SPDX-License-Identifier: Apache-2.0
// Counts classes of roundings.
#include "training/train/monitor.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "emu/decode.hpp"
#include "emu/encode.hpp"
#include "emu/math.hpp"

namespace ulpscope::training {

std::string words_of(const Place& place) {
  return (place.layer.empty() ? "" : "layer " + place.layer + ", ") + place.operation + ", " + place.place;
}

double PlaceCounts::sqnr_db() const {
  if (noise == 0) return std::numeric_limits<double>::infinity();
  return signal == 0 ? -std::numeric_limits<double>::infinity() : 10 * emu::log10(signal / noise);
}

double PlaceCounts::lost_share() const {
  return count == 0 ? 0 : static_cast<double>(to_zero + overflow) / static_cast<double>(count);
}

void Monitor::clear() {
  places_.clear();
  first_.reset();
}

namespace {

/// Magnitudes as unsigned integers, which are ordered as they are; infinity is the least that is not finite.
template <class Real>
using Word = std::conditional_t<sizeof(Real) == sizeof(float), std::uint32_t, std::uint64_t>;
template <class Real>
Word<Real> magnitude(Real x) {
  return std::bit_cast<Word<Real>>(x) & (~Word<Real>{0} >> 1);
}
template <class Real>
constexpr Word<Real> infinite = std::bit_cast<Word<Real>>(std::numeric_limits<Real>::infinity());

/// Where the classes of a format begin.
template <class Real>
struct Limits {
  Word<Real> normal;     ///< the least normal number
  Word<Real> largest;    ///< the largest finite one
  Word<Real> overflows;  ///< the least magnitude that rounding alone makes infinite or NaN

  explicit Limits(emu::Format format)
      : normal(magnitude(static_cast<Real>(emu::min_normal(format)))),
        largest(magnitude(static_cast<Real>(emu::max_finite(format)))),
        overflows(infinite<Real>) {
    const auto is_finite = [&](Word<Real> word) {
      return std::isfinite(emu::round_to(format, static_cast<double>(std::bit_cast<Real>(word))).value);
    };
    for (Word<Real> below = largest; overflows - below > 1;) {
      const Word<Real> middle = below + (overflows - below) / 2;
      (is_finite(middle) ? below : overflows) = middle;
    }
  }
};

/// Sums of squares in eight interleaved parts, which are added at the end: the same on every machine.
constexpr std::size_t parts = 8;
struct Squares {
  std::array<double, parts> signal{}, noise{};

  void add_to(PlaceCounts& counts) const {
    for (std::size_t i = 0; i < parts; ++i) counts.signal += signal[i], counts.noise += noise[i];
  }
};

/// Of a few numbers, so that 32 bits count them.
template <class Real>
struct FewCounts {
  Word<Real> to_zero = 0, subnormal = 0, overflow = 0, nonfinite = 0, lost = 0;

  void add(Real of_before, Real of_after, const Limits<Real>& limits) {
    const Word<Real> before = magnitude(of_before), after = magnitude(of_after);
    const Word<Real> was_finite = before < infinite<Real>, is_finite = after < infinite<Real>;
    const Word<Real> clamped = (after == limits.largest) & (before >= limits.overflows);
    nonfinite += was_finite ^ 1U;
    overflow += was_finite & ((is_finite ^ 1U) | clamped);
    to_zero += Word<Real>{after == 0} & Word<Real>{before != 0} & was_finite;
    subnormal += Word<Real>{after != 0} & Word<Real>{after < limits.normal} & was_finite;
    lost += (was_finite ^ 1U) | (is_finite ^ 1U);
  }
};

}  // namespace

template <class Real>
void Monitor::add(const Stored<Real>& stored) {
  PlaceCounts& counts = places_[{std::string(stored.layer), std::string(stored.operation), std::string(stored.place)}];
  counts.format = stored.format;
  const std::size_t count = stored.after.size();
  counts.count += count;
  const Limits<Real> limits(stored.format);
  const Real *const before = stored.before.data(), *const after = stored.after.data();
  Squares squares;
  bool lost_finite = false;
  constexpr std::size_t at_once = 4096;
  for (std::size_t first = 0; first < count; first += at_once) {
    const std::size_t end = std::min(count, first + at_once);
    FewCounts<Real> few;
    for (std::size_t i = first; i < end; ++i) few.add(before[i], after[i], limits);
    counts.to_zero += few.to_zero, counts.subnormal += few.subnormal;
    counts.overflow += few.overflow, counts.nonfinite += few.nonfinite;
    lost_finite |= few.lost != 0;
    const bool some = few.lost != 0;  // numbers that are not finite do not count
    const auto square = [&](std::size_t i, std::size_t part) {
      double of = static_cast<double>(before[i]), change = of - static_cast<double>(after[i]);
      if (some && !(std::isfinite(of) && std::isfinite(change))) of = change = 0;
      squares.signal[part] += of * of, squares.noise[part] += change * change;
    };
    std::size_t i = first;
    for (; i + parts <= end; i += parts)
      for (std::size_t part = 0; part < parts; ++part) square(i + part, part);
    for (; i < end; ++i) square(i, i % parts);
  }
  squares.add_to(counts);
  if (lost_finite && !first_)
    first_ = Place{std::string(stored.layer), std::string(stored.operation), std::string(stored.place)};
}

template void Monitor::add(const Stored<float>&);
template void Monitor::add(const Stored<double>&);

}  // namespace ulpscope::training
