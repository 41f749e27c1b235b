// SPDX-License-Identifier: Apache-2.0
// Loops over elements and rows in threads; small ones stay in one.
#pragma once

#include <algorithm>
#include <cstddef>

#include "tensors/parallel.hpp"

namespace ulpscope::training {

/// act(first, last) over parts of [0, count), each element costing about `cost` additions.
template <class Act>
void for_each_part(std::size_t count, int threads, std::size_t cost, Act act) {
  constexpr std::size_t worth_a_thread = std::size_t{1} << 18;
  const std::size_t part = std::max<std::size_t>(worth_a_thread / std::max<std::size_t>(cost, 1), 1);
  if (count <= part || threads == 1) return act(std::size_t{0}, count);
  tensors::for_each_index((count + part - 1) / part, threads,
                          [&](std::size_t i) { act(i * part, std::min(count, (i + 1) * part)); });
}

}  // namespace ulpscope::training
