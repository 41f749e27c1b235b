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

/// Half an ulp of a sum of this size in a format of p bits, u = 2^-p: u times the power of two at or below it.
double half_ulp(double size, double u) { return size > 0 ? u * std::ldexp(1.0, std::ilogb(size)) : 0; }

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

bool repeats_itself(std::span<const float> terms) {
  std::vector<float> sizes;
  for (const float x : terms) sizes.push_back(std::abs(x));
  std::sort(sizes.begin(), sizes.end());
  const std::size_t quarter = sizes.size() / 4;
  for (std::size_t i = 0; i + quarter < sizes.size(); ++i)
    if (sizes[i] == sizes[i + quarter] && sizes[i] != 0) return true;
  return false;
}

}  // namespace ulpscope::verify
