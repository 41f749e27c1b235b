// SPDX-License-Identifier: Apache-2.0
// How far the means of parts of a row are from its mean, where a kernel updates and merges them in an order that is not known.
//
// The model: which elements a part has does not depend on their values. The sum of k of n numbers, drawn without replacement,
// is at least t with a probability of exp(k K(s) - s t) at most for every s > 0, where K(s) is the logarithm of the mean of
// e^(s x) over all n (W. Hoeffding, J. Am. Stat. Assoc. 58 (1963), 13, theorem 4 and Chernoff's bound).
#pragma once

#include <span>
#include <vector>

namespace ulpscope::verify {

/// For k = 1 ... n a bound of |sum of x - m| over a part of k elements; `centred` are the x - m of the row in the order of
/// memory. Of each k it fails with a probability of 2 exp(-lambda^2 / 2). Where a sum over every s-th element from some on, or
/// over the first ones of a run of s, s a power of two, is beyond that, the row is not in a random order: the bounds are then
/// the greatest sums of k elements of one sign.
std::vector<double> greatest_parts(std::span<const double> centred, double lambda);

}  // namespace ulpscope::verify
