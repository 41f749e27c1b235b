// SPDX-License-Identifier: Apache-2.0
// Chernoff's bound at arguments that are halved, and the sums that a row in a random order keeps to.
#include "verify/operations/partial_means.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "emu/math.hpp"
#include "verify/operations/kernel_arithmetic.hpp"
#include "verify/operations/random_sums.hpp"

namespace ulpscope::verify {
namespace {

/// t of which exp(k K(s) - s t) = exp(-lambda^2 / 2) for one s: a line in k.
struct ChernoffLine {
  double slope, offset;
};

double log_of_mean(std::span<const double> x, bool inverted) {
  double sum = 0;
  for (const double v : x) sum += inverted ? 1 / v : v;
  return emu::log(sum / static_cast<double>(x.size()));
}

/// The best s for k elements is lambda / (deviation sqrt(k)) where x is normal: from that of one to that of n. A factor of
/// sqrt(2) beside the best costs a sixteenth.
std::vector<ChernoffLine> chernoff_lines(std::span<const double> x, double lambda) {
  constexpr double most_exponent = 600;  // e^600 and what 2^100 of them add up to are doubles
  double squares = 0, most = 0;
  for (const double v : x) squares += v * v, most = std::max(most, std::abs(v));
  if (!(squares > 0)) return {};
  const double last = lambda / std::sqrt(squares), first = last * std::sqrt(static_cast<double>(x.size()));
  double s = std::min(first, most_exponent / most);
  std::vector<double> powers;
  for (const double v : x) powers.push_back(emu::exp(s * v));
  std::vector<ChernoffLine> lines;
  for (;; s /= 2) {
    const double k = std::max({log_of_mean(powers, false), log_of_mean(powers, true), 0.0});
    lines.push_back({k / s, lambda * lambda / 2 / s});
    if (s <= last) return lines;
    for (double& v : powers) v = std::sqrt(v);
  }
}

/// Of k = 1 ... n elements; those that are left out have the opposite sum.
std::vector<double> chernoff_bounds(std::span<const double> x, double lambda) {
  constexpr double margin = 1 + 0x1p-20;  // for the roundings of means and logarithms
  const std::vector<ChernoffLine> lines = chernoff_lines(x, lambda);
  std::vector<double> bounds;
  for (std::size_t k = 1; k <= x.size(); ++k) {
    double least = lines.empty() ? 0 : lines.back().slope * static_cast<double>(k) + lines.back().offset;
    for (const ChernoffLine& line : lines) least = std::min(least, line.slope * static_cast<double>(k) + line.offset);
    bounds.push_back(least * margin);
  }
  for (std::size_t k = 1; 2 * k < x.size(); ++k) bounds[x.size() - k - 1] = std::min(bounds[x.size() - k - 1], bounds[k - 1]);
  return bounds;
}

/// Whether the sums of the first ones of x[from], x[from + step], ... below x[end] are within their bounds.
bool are_within(std::span<const double> x, std::size_t from, std::size_t step, std::size_t end,
                std::span<const double> bounds) {
  double sum = 0;
  for (std::size_t i = from, k = 0; i < end; i += step, ++k) {
    sum += x[i];
    if (std::abs(sum) > bounds[k]) return false;
  }
  return true;
}

bool has_random_order(std::span<const double> x, std::span<const double> bounds) {
  for (std::size_t s = 1; s <= x.size(); s *= 2) {
    for (std::size_t from = 0; from < s; ++from)
      if (!are_within(x, from, s, x.size(), bounds)) return false;
    for (std::size_t from = 0; from < x.size(); from += s)
      if (!are_within(x, from, 1, std::min(x.size(), from + s), bounds)) return false;
  }
  return true;
}

}  // namespace

std::vector<double> greatest_parts(std::span<const double> centred, double lambda) {
  std::vector<double> parts = greatest_sums({centred.begin(), centred.end()});
  const std::vector<double> bounds = chernoff_bounds(centred, lambda);
  if (!has_random_order(centred, bounds)) return parts;
  for (std::size_t k = 0; k < parts.size(); ++k) parts[k] = std::min(loosened(parts[k]), bounds[k]);
  return parts;
}

}  // namespace ulpscope::verify
