// SPDX-License-Identifier: Apache-2.0
// Quantiles of many numbers in two passes over them and little memory: the first counts them by their upper bits, the second,
// for each quantile, those that share its upper bits by their lower ones.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <vector>

namespace ulpscope::studies {

/// Calls its argument with pieces of the same numbers, all of them non-negative or NaN, in any order.
using Numbers = std::function<void(const std::function<void(std::span<const float>)>&)>;

/// The quantiles `q` (0 < q <= 1) of `numbers`, which is called twice: the least number v with at least q n of the n numbers at
/// most v (Hyndman and Fan, "Sample quantiles in statistical packages", 1996, definition 1). NaN counts as larger than all
/// others. Of no numbers each is NaN.
std::vector<float> quantiles(const Numbers& numbers, std::span<const double> q);

}  // namespace ulpscope::studies
