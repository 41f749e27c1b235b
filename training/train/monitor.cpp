// SPDX-License-Identifier: Apache-2.0
// Counts classes of roundings.
#include "training/train/monitor.hpp"

#include <cmath>
#include <limits>

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

template <class Real>
void Monitor::add(const Stored<Real>& stored) {
  PlaceCounts& counts = places_[{std::string(stored.layer), std::string(stored.operation), std::string(stored.place)}];
  counts.format = stored.format;
  counts.count += stored.after.size();
  const double least = emu::min_normal(stored.format), largest = emu::max_finite(stored.format);
  bool lost_finite = false;
  for (std::size_t i = 0; i < stored.after.size(); ++i) {
    const auto before = std::fabs(static_cast<double>(stored.before[i])),
               after = std::fabs(static_cast<double>(stored.after[i]));
    if (std::isfinite(before) && std::isfinite(after)) {
      const double change = before - after;  // signs are the same
      counts.signal += before * before, counts.noise += change * change;
    }
    if (!std::isfinite(before)) {
      ++counts.nonfinite;
      lost_finite = true;
    } else if (!std::isfinite(after) ||
               (after == largest && before > largest && !std::isfinite(emu::round_to(stored.format, before).value))) {
      ++counts.overflow;
      lost_finite |= !std::isfinite(after);
    } else if (after == 0) {
      counts.to_zero += before != 0 ? 1 : 0;
    } else if (after < least) {
      ++counts.subnormal;
    }
  }
  if (lost_finite && !first_)
    first_ = Place{std::string(stored.layer), std::string(stored.operation), std::string(stored.place)};
}

template void Monitor::add(const Stored<float>&);
template void Monitor::add(const Stored<double>&);

}  // namespace ulpscope::training
