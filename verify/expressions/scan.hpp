// SPDX-License-Identifier: Apache-2.0
// Running sums in a given order, over any kind of number.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "verify/expressions/formula.hpp"

namespace ulpscope::verify {

/// Replaces each term by the sum up to it. `add` makes one sum of two.
template <class Number, class Add>
void scan(std::span<Number> terms, const ScanOrder& order, Add add) {
  if (order.block == 0) {
    for (std::size_t i = 1; i < terms.size(); ++i) terms[i] = add(terms[i - 1], terms[i]);
    return;
  }
  const auto length = static_cast<std::size_t>(order.block);
  for (std::size_t first = 0; first < terms.size(); first += length) {
    if (first != 0) terms[first] = add(terms[first], terms[first - 1]);
    const std::span<Number> block = terms.subspan(first, std::min(length, terms.size() - first));
    for (std::size_t half = 1; half < block.size(); half *= 2)
      for (std::size_t i = half; i < block.size(); ++i)
        if (i / half % 2 == 1) block[i] = add(block[i], block[i / half * half - 1]);
  }
}

}  // namespace ulpscope::verify
