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
#include <string>

#include "emu/decode.hpp"
#include "emu/encode.hpp"
#include "emu/magnitude.hpp"
#include "emu/math.hpp"
#include "emu/stop.hpp"

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
  for (auto& [place, watched] : places_) watched.counts = {}, watched.is_seen = false;
  first_.reset();
}

std::map<Place, PlaceCounts> Monitor::places() const {
  std::map<Place, PlaceCounts> seen;
  for (const auto& [place, watched] : places_)
    if (watched.is_seen) seen.emplace_hint(seen.end(), place, watched.counts);
  return seen;
}

namespace {

template <class Real>
using Word = emu::MagnitudeWord<Real>;
template <class Real>
constexpr Word<Real> infinite = emu::infinite_magnitude<Real>;

template <class Real>
FormatLimits limits_of(emu::Format format) {
  const auto magnitude = [](double x) { return emu::magnitude_word(static_cast<Real>(x)); };
  const auto fits = [&](Word<Real> word) {
    return emu::round_to(format, static_cast<double>(std::bit_cast<Real>(word))).outcome != emu::Outcome::overflow;
  };
  Word<Real> below = magnitude(emu::max_finite(format)), overflows = infinite<Real>;
  const Word<Real> largest = below;
  while (overflows - below > 1) {
    const Word<Real> middle = below + (overflows - below) / 2;
    (fits(middle) ? below : overflows) = middle;
  }
  return {format, sizeof(Real) == sizeof(double), magnitude(emu::min_normal(format)), largest, overflows};
}

/// Sums of squares in eight interleaved parts, which are added at the end: the same on every machine.
constexpr std::size_t parts = 8;
struct Squares {
  std::array<double, parts> signal{}, noise{};

  void add_to(PlaceCounts& counts) const {
    for (std::size_t i = 0; i < parts; ++i) counts.signal += signal[i], counts.noise += noise[i];
  }
};

/// What is seen of a few numbers, so that 32 bits count them.
template <class Real>
struct FewCounts {
  Word<Real> nan = 0, infinite = 0, zero = 0, exact = 0, to_zero = 0, subnormal = 0, overflow = 0, lost = 0;
};

/// Of `count` numbers before and after; the limits are those of their format.
template <class Real>
struct Few {
  const Real *before, *after;
  std::size_t count;
  Word<Real> normal, largest, overflows;
};

// The loops are inlined, as they may be compiled once more for a processor with longer vectors.

/// Of numbers that are finite before and after; `most` becomes the greatest magnitude, by which it is known whether they are.
template <class Real>
[[gnu::always_inline]] inline FewCounts<Real> counts_of_finite(const Few<Real>& few, Word<Real>& most) {
  FewCounts<Real> counts;
  const Word<Real> normal = few.normal, largest = few.largest, overflows = few.overflows;
  Word<Real> greatest = 0;
  for (std::size_t i = 0; i < few.count; ++i) {
    const Word<Real> before = emu::magnitude_word(few.before[i]), after = emu::magnitude_word(few.after[i]);
    greatest = std::max(greatest, std::max(before, after));
    counts.overflow += Word<Real>{after == largest} & Word<Real>{before >= overflows};
    counts.zero += Word<Real>{before == 0};
    counts.to_zero += Word<Real>{after == 0};  // the zeros among them are taken off below
    counts.subnormal += Word<Real>{after < normal};
    counts.exact += Word<Real>{after == before} & Word<Real>{after >= normal};
  }
  counts.subnormal -= counts.to_zero, counts.to_zero -= counts.zero;
  most = greatest;
  return counts;
}

template <class Real>
[[gnu::always_inline]] inline FewCounts<Real> counts_of(const Few<Real>& few) {
  FewCounts<Real> counts;
  const Word<Real> normal = few.normal, largest = few.largest, overflows = few.overflows;
  for (std::size_t i = 0; i < few.count; ++i) {
    const Word<Real> before = emu::magnitude_word(few.before[i]), after = emu::magnitude_word(few.after[i]);
    const Word<Real> was_finite = before < infinite<Real>, is_finite = after < infinite<Real>;
    const Word<Real> clamped = (after == largest) & (before >= overflows);
    counts.infinite += Word<Real>{before == infinite<Real>};
    counts.nan += Word<Real>{before > infinite<Real>};
    counts.zero += Word<Real>{before == 0};
    counts.exact += Word<Real>{after == before} & Word<Real>{after >= normal} & was_finite & is_finite;
    counts.overflow += was_finite & ((is_finite ^ 1) | clamped);
    counts.to_zero += Word<Real>{after == 0} & Word<Real>{before != 0} & was_finite;
    counts.subnormal += Word<Real>{after != 0} & Word<Real>{after < normal} & was_finite;
    counts.lost += (was_finite ^ 1) | (is_finite ^ 1);
  }
  return counts;
}

template <class Real>
[[gnu::always_inline]] inline void square(Real of_before, Real of_after, double& signal, double& noise) {
  const auto before = static_cast<double>(of_before);
  const double change = before - static_cast<double>(of_after);
  signal += before * before, noise += change * change;
}

/// All numbers being finite.
template <class Real>
[[gnu::always_inline]] inline void add_squares(const Few<Real>& few, Squares& squares) {
  std::array<double, parts> signal = squares.signal, noise = squares.noise;
  std::size_t i = 0;
  for (; i + parts <= few.count; i += parts)
    for (std::size_t part = 0; part < parts; ++part)
      square(few.before[i + part], few.after[i + part], signal[part], noise[part]);
  for (; i < few.count; ++i) square(few.before[i], few.after[i], signal[i % parts], noise[i % parts]);
  squares.signal = signal, squares.noise = noise;
}

/// The same of numbers that rounding has left as they were.
template <class Real>
[[gnu::always_inline]] inline void add_signal(const Few<Real>& few, Squares& squares) {
  std::array<double, parts> signal = squares.signal, none{};
  std::size_t i = 0;
  for (; i + parts <= few.count; i += parts)
    for (std::size_t part = 0; part < parts; ++part)
      square(few.before[i + part], few.before[i + part], signal[part], none[part]);
  for (; i < few.count; ++i) square(few.before[i], few.before[i], signal[i % parts], none[i % parts]);
  squares.signal = signal;
}

/// The same where some are not, which do not count.
template <class Real>
void add_finite_squares(const Few<Real>& few, Squares& squares) {
  for (std::size_t i = 0; i < few.count; ++i)
    if (std::isfinite(few.before[i]) && std::isfinite(few.after[i]))
      square(few.before[i], few.after[i], squares.signal[i % parts], squares.noise[i % parts]);
}

template <class Real>
[[gnu::always_inline]] inline FewCounts<Real> look_at(const Few<Real>& few, Squares& squares) {
  Word<Real> most = 0;
  const FewCounts<Real> counts = counts_of_finite(few, most);
  if (most >= infinite<Real>) {
    add_finite_squares(few, squares);
    return counts_of(few);
  }
  few.before == few.after ? add_signal(few, squares) : add_squares(few, squares);
  return counts;
}

#if defined(__x86_64__)
template <class Real>
__attribute__((target("avx2"))) FewCounts<Real> look_by_avx2(const Few<Real>& few, Squares& squares) {
  return look_at(few, squares);
}
template <class Real>
FewCounts<Real> look(const Few<Real>& few, Squares& squares) {
  static const bool has_avx2 = __builtin_cpu_supports("avx2");
  return has_avx2 ? look_by_avx2(few, squares) : look_at(few, squares);
}
#else
template <class Real>
FewCounts<Real> look(const Few<Real>& few, Squares& squares) {
  return look_at(few, squares);
}
#endif

}  // namespace

