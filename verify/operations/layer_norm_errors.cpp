// SPDX-License-Identifier: Apache-2.0
// The derivation of docs/verify-operations.md as code.
#include "verify/operations/layer_norm_errors.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "emu/math.hpp"

namespace ulpscope::verify {
namespace {

double relative(const KernelArithmetic& arithmetic, const RowSums& sums) {
  return sum_relative(arithmetic, static_cast<std::uint64_t>(sums.n));
}

/// Of Welford's updates and Chan's merges beyond that of a sum: 3u |difference| n_small / n_both a merge, which a mean sees
/// weighted with n_both / n. A term is in the smaller part log2 n times at most, and in the greater one the ratios sum to 2 ln
/// n.
double of_updates(const KernelArithmetic& arithmetic, double n) {
  return 3 * sum_unit(arithmetic) * (emu::log2(n) + 2 * emu::log(n) + 1);
}

}  // namespace

double mean_error(const KernelArithmetic& arithmetic, const RowSums& sums) {
  const double of_sum = relative(arithmetic, sums) + of_updates(arithmetic, sums.n);
  const double u = unit(arithmetic.format);
  return (of_sum + 2 * u) * sums.magnitudes / sums.n + underflow(arithmetic.format);
}

double squares_error(const KernelArithmetic& arithmetic, const RowSums& sums) {
  return relative(arithmetic, sums) * sums.squares + sums.n * underflow(arithmetic.format);
}

double centred_error(const KernelArithmetic& arithmetic, const RowSums& sums, Variance variance) {
  const double n = sums.n, of_mean = mean_error(arithmetic, sums);
  if (variance == Variance::one_pass) {
    const double mean = sums.magnitudes / n, of_square = 2 * mean * of_mean + of_mean * of_mean;
    return squares_error(arithmetic, sums) + n * of_square + 4 * unit(arithmetic.format) * (sums.squares + n * mean * mean);
  }
  // Root of the sum, over all merges, of n_a n_b / n (error of the difference of means)^2: at most sqrt(n) u sum |x| in any
  // order, and depth u sqrt(depth sum x^2). A second pass adds n (error of the mean)^2, which is no more.
  double spread = std::sqrt(n) * of_mean;
  if (arithmetic.depth != 0) {
    const double d = static_cast<double>(arithmetic.depth), u = sum_unit(arithmetic);
    const double by_depth = (gamma(d, u) + of_updates(arithmetic, n) + 2 * u) * std::sqrt((d + 1) * sums.squares);
    spread = std::min(spread, by_depth + std::sqrt(n) * underflow(arithmetic.format));
  }
  const double inherited = 2 * std::sqrt(sums.centred) * spread + spread * spread;
  const double own = relative(arithmetic, sums) + 8 * sum_unit(arithmetic);
  return inherited + own * (sums.centred + inherited) + n * underflow(arithmetic.format);
}

}  // namespace ulpscope::verify
