// SPDX-License-Identifier: Apache-2.0
// Errors of exponentials and of quotients.
#include "verify/operations/softmax_weights.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "verify/operations/random_sums.hpp"

namespace ulpscope::verify {
namespace {

/// What the additions of numerators of these sizes lose: in any case, or where their roundings are random. An online softmax
/// adds them at the scale of the maximum so far.
double sum_error(const ExponentialArithmetic& how, const std::vector<double>& sizes, double sum) {
  const double worst = sum_relative(how.sums, sizes.size()) * sum;
  if (how.lambda == 0 || !(worst < sum)) return worst;
  return std::min(worst, how.lambda * random_sum_error(how.sums, sizes, TermScale::any));
}

}  // namespace

ExponentialErrors exponential_errors(const ExponentialArithmetic& how, const Exponentials<Ball>& exact,
                                     std::span<const Ball> scores, const Ball& greatest, std::span<const double> score_errors) {
  const KernelArithmetic& arithmetic = how.arithmetic;
  const double u = unit(arithmetic.format), f = function_relative(arithmetic), tiny = underflow(arithmetic.format);
  const double n = static_cast<double>(scores.size());
  // Whatever maximum a kernel subtracts cancels in the quotient. The arguments of all exponentials on the way of a term, its
  // own and those that rescale it, have one sign and add up to t = s - max s: the subtraction, the product with log2(e) and
  // that constant's rounding cost u|t| each. Every rescaling costs another exponential and a product.
  const double rescalings = std::ceil(n / static_cast<double>(how.block));
  const double factors = f * (1 + rescalings) + u * rescalings;
  ExponentialErrors out;
  out.each.reserve(scores.size());
  const double u_shifted = how.shifted ? unit(*how.shifted) : 0, u_each = how.exponentials ? unit(*how.exponentials) : 0;
  const double tiny_each = how.exponentials ? underflow(*how.exponentials) : 0;
  std::vector<double> sizes;
  double sum = 0, of_terms = 0;
  for (std::size_t j = 0; j < scores.size(); ++j) {
    const double of_argument = score_errors[j] + (4 * u + u_shifted) * upper(scores[j] - greatest);
    const double size = upper(exact.each[j]);
    // Masks of -3.4e38: a kernel's numerator is 0, however large the error of its argument is by itself.
    const Ball below = scores[j] - greatest;
    constexpr double least_argument = -746;  // e^-746 is less than the least double
    const bool is_none = below.value + below.radius + of_argument + factors < least_argument;
    const double computed = is_none ? size + tiny : size * emu::expm1(of_argument + factors) * (1 + 0x1p-40) + tiny;
    const double error = computed + u_each * (size + computed) + tiny_each;
    out.each.push_back(error);
    of_terms += error;
    sum += size + error;
    sizes.push_back(size + error);
  }
  out.sum = of_terms + sum_error(how, sizes, sum);
  return out;
}

double quotient_error(const KernelArithmetic& arithmetic, const Ball& quotient, const Ball& d, double n_error, double d_error) {
  const double least = d.value - d.radius - d_error;
  if (!(least > 0)) return std::numeric_limits<double>::infinity();
  // A reciprocal and a product, or one division.
  const double inherited = (n_error + upper(quotient) * d_error) / least;
  const double own = 2 * function_relative(arithmetic) + 2 * unit(arithmetic.format);
  return inherited + own * (upper(quotient) + inherited) + underflow(arithmetic.format) * (1 + 1 / least);
}

}  // namespace ulpscope::verify
