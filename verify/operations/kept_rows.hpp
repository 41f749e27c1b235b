// SPDX-License-Identifier: Apache-2.0
// What the elements of a row share, found once for the row: in 200 digits it costs more than all the rest of a long row.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace ulpscope::verify {

/// The rows asked for last, as many as threads may ask for at once. May be asked by several threads.
template <class T>
class KeptRows {
 public:
  /// What `make()` returned for this row. Threads that ask for a row that is being made wait for it.
  template <class Make>
  std::shared_ptr<const T> of(std::uint64_t row, const Make& make) const {
    const std::shared_ptr<Row> kept = place_of(row);
    const std::lock_guard lock(kept->making);
    if (!kept->made) kept->made.emplace(make());
    return {kept, &*kept->made};
  }

 private:
  struct Row {
    std::mutex making;
    std::optional<T> made;
  };
  using Place = std::pair<std::uint64_t, std::shared_ptr<Row>>;

  std::shared_ptr<Row> place_of(std::uint64_t row) const {
    const std::lock_guard lock(using_);
    const auto found = std::find_if(rows_.begin(), rows_.end(), [row](const Place& place) { return place.first == row; });
    if (found != rows_.end()) {
      std::rotate(found, found + 1, rows_.end());
    } else {
      if (rows_.size() >= most_) rows_.erase(rows_.begin());
      rows_.emplace_back(row, std::make_shared<Row>());
    }
    return rows_.back().second;
  }

  std::size_t most_ = std::max<std::size_t>(std::thread::hardware_concurrency(), 4);
  mutable std::mutex using_;
  mutable std::vector<Place> rows_;  ///< the one asked for last at the end
};

}  // namespace ulpscope::verify
