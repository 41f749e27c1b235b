// SPDX-License-Identifier: Apache-2.0
// The derivation of docs/verify-operations.md as code.
#include "verify/operations/layer_norm_errors.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "emu/hypotenuse.hpp"
#include "emu/math.hpp"
#include "verify/operations/partial_means.hpp"
#include "verify/operations/random_sums.hpp"

namespace ulpscope::verify {
namespace {

double relative(const KernelArithmetic& arithmetic, const RowSums& sums) {
  return sum_relative(arithmetic, static_cast<std::uint64_t>(sums.n));
}

/// Updates and merges that a term is in: levels of their tree. Each is two additions on the way of a term, the difference of
/// the means and the new mean.
double levels(const KernelArithmetic& arithmetic, double n) {
  return arithmetic.depth == 0 ? n : std::min(n, std::ceil(static_cast<double>(arithmetic.depth) / 2));
}
double of_levels(const KernelArithmetic& arithmetic, double n) { return gamma(levels(arithmetic, n), sum_unit(arithmetic)); }

/// What updates and merges of means add to the error of a sum: 3u |d| n_small / n_both each, d the difference of the two means,
/// weighted n_both / n. With b = n_a n_b / n_both d^2 it is (n_small d)^2 <= 2 n_small b, the b add up to S, the n_small to
/// (n / 2) log2 n at most: sum n_small |d| <= sqrt(n log2 n S). The differences inherit the errors of the means, of which a
/// term carries log2 n as part of a smaller side and 2 ln n, the sum of the ratios, as part of a greater one.
double merge_error(const KernelArithmetic& arithmetic, const RowSums& sums) {
  const double u = sum_unit(arithmetic), n = sums.n, log2_n = emu::log2(n), g = of_levels(arithmetic, n);
  const double exact = std::sqrt(log2_n * sums.centred / n), inherited = log2_n + 2 * emu::log(n) + 1;
  return 3 * u * (exact + inherited * (g + 3 * u * inherited) * sums.magnitudes / n);
}

/// Of a sum and a division, or of a product with 1/n.
double of_division(const KernelArithmetic& arithmetic, double size) {
  return 2 * unit(arithmetic.format) * size + underflow(arithmetic.format);
}

/// Terms of a sum of squares: two roundings of the difference, one of the square, and one to spare for their products.
double own_roundings(const KernelArithmetic& arithmetic) { return 4 * sum_unit(arithmetic); }

/// Sum of (x - m')^2 = S + n (m' - m)^2, since x - m adds up to 0.
double two_passes(const KernelArithmetic& arithmetic, const RowSums& sums, double of_mean) {
  const double shifted = sums.n * of_mean * of_mean;
  const double own = relative(arithmetic, sums) + own_roundings(arithmetic);
  return shifted + own * (1 + own) * (sums.centred + shifted) + sums.n * underflow(arithmetic.format);
}

/// Of Welford's updates and Chan's merges. An error r of the mean of the n_u elements below u reaches the sum of squares as
/// 2 n_u r (m_u - m) in all: on the way up the contributions telescope. With |r| <= u |m_u| that is 2u (b + |m| sqrt(n_u b)),
/// b = n_u (m_u - m)^2; the sum's own rounding is u s, s the sum of squares below u. On one level of the tree the s and b add
/// up to S at most, so that a level costs u (2 S + 2 |m| sqrt(n S)).
double of_level(const RowSums& sums) { return 2 * sums.centred + 2 * sums.mean * std::sqrt(sums.n * sums.centred); }
/// sum n_small |d| |m_u - m| over all updates and merges. Its square is at most sum b, which is S, times the sum of n_small /
/// n_big n_u (m_u - m)^2. With n_u (m_u - m)^2 <= C_u, the sum of the (x - m)^2 below u, a term is in that with its sum of the
/// n_small / n_big: at most log2 of what its part grows by each time, log2 n in all, and 1 on each level.
double of_differences(const KernelArithmetic& arithmetic, const RowSums& sums) {
  return sums.centred * std::sqrt(std::min(emu::log2(sums.n), levels(arithmetic, sums.n)));
}
/// The rest: 3u |d| n_small / n_u in r; eight roundings of each n_a n_b / n d^2; the new mean in d (x - m), u |d| |m_u|, where
/// the d^2 of updates add up to 2 S and the m_u^2 to X (1 + ln n), X the sum of x^2; and squares of errors of means.
double of_merged_squares(const KernelArithmetic& arithmetic, const RowSums& sums, double of_mean) {
  const double merges = 6 * of_differences(arithmetic, sums) + 8 * sums.centred;
  const double updated = std::sqrt(2 * sums.centred * sums.squares * (1 + emu::log(sums.n)));
  return sum_unit(arithmetic) * (merges + updated) + sums.n * of_mean * of_mean;
}

double merging(const KernelArithmetic& arithmetic, const RowSums& sums, double of_mean) {
  const double g = of_levels(arithmetic, sums.n);
  return g * (1 + g) * of_level(sums) + (1 + g) * of_merged_squares(arithmetic, sums, of_mean) +
         sums.n * underflow(arithmetic.format);
}

double of_squares(const KernelArithmetic& arithmetic, const RowSums& sums) {
  return relative(arithmetic, sums) * sums.squares + sums.n * underflow(arithmetic.format);
}

/// Mean of squares less square of the mean.
double one_pass(const KernelArithmetic& arithmetic, const RowSums& sums, double of_mean) {
  const double of_square = 2 * sums.mean * of_mean + of_mean * of_mean;
  return of_squares(arithmetic, sums) + sums.n * of_square +
         4 * unit(arithmetic.format) * (sums.squares + sums.n * sums.mean * sums.mean);
}

std::vector<double> squared(std::span<const double> x) {
  std::vector<double> squares;
  for (const double v : x) squares.push_back(v * v);
  return squares;
}

double root_of_squares(std::span<const double> x) {
  double sum = 0;
  for (const double v : x) sum += v * v;
  return std::sqrt(sum);
}

/// Bounds for parts of k = 1 ... n elements: of |sum of x - m|, and of the sum of (x - m)^2.
struct Parts {
  std::vector<double> centred, squares;
};

Parts parts_of(const RowSums& sums, std::span<const double> centred, double lambda) {
  const double of_one = sums.centred / sums.n;
  std::vector<double> beside = squared(centred);
  for (double& square : beside) square -= of_one;
  Parts out{greatest_parts(centred, lambda), greatest_parts(beside, lambda)};
  for (std::size_t j = 0; j < beside.size(); ++j) out.squares[j] += static_cast<double>(j + 1) * of_one;
  return out;
}

/// Effects of roundings, squared and added up over all updates and merges.
struct Effects {
  double sums = 0;            ///< half an ulp of each sum of squares
  double means_on_sums = 0;   ///< 2 n_u (m_u - m) - d times half an ulp of m_u
  double means_on_means = 0;  ///< n_u times half an ulp of m_u: in n times the mean
  double between = 0;         ///< the greatest n_u (m_u - m)^2
};

/// Of the n - 1 updates and merges in any order the j-th smallest has j + 1 terms at most: of each effect the greatest with as
/// many.
Effects effects_of(const KernelArithmetic& arithmetic, const RowSums& sums, const Parts& parts) {
  const double u = unit(arithmetic.format), grown = 1 + relative(arithmetic, sums), furthest = parts.centred[0];
  Effects out{.between = furthest * furthest};
  double sum = 0, mean_on_sum = 0, mean_on_mean = 0;
  for (std::size_t j = 1; j < parts.centred.size(); ++j) {
    const double k = static_cast<double>(j + 1), part = parts.centred[j];
    const double of_mean = half_ulp(loosened(sums.mean + part / k) * grown, u);
    sum = std::max(sum, half_ulp(loosened(parts.squares[j]) * grown, u));
    mean_on_sum = std::max(mean_on_sum, 2 * (part + furthest) * of_mean);
    mean_on_mean = std::max(mean_on_mean, k * of_mean);
    out.between = std::max(out.between, part * part / k);
    out.sums += sum * sum, out.means_on_sums += mean_on_sum * mean_on_sum, out.means_on_means += mean_on_mean * mean_on_mean;
  }
  if (arithmetic.depth == 0) return out;
  const double most_on_sums = u * of_level(sums) * grown, most_on_means = u * sums.magnitudes * grown;
  const double depth = levels(arithmetic, sums.n);
  out.means_on_sums = std::min(out.means_on_sums, depth * most_on_sums * most_on_sums);
  out.means_on_means = std::min(out.means_on_means, depth * most_on_means * most_on_means);
  return out;
}

double root_sum(double of_squares, double a, double b = 0) { return std::sqrt(of_squares + a * a + b * b); }

/// A merge adds two terms, so that the j-th smallest addition of squares has j + 2 elements below it: one more of all. Of the
/// roundings of differences and products those of 1/n_u and n_a n_b / n are certain; the others cost (2 b + 2 sqrt(b w)) and
/// 2 sqrt(b w), b and b times u in the squares, where b = n_a n_b / n d^2 add up to S, w is the greatest n_u (m_u - m)^2, and b
/// at most 2 w, since w_a + w_b = w_u + b.
MomentErrors random_updates(const KernelArithmetic& arithmetic, const RowSums& sums, std::span<const double> centred,
                            double lambda, const Parts& parts) {
  const double u = unit(arithmetic.format), g = relative(arithmetic, sums), n = sums.n, scale = lambda * (1 + g);
  const Effects effects = effects_of(arithmetic, sums, parts);
  const double most = std::min(2 * effects.between, sums.centred);
  const double own = u * std::sqrt(sums.centred * (10 * most + 12 * effects.between));
  const double of_any_order = random_sum_error(arithmetic, squared(centred), TermScale::own);
  const double of_sums = std::min(effects.sums, of_any_order * of_any_order) + effects.means_on_sums;
  MomentErrors errors;
  errors.random_squares = scale * root_sum(of_sums, u * sums.centred, own);
  // The differences' and products' roundings: (n_small d)^2 <= n b.
  errors.random_mean = scale / n * root_sum(effects.means_on_means, u * std::sqrt(2 * n * sums.centred));
  errors.mean = (1 + g) * u * std::sqrt(emu::log2(n) * sums.centred / n) + underflow(arithmetic.format);
  const double of_mean = errors.mean + errors.random_mean;
  errors.squares = (1 + g) * u * 2 * (of_differences(arithmetic, sums) + sums.centred) + n * of_mean * of_mean * (1 + g) +
                   n * underflow(arithmetic.format);
  return errors;
}

}  // namespace

std::vector<MomentWay> ways_of(Norm norm, Variance variance) {
  if (norm == Norm::rms) return {MomentWay::squares};
  switch (variance) {
    case Variance::centred: return {MomentWay::two_pass, MomentWay::updates};
    case Variance::two_pass: return {MomentWay::two_pass};
    case Variance::one_pass: break;
  }
  return {MomentWay::one_pass};
}

MomentErrors worst_errors(const KernelArithmetic& arithmetic, const RowSums& sums, MomentWay way) {
  const double mean = sums.magnitudes / sums.n;
  MomentErrors errors;
  switch (way) {
    case MomentWay::squares: errors.squares = of_squares(arithmetic, sums); return errors;
    case MomentWay::updates:
      errors.mean = of_levels(arithmetic, sums.n) * mean + merge_error(arithmetic, sums) + underflow(arithmetic.format);
      errors.squares = merging(arithmetic, sums, errors.mean);
      return errors;
    case MomentWay::two_pass:
    case MomentWay::one_pass: break;
  }
  errors.mean = relative(arithmetic, sums) * mean + of_division(arithmetic, mean);
  errors.squares =
      way == MomentWay::one_pass ? one_pass(arithmetic, sums, errors.mean) : two_passes(arithmetic, sums, errors.mean);
  return errors;
}

MomentErrors random_errors(const KernelArithmetic& arithmetic, const RowSums& sums, MomentWay way, std::span<const float> x,
                           std::span<const double> centred, double rows, double false_alarm) {
  const double u = unit(arithmetic.format), g = relative(arithmetic, sums), n = sums.n;
  if (way == MomentWay::updates)  // half of the probability for both moments, half for both sums over each of n parts
    return random_updates(arithmetic, sums, centred, deviations(rows * 2, false_alarm / 2),
                          parts_of(sums, centred, deviations(rows * 2 * n, false_alarm / 2)));
  // Of each row the sum of squares and the mean, of each element both together.
  const double lambda = deviations(way == MomentWay::squares ? rows : rows * (2 + n), false_alarm);
  MomentErrors errors;
  const std::vector<double> squares = squared(centred);
  // Each term's own roundings: of the difference, which enters twice, and of the square.
  const double own = (way == MomentWay::squares ? 1 : 3) * u * root_of_squares(squares);
  const double of_sum = random_sum_error(arithmetic, squares, TermScale::own);
  errors.random_squares = lambda * emu::hypotenuse(of_sum, own) * (1 + g);
  errors.squares = n * underflow(arithmetic.format);
  if (way == MomentWay::squares) return errors;
  const std::vector<double> terms(x.begin(), x.end());
  errors.random_mean = lambda * (random_sum_error(arithmetic, terms, TermScale::own) / n) * (1 + g);
  errors.mean = of_division(arithmetic, sums.mean + errors.random_mean);
  const double of_mean = errors.mean + errors.random_mean;
  errors.squares += n * of_mean * of_mean * (1 + own_roundings(arithmetic) + g);
  errors.independent = true;
  return errors;
}

}  // namespace ulpscope::verify