template <class Real>
void Monitor::add(const Stored<Real>& stored) {
  const Key key{stored.layer, stored.operation, stored.place};
  auto found = places_.find(key);
  if (found == places_.end())
    found = places_.try_emplace({std::string(stored.layer), std::string(stored.operation), std::string(stored.place)}).first;
  Watched& watched = found->second;
  PlaceCounts& counts = watched.counts;
  watched.is_seen = true;
  counts.format = stored.format;
  const std::size_t count = stored.after.size();
  counts.count += count + stored.padding.zeros;
  counts.zero += stored.padding.zeros;
  if (!watched.limits || !(watched.limits->format == stored.format) ||
      watched.limits->of_doubles != (sizeof(Real) == sizeof(double)))
    watched.limits = limits_of<Real>(stored.format);
  const FormatLimits& limits = *watched.limits;
  Squares squares;
  Word<Real> lost = 0;
  const auto look_at = [&](std::size_t first, std::size_t of) {
    emu::stop_if_asked();
    const FewCounts<Real> few =
        look(Few<Real>{stored.before.data() + first, stored.after.data() + first, of, static_cast<Word<Real>>(limits.normal),
                       static_cast<Word<Real>>(limits.largest), static_cast<Word<Real>>(limits.overflows)},
             squares);
    const auto add = [](std::uint64_t& to, Word<Real> more) { to += static_cast<std::uint64_t>(more); };
    add(counts.to_zero, few.to_zero), add(counts.subnormal, few.subnormal);
    add(counts.overflow, few.overflow), add(counts.zero, few.zero), add(counts.exact, few.exact);
    add(counts.infinite, few.infinite), add(counts.nan, few.nan);
    lost |= few.lost;
  };
  // Each number joins the part of the squares that it would join if the padding were there.
  constexpr std::size_t most = 4096;
  const std::size_t line = stored.padding.zeros == 0 ? 0 : stored.padding.line;
  const std::size_t at_once = line % parts == 0 ? most : line;
  for (std::size_t first = 0; first < count; first += at_once) look_at(first, std::min(at_once, count - first));
  squares.add_to(counts);
  if (lost == 0 || first_) return;
  for (std::size_t i = 0; i < count; ++i) {
    if ((std::isfinite(stored.before[i]) && std::isfinite(stored.after[i])) || stored.mask.hides(i)) continue;
    first_ = found->first;
    first_number_ = static_cast<double>(std::isfinite(stored.after[i]) ? stored.before[i] : stored.after[i]);
    return;
  }
}

template void Monitor::add(const Stored<float>&);
template void Monitor::add(const Stored<double>&);

}  // namespace ulpscope::training
