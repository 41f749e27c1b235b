// SPDX-License-Identifier: Apache-2.0
// The pieces of files that were used last, of all files together: windows that are mapped, blocks that are inflated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "tensors/bytes.hpp"

namespace ulpscope::tensors {

/// Keeps pieces until others need their room. Those that somebody still reads live on when they are dropped here. Safe to use
/// from several threads.
class PieceCache {
 public:
  /// `most` says how many bytes may be kept, each time that one more is.
  explicit PieceCache(std::uint64_t (*most)()) : most_(most) {}

  /// Piece number `index` of an object; nothing where it is not kept.
  std::optional<Piece> find(const void* object, std::uint64_t index);
  /// Keeps it, where it fits at all, and drops those that were used the longest ago.
  void keep(const void* object, std::uint64_t index, const Piece& piece);
  /// Drops those of an object, which is about to end.
  void forget(const void* object);
  /// Drops all.
  void clear();

 private:
  using Key = std::pair<const void*, std::uint64_t>;
  struct Kept {
    Key key;
    Piece piece;
  };
  using Order = std::list<Kept>;  // the one that was used last comes first

  /// Takes one out, into those that end when the lock is free again.
  Order::iterator drop(Order::iterator kept, Order& dropped);

  std::uint64_t (*most_)();
  std::mutex mutex_;
  Order order_;
  std::map<Key, Order::iterator> known_;
  std::uint64_t bytes_ = 0;
};

}  // namespace ulpscope::tensors
