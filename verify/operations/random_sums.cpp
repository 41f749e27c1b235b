// SPDX-License-Identifier: Apache-2.0
// Sorted partial sums, and half an ulp of each.
#include "verify/operations/random_sums.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>

#include "emu/error.hpp"
#include "emu/math.hpp"

namespace ulpscope::verify {
namespace {

/// Running sums of the terms of one sign, the greatest first; `sign` is 1 or -1.
std::vector<double> running_sums(std::span<const double> terms, double sign) {
  std::vector<double> sums;
  for (const double x : terms)
    if (x * sign > 0) sums.push_back(x * sign);
  std::sort(sums.begin(), sums.end(), std::greater<>());
  double sum = 0;
  for (double& x : sums) x = sum += x;
  return sums;
}

double at_most(const std::vector<double>& sums, std::size_t count) {
  return sums.empty() ? 0 : sums[std::min(count, sums.size()) - 1];
}

}  // namespace

void require_random(const KernelArithmetic& arithmetic, std::optional<double> false_alarm) {
  if (!false_alarm) return;
  if (!(*false_alarm > 0 && *false_alarm < 1)) throw Error("--false-alarm: a probability between 0 and 1, e.g. 1e-6");
  if (sum_unit(arithmetic) != unit(arithmetic.format))
    throw Error("--false-alarm: sums that are rounded toward zero have errors of one sign, which are not random");
}

std::string words_of_false_alarm(double false_alarm) {
  return fmt::format("; of random roundings, beyond which a correct output is with a probability of {:.3g}", false_alarm);
}

double half_ulp(double size, double u) { return size > 0 ? u * std::ldexp(1.0, std::ilogb(size)) : 0; }

double deviations(double events, double false_alarm) { return std::sqrt(2 * emu::log(2 * events / false_alarm)); }

std::vector<double> greatest_sums(std::vector<double> terms) {
  const std::vector<double> positive = running_sums(terms, 1), negative = running_sums(terms, -1);
  for (std::size_t j = 0; j < terms.size(); ++j) terms[j] = std::max(at_most(positive, j + 1), at_most(negative, j + 1));
  return terms;
}

double random_sum_error(const KernelArithmetic& arithmetic, std::span<const double> terms, TermScale scale) {
  const double u = unit(arithmetic.format), grown = 1 + sum_relative(arithmetic, terms.size());
  const std::vector<double> sums = greatest_sums({terms.begin(), terms.end()});
  double squares = 0, magnitudes = 0;
  for (std::size_t j = 1; j < sums.size(); ++j) {
    const double size = loosened(sums[j] * grown), lost = scale == TermScale::own ? half_ulp(size, u) : u * size;
    squares += lost * lost;
  }
  if (arithmetic.depth != 0 && !sums.empty()) {
    for (const double x : terms) magnitudes += std::abs(x);
    const double d = static_cast<double>(arithmetic.depth);
    squares = std::min(squares, d * (u * grown * sums.back()) * (u * grown * magnitudes));
  }
  return loosened(std::sqrt(squares));
}

bool roundings_agree(std::span<const float> terms, double u) {
  constexpr std::size_t least = 32;  // the certain bound is no more than the probable one of fewer
  if (terms.size() < least) return false;
  double greatest = 0, sum = 0;
  for (const float x : terms)
    greatest = std::max(greatest, std::abs(static_cast<double>(x))), sum += std::abs(static_cast<double>(x));
  if (!(sum > 0) || !std::isfinite(sum)) return false;
  // What n roundings of at most half an ulp without a common sign come to: 1.5 sqrt(n), in ulps, is five standard deviations.
  const double most = 1.5 * std::sqrt(static_cast<double>(terms.size()));
  for (int binade = std::ilogb(greatest); binade <= std::ilogb(sum); ++binade) {
    const double ulp = 2 * u * std::ldexp(1.0, binade), inverse = 1 / ulp;
    double lost = 0;
    for (const float x : terms) {
      const double in_ulps = static_cast<double>(x) * inverse, off = std::nearbyint(in_ulps) - in_ulps;
      lost += std::abs(off) == 0.5 ? 0 : off;  // which way a tie goes follows from the sum
      if (std::abs(lost) > most) return true;
    }
  }
  return false;
}

}  // namespace ulpscope::verify
