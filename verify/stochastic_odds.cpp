// SPDX-License-Identifier: Apache-2.0
// Sums of three statistics of random roundings, and what is said of those that are too great.
#include "verify/stochastic_odds.hpp"

#include <fmt/format.h>

#include <cmath>

namespace ulpscope::verify {
namespace {

double over_root(double sum, double variance) { return variance > 0 ? sum / std::sqrt(variance) : 0; }

}  // namespace

void StochasticOdds::add(double exact, double rounded, const emu::RoundingOptions& options, double toward_zero, double away) {
  if (toward_zero == away || rounded == exact) return;
  const double steps = std::ldexp(1.0, options.random_bits);
  const double p = std::floor((exact - toward_zero) / (away - toward_zero) * steps) / steps;
  const bool is_away = rounded == away;
  const double rest = (is_away ? 1 : 0) - p, variance = p * (1 - p), slope = p - 0.5;
  ++count_, away_ += is_away ? 1 : 0, expected_ += p, variance_ += variance;
  slope_ += rest * slope, slope_variance_ += variance * slope * slope;
  products_ += rest * last_rest_, products_variance_ += variance * last_variance_;
  last_rest_ = rest, last_variance_ = variance;
}

void StochasticOdds::merge(const StochasticOdds& other) {
  count_ += other.count_, away_ += other.away_, expected_ += other.expected_, variance_ += other.variance_;
  slope_ += other.slope_, slope_variance_ += other.slope_variance_;
  products_ += other.products_, products_variance_ += other.products_variance_;
  last_rest_ = other.last_rest_, last_variance_ = other.last_variance_;
}

double StochasticOdds::bias() const noexcept { return over_root(static_cast<double>(away_) - expected_, variance_); }
double StochasticOdds::slope() const noexcept { return over_root(slope_, slope_variance_); }
double StochasticOdds::neighbours() const noexcept { return over_root(products_, products_variance_); }

std::string StochasticOdds::fault() const {
  if (!says_something()) return {};
  const auto sigmas = [](double x) { return fmt::format("{:.3g} standard deviations", std::fabs(x)); };
  if (std::fabs(bias()) > greatest)
    return fmt::format("{} of {} numbers are rounded away from zero, {:.0f} are expected: {} off", away_, count_, expected_,
                       sigmas(bias()));
  if (std::fabs(slope()) > greatest)
    return fmt::format("numbers are rounded away from zero too {} where it is likely: {} off", slope() < 0 ? "seldom" : "often",
                       sigmas(slope()));
  if (std::fabs(neighbours()) > greatest)
    return fmt::format("neighbours are rounded {} too often: {} off", neighbours() > 0 ? "alike" : "unlike",
                       sigmas(neighbours()));
  return {};
}

}  // namespace ulpscope::verify
