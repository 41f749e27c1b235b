// SPDX-License-Identifier: Apache-2.0
// A list in the order of use, and an index of it. Pieces end outside the lock: unmapping takes its time.
#include "tensors/piece_cache.hpp"

#include <iterator>

namespace ulpscope::tensors {

std::optional<Piece> PieceCache::find(const void* object, std::uint64_t index) {
  const std::scoped_lock lock(mutex_);
  const auto found = known_.find({object, index});
  if (found == known_.end()) return std::nullopt;
  order_.splice(order_.begin(), order_, found->second);
  return found->second->piece;
}

PieceCache::Order::iterator PieceCache::drop(Order::iterator kept, Order& dropped) {
  known_.erase(kept->key);
  bytes_ -= kept->piece.bytes.size();
  const auto next = std::next(kept);
  dropped.splice(dropped.end(), order_, kept);
  return next;
}

void PieceCache::keep(const void* object, std::uint64_t index, const Piece& piece) {
  const std::uint64_t most = most_(), size = piece.bytes.size();
  if (size > most) return;
  Order dropped;
  const std::scoped_lock lock(mutex_);
  if (known_.contains({object, index})) return;
  while (!order_.empty() && bytes_ > most - size) drop(std::prev(order_.end()), dropped);
  order_.push_front({{object, index}, piece});
  known_[{object, index}] = order_.begin();
  bytes_ += size;
}

void PieceCache::forget(const void* object) {
  Order dropped;
  const std::scoped_lock lock(mutex_);
  for (auto at = known_.lower_bound({object, 0}); at != known_.end() && at->first.first == object;)
    drop((at++)->second, dropped);
}

void PieceCache::clear() {
  Order dropped;
  const std::scoped_lock lock(mutex_);
  known_.clear();
  bytes_ = 0;
  dropped.swap(order_);
}

}  // namespace ulpscope::tensors
