// SPDX-License-Identifier: Apache-2.0
// Numbers are held by their places in the order of all doubles. How many bits of these are dropped follows from all numbers
// alone: a part of them never needs more than the whole.
#include "studies/census/spread.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

namespace ulpscope::studies {
namespace {

constexpr std::uint64_t double_sign = std::uint64_t{1} << 63;

/// Greater for greater numbers; -0 is before 0.
std::uint64_t order_of(double x) {
  const auto bits = std::bit_cast<std::uint64_t>(x);
  return (bits & double_sign) != 0 ? ~bits : bits | double_sign;
}

double number_of(std::uint64_t order) { return std::bit_cast<double>((order & double_sign) != 0 ? order & ~double_sign : ~order); }

}  // namespace

void Spread::add(std::span<const double> sorted) {
  constexpr std::size_t piece = 4 * most_held;
  for (std::size_t first = 0; first < sorted.size(); first += piece) {
    std::vector<Bin> bins;
    for (const double x : sorted.subspan(first, std::min(piece, sorted.size() - first))) {
      const std::uint64_t order = order_of(x);
      if (bins.empty() || bins.back().last != order) bins.push_back({order, 0});
      ++bins.back().count;
    }
    const std::uint64_t least = bins.front().last;
    put(std::move(bins), 0, least);
  }
}

void Spread::add(std::span<const float> sorted) {
  const std::vector<double> wide(sorted.begin(), sorted.end());
  add(std::span(wide));
}

void Spread::add(const Spread& other) { put(other.bins_, other.dropped_, other.first_); }

void Spread::put(std::vector<Bin> bins, int dropped, std::uint64_t first) {
  first_ = std::min(first_, first);
  dropped_ = std::max(dropped_, dropped);
  std::vector<Bin> all;
  all.reserve(bins_.size() + bins.size());
  std::ranges::merge(bins_, bins, std::back_inserter(all), {}, &Bin::last, &Bin::last);
  bins_ = std::move(all);
  reduce();
}

void Spread::reduce() {
  for (bool is_first = true; is_first || bins_.size() > most_held; is_first = false) {
    if (!is_first) ++dropped_;
    std::size_t kept = 0;
    for (const Bin bin : bins_) {
      if (kept != 0 && bins_[kept - 1].last >> dropped_ == bin.last >> dropped_)
        bins_[kept - 1] = {bin.last, bins_[kept - 1].count + bin.count};
      else
        bins_[kept++] = bin;
    }
    bins_.resize(kept);
  }
}

double Spread::quantile(double share) const {
  if (bins_.empty()) return std::numeric_limits<double>::quiet_NaN();
  std::uint64_t all = 0, seen = 0;
  for (const Bin& bin : bins_) all += bin.count;
  const double place = std::max(std::ceil(share * static_cast<double>(all)), 1.0);
  if (share == 0) return number_of(first_);
  for (const Bin& bin : bins_) {
    seen += bin.count;
    if (static_cast<double>(seen) >= place) return number_of(bin.last);
  }
  return number_of(bins_.back().last);
}

}  // namespace ulpscope::studies
