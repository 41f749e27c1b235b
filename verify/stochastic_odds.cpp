// SPDX-License-Identifier: Apache-2.0
// Sums of three statistics of random roundings, and what is said of those that are too great.
#include "verify/stochastic_odds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace ulpscope::verify {

void StochasticOdds::Sum::add(double term, double its_variance, double its_most) noexcept {
  of += term, variance += its_variance, most = std::max(most, its_most);
}

void StochasticOdds::Sum::merge(const Sum& other) noexcept { add(other.of, other.variance, other.most); }

double StochasticOdds::Sum::exponent() const noexcept {
  return of == 0 ? 0 : of * of / (2 * (variance + most * std::fabs(of) / 3));
}

void StochasticOdds::add(double exact, double rounded, const emu::RoundingOptions& options, double toward_zero, double away) {
  if (toward_zero == away || rounded == exact) return;
  const double steps = std::ldexp(1.0, options.random_bits);
  const double p = std::floor((exact - toward_zero) / (away - toward_zero) * steps) / steps;
  const bool is_away = rounded == away;
  const double rest = (is_away ? 1 : 0) - p, variance = p * (1 - p), slope = p - 0.5, most = std::max(p, 1 - p);
  ++count_, away_ += is_away ? 1 : 0, expected_ += p, never_away_ += is_away && p == 0 ? 1 : 0;
  bias_.add(rest, variance, most);
  slope_.add(rest * slope, variance * slope * slope, most * std::fabs(slope));
  neighbours_.add(rest * last_rest_, last_rest_ * last_rest_ * variance, most * std::fabs(last_rest_));
  last_rest_ = rest;
}

void StochasticOdds::merge(const StochasticOdds& other) {
  count_ += other.count_, away_ += other.away_, expected_ += other.expected_, never_away_ += other.never_away_;
  bias_.merge(other.bias_), slope_.merge(other.slope_), neighbours_.merge(other.neighbours_);
  last_rest_ = other.last_rest_;
}

std::string StochasticOdds::fault() const {
  constexpr double of_each = 15.61;  // three sums, of both signs: 6 exp(-15.61) < 10^-6
  const auto chance = [](const Sum& sum) { return fmt::format("by chance once in 10^{:.0f}", sum.exponent() * 0.4343 - 0.8); };
  if (never_away_ != 0)
    return fmt::format("{} {} rounded away from zero though so many random bits leave {} no chance of it", never_away_,
                       never_away_ == 1 ? "number is" : "numbers are", never_away_ == 1 ? "it" : "them");
  if (bias_.exponent() > of_each)
    return fmt::format("{} of {} numbers are rounded away from zero, {:.0f} are expected: {}", away_, count_, expected_,
                       chance(bias_));
  if (slope_.exponent() > of_each)
    return fmt::format("numbers are rounded away from zero too {} where it is likely: {}", slope_.of < 0 ? "seldom" : "often",
                       chance(slope_));
  if (neighbours_.exponent() > of_each)
    return fmt::format("neighbours are rounded {} too often: {}", neighbours_.of > 0 ? "alike" : "unlike", chance(neighbours_));
  return {};
}

}  // namespace ulpscope::verify
