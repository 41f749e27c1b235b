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
#include "verify/operations/random_sums.hpp"

namespace ulpscope::verify {
namespace {

double relative(const KernelArithmetic& arithmetic, const RowSums& sums) {
  return sum_relative(arithmetic, static_cast<std::uint64_t>(sums.n));
}

/// Sums that a term is in, in a row: levels of the tree of additions.
double levels(const KernelArithmetic& arithmetic, double n) {
  return arithmetic.depth == 0 ? n : std::min(n, static_cast<double>(arithmetic.depth) + 1);
}

bool updates(Norm norm, Variance variance) { return norm == Norm::layer && variance == Variance::centred; }

/// What updates and merges of means add to the error of a sum: 3u |d| n_small / n_both each, d the difference of the two means,
/// weighted n_both / n. With b = n_a n_b / n_both d^2 it is (n_small d)^2 <= 2 n_small b, the b add up to S, the n_small to
/// (n / 2) log2 n at most: sum n_small |d| <= sqrt(n log2 n S). The differences inherit the errors of the means, of which a
/// term carries log2 n as part of a smaller side and 2 ln n, the sum of the ratios, as part of a greater one.
double merge_error(const KernelArithmetic& arithmetic, const RowSums& sums) {
  const double u = sum_unit(arithmetic), n = sums.n, log2_n = emu::log2(n), g = relative(arithmetic, sums);
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
/// The rest: 3u |d| n_small / n_u in r, whose products with n_u |m_u - m| are at most sqrt(b_u C_u) (C_u: of the elements below
/// u) and add up to S sqrt(levels); five roundings of each n_a n_b / n d^2; the new mean in d (x - m), u |d| |m_u|, where the
/// d^2 of updates add up to 2 S and the m_u^2 to X (1 + ln n), X the sum of x^2; and squares of errors of means.
double of_merged_squares(const KernelArithmetic& arithmetic, const RowSums& sums, double of_mean) {
  const double u = sum_unit(arithmetic), n = sums.n;
  const double merges = (6 * std::sqrt(levels(arithmetic, n)) + 8) * sums.centred;
  const double updated = std::sqrt(2 * sums.centred * sums.squares * (1 + emu::log(n)));
  const double spread = std::sqrt(n) * of_mean;
  return u * (merges + updated) + spread * spread;
}

double merging(const KernelArithmetic& arithmetic, const RowSums& sums, double of_mean) {
  const double g = gamma(levels(arithmetic, sums.n), sum_unit(arithmetic));
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

double centred_error(const KernelArithmetic& arithmetic, const RowSums& sums, Variance variance, double of_mean) {
  if (variance == Variance::one_pass) return one_pass(arithmetic, sums, of_mean);
  const double passes = two_passes(arithmetic, sums, of_mean);
  return variance == Variance::two_pass ? passes : std::max(passes, merging(arithmetic, sums, of_mean));
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

/// The levels of merging() one sum at a time, the greatest sums of squares first.
double random_merging(const KernelArithmetic& arithmetic, const RowSums& sums, const std::vector<double>& squares) {
  const std::vector<double> largest = greatest_sums(squares);
  double total = 0;
  for (std::size_t j = 1; j < largest.size(); ++j) {
    const double of_sum = 2 * largest[j] + 2 * sums.mean * std::sqrt(static_cast<double>(j + 1) * largest[j]);
    total += of_sum * of_sum;
  }
  const double most = of_level(sums);
  if (arithmetic.depth != 0) total = std::min(total, levels(arithmetic, sums.n) * most * most);
  return unit(arithmetic.format) * std::sqrt(total);
}

}  // namespace

MomentErrors worst_errors(const KernelArithmetic& arithmetic, const RowSums& sums, Norm norm, Variance variance) {
  MomentErrors errors;
  if (norm == Norm::rms) {
    errors.squares = of_squares(arithmetic, sums);
    return errors;
  }
  const double mean = sums.magnitudes / sums.n;
  errors.mean = relative(arithmetic, sums) * mean + of_division(arithmetic, mean) +
                (updates(norm, variance) ? merge_error(arithmetic, sums) : 0);
  errors.squares = centred_error(arithmetic, sums, variance, errors.mean);
  return errors;
}

MomentErrors random_errors(const KernelArithmetic& arithmetic, const RowSums& sums, Norm norm, Variance variance,
                           std::span<const float> x, std::span<const double> centred, double lambda) {
  const double u = unit(arithmetic.format), g = relative(arithmetic, sums), n = sums.n;
  MomentErrors errors;
  // Each term's own roundings: of the difference, which enters twice, and of the square.
  const std::vector<double> squares = squared(centred);
  const double own = (norm == Norm::rms ? 1 : 3) * u * root_of_squares(squares);
  const double of_sum = random_sum_error(arithmetic, squares, TermScale::own);
  errors.random_squares = lambda * emu::hypotenuse(of_sum, own) * (1 + g);
  errors.squares = n * underflow(arithmetic.format);
  if (norm == Norm::rms) return errors;
  const std::vector<double> terms(x.begin(), x.end());
  const bool merges = updates(norm, variance);
  const double of_merges = merges ? 3 * u * std::sqrt(sums.centred / n) : 0;  // (n_small d)^2 <= n b: n S in all
  errors.random_mean = lambda * emu::hypotenuse(random_sum_error(arithmetic, terms, TermScale::own) / n, of_merges) * (1 + g);
  errors.mean = of_division(arithmetic, sums.mean + errors.random_mean);
  const double of_mean = errors.mean + errors.random_mean;
  errors.squares += n * of_mean * of_mean * (1 + own_roundings(arithmetic) + g);
  errors.independent = !merges;
  if (!merges) return errors;
  errors.random_squares = std::max(errors.random_squares, lambda * (1 + g) * random_merging(arithmetic, sums, squares));
  errors.squares += (1 + g) * of_merged_squares(arithmetic, sums, of_mean);
  return errors;
}

}  // namespace ulpscope::verify
