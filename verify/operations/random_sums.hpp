// SPDX-License-Identifier: Apache-2.0
// Sums in any order whose rounding errors are random: how far such a sum is from the exact one, but for a chosen probability.
//
// The model: the roundings of additions to nearest are errors of mean zero given all before them, each at most half an ulp of
// the sum that is rounded (N. J. Higham and T. Mary, SIAM J. Sci. Comput. 41 (2019), A2815; M. P. Connolly, N. J. Higham and T.
// Mary, SIAM J. Sci. Comput. 43 (2021), A566). By Azuma's and Hoeffding's inequality a sum of such errors, each at most c_i,
// exceeds lambda sqrt(sum c_i^2) with a probability of at most 2 exp(-lambda^2 / 2). The order is fixed before the data is
// known, and is otherwise free.
//
// Of all orders, trees of additions, sequential ones of falling magnitudes have the greatest sum of squares. Let the n - 1
// additions be sorted by the number of their terms. The k-th has n - k + 1 terms at most: contract it to one term, and the k -
// 1 others that are not within it need at least as many terms beside it. So its sum is at most that of the n - k + 1 greatest
// terms, of one sign.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "verify/operations/kernel_arithmetic.hpp"

namespace ulpscope::verify {

/// @throws Error where `false_alarm` is no probability, or roundings are not to nearest: the errors then have one sign.
void require_random(const KernelArithmetic& arithmetic, std::optional<double> false_alarm);

/// `; of random roundings, beyond which ...`
std::string words_of_false_alarm(double false_alarm);

/// Half an ulp of a sum of this size in a format of p bits, u = 2^-p: u times the power of two at or below it.
double half_ulp(double size, double u);

/// lambda for `events` two-sided bounds that hold together but for `false_alarm`: sqrt(2 ln(2 events / false_alarm)).
double deviations(double events, double false_alarm);

/// For each number of terms from 1 on the greatest magnitude of a sum of as many terms of one sign, or of fewer.
std::vector<double> greatest_sums(std::vector<double> terms);

/// Whether the terms are added as they are, or times a factor that may differ from sum to sum, so that the binade of a sum is
/// not known.
enum class TermScale : std::uint8_t { own, any };

/// The root of the sum of squares of what the additions of `terms` may lose, whatever their order within the declared depth:
/// half an ulp of each sum, which is u times it at most. With a depth d no term is in more than d sums: the sum of their
/// squares is at most d times the greatest sum times the sum of magnitudes.
double random_sum_error(const KernelArithmetic& arithmetic, std::span<const double> terms, TermScale scale);

/// Whether additions of the terms, in a format whose half ulp of 1 is u, lose amounts that agree: the model does not hold then.
/// A sum is a multiple of its own ulp, so what an addition within a binade loses follows from the term alone. Terms of few
/// values, or of values that lie nearer to each other than that ulp, lose amounts of one sign over and over. In each binade
/// that sums of them may have, what is lost is added up in the order of the terms: for amounts without a common sign the total
/// stays within sqrt(n) ulps, but for a probability of 10^-6.
bool roundings_agree(std::span<const float> terms, double u);

}  // namespace ulpscope::verify
