// SPDX-License-Identifier: Apache-2.0
// The numerators of a softmax and their sum, exactly and as a kernel computes them. softmax and attention share them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "verify/operations/ball.hpp"
#include "verify/operations/kernel_arithmetic.hpp"
#include "verify/operations/positive_sum.hpp"

namespace ulpscope::verify {

/// e^(s - max s) and their sum. Precondition: not empty; scores are finite.
template <class T>
struct Exponentials {
  std::vector<T> each;  ///< in the order of the scores
  T sum = T(0.0);       ///< of all of them
};

/// Those of `scores`, whose greatest is `greatest`.
template <class T>
Exponentials<T> exponentials(std::span<const T> scores, const T& greatest) {
  Exponentials<T> out;
  out.each.reserve(scores.size());
  PositiveSum<T> sum;
  for (const T& s : scores) {
    out.each.push_back(exp(s - greatest));
    sum.add(out.each.back());
  }
  out.sum = sum.total();
  return out;
}

/// How far a kernel's numerators and their sum may be from them.
struct ExponentialErrors {
  std::vector<double> each;  ///< relative, in the order of the scores
  double sum = 0;            ///< relative
};

/// How the numerators of a softmax are found and added.
struct ExponentialArithmetic {
  KernelArithmetic arithmetic = {};              ///< of functions, products and divisions
  KernelArithmetic sums = {};                    ///< of the additions of the numerators
  std::optional<emu::Format> shifted = {};       ///< what a score less the maximum is rounded to
  std::optional<emu::Format> exponentials = {};  ///< what a numerator is rounded to before it is added and divided
  std::uint64_t block = 16;                      ///< keys for which the maximum of an online softmax changes at most once
  double lambda = 0;  ///< deviations of random roundings of the sum (random_sums.hpp); 0: any roundings
};

/// `score_errors`: of the scores that a kernel takes the exponentials of.
ExponentialErrors exponential_errors(const ExponentialArithmetic& how, const Exponentials<Ball>& exact,
                                     std::span<const Ball> scores, const Ball& greatest, std::span<const double> score_errors);

/// Of a quotient n / d, |d computed - d| <= d_error < d; infinite where d_error is not below d. `n_error` likewise.
double quotient_error(const KernelArithmetic& arithmetic, const Ball& quotient, const Ball& d, double n_error, double d_error);

}  // namespace ulpscope::verify
