// SPDX-License-Identifier: Apache-2.0
// Work shared out to processes that know nothing of each other: which elements are one's own.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "studies/census/census.hpp"
#include "tensors/tensor.hpp"

namespace ulpscope::studies {

/// One of several processes.
struct Shard {
  std::uint64_t index = 0;  ///< from 0
  std::uint64_t count = 1;  ///< of all

  /// `0-of-4`
  std::string name() const { return std::to_string(index) + "-of-" + std::to_string(count); }
};

/// Reads `I/N`, or `auto`: the places that Slurm (array tasks, and the tasks of srun), Open MPI, or a launcher with PMI gives
/// in the environment. @throws ulpscope::Error where it is neither, or the environment says nothing
Shard parse_shard(const std::string& word, const std::function<const char*(const char*)>& environment);

/// The part of each tensor that is a shard's own: all together lie next to each other in the order of the tensors, and hold as
/// many stored bits as those of other shards, but for whole chunks. Every chunk is in one shard.
std::vector<ElementRange> ranges_of(const std::vector<tensors::Tensor>& tensors, const Shard& shard);

}  // namespace ulpscope::studies
