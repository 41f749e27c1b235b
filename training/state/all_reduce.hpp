// SPDX-License-Identifier: Apache-2.0
// The sum of the gradients of data-parallel workers, each addition rounded to the format that travels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "training/tape/precision.hpp"

namespace ulpscope::training {

/// In which order W workers' numbers are added.
enum class ReduceOrder : std::uint8_t {
  /// Reduce-scatter and all-gather: numbers are cut into W equal parts (the last ones shorter), and the sum of part c begins at
  /// worker c + 1 and goes round to worker c (Patarasuk and Yuan, 2009; NCCL's ring).
  ring,
  /// Neighbours are added, then neighbouring pairs, and so on to worker 0, and the sum goes back the same way.
  tree,
};

/// The words `ring` and `tree`. @throws ulpscope::Error
ReduceOrder parse_reduce_order(std::string_view word);

/// Worker by worker numbers of `storage`, all equally many; the result is what every worker has behind it. Each partial sum is
/// formed in Real and stored as `storage` says. @throws ulpscope::Error where there is no worker, or sizes differ
template <class Real>
std::vector<Real> all_reduce(const std::vector<std::vector<Real>>& workers, ReduceOrder order, const Storage& storage);

/// Bytes that all workers together send for `numbers` numbers of `format`: 2 (workers - 1) times the tensor, in either order.
std::uint64_t bytes_moved(std::size_t workers, std::size_t numbers, emu::Format format);

}  // namespace ulpscope::training
