// SPDX-License-Identifier: Apache-2.0
// Nodes of a binary tree over chunks, joined as soon as both halves of one are there.
#include "studies/census/partial_sums.hpp"

namespace ulpscope::studies {

void PartialSums::add(const ChunkSums& chunks) {
  chunks_.push_back(chunks);
  while (chunks_.size() > 1) {
    ChunkSums& left = chunks_[chunks_.size() - 2];
    const ChunkSums& right = chunks_.back();
    const std::uint64_t half = std::uint64_t{1} << left.level;
    if (left.level != right.level || left.first % (2 * half) != 0 || left.first + half != right.first) return;
    left.sums.merge(right.sums);
    ++left.level;
    chunks_.pop_back();
  }
}

void PartialSums::merge(const PartialSums& next) {
  exact_.merge(next.exact_);
  for (const ChunkSums& chunks : next.chunks_) add(chunks);
}

ErrorSums PartialSums::finish() const {
  if (chunks_.empty()) return exact_.rounded();
  ErrorSums sums = chunks_.back().sums;
  for (auto left = chunks_.rbegin() + 1; left != chunks_.rend(); ++left) {
    ErrorSums joined = left->sums;
    joined.merge(sums);
    sums = joined;
  }
  return sums;
}

}  // namespace ulpscope::studies
