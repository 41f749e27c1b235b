// SPDX-License-Identifier: Apache-2.0
// Errors of exponentials and of quotients.
#include "verify/operations/softmax_weights.hpp"

#include <cmath>
#include <limits>

namespace ulpscope::verify {

ExponentialErrors exponential_errors(const KernelArithmetic& arithmetic, const Exponentials<Ball>& exact,
                                     std::span<const Ball> scores, const Ball& greatest, std::span<const double> score_errors,
                                     std::uint64_t block) {
  const double u = unit(arithmetic.format), f = function_relative(arithmetic), tiny = underflow(arithmetic.format);
  const double n = static_cast<double>(scores.size());
  // Whatever maximum a kernel subtracts cancels in the quotient. The arguments of all exponentials on the way of a term, its
  // own and those that rescale it, have one sign and add up to t = s - max s: the subtraction, the product with log2(e) and
  // that constant's rounding cost u|t| each. Every rescaling costs another exponential and a product.
  const double rescalings = std::ceil(n / static_cast<double>(block));
  const double factors = f * (1 + rescalings) + u * rescalings;
  ExponentialErrors out;
  out.each.reserve(scores.size());
  double sum = 0, of_terms = 0;
  for (std::size_t j = 0; j < scores.size(); ++j) {
    const double of_argument = score_errors[j] + 4 * u * upper(scores[j] - greatest);
    const double error = upper(exact.each[j]) * emu::expm1(of_argument + factors) * (1 + 0x1p-40) + tiny;
    out.each.push_back(error);
    of_terms += error;
    sum += upper(exact.each[j]) + error;
  }
  out.sum = of_terms + sum_relative(arithmetic, scores.size()) * sum;
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
