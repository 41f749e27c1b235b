// SPDX-License-Identifier: Apache-2.0
// Where wrong elements lie: in few rows, few columns, one tile, at the edges, or everywhere.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ulpscope::verify {

/// `1 row`, `2 rows`.
std::string plural(std::uint64_t count, const char* one);

/// Counts of wrong elements of a matrix (all leading dimensions count as rows) by row, column and tile of `tile` by `tile`.
class WrongPlaces {
 public:
  static constexpr std::uint64_t tile = 16;  ///< extent of a tile

  /// Of an output of this shape, without wrong elements.
  explicit WrongPlaces(const std::vector<std::uint64_t>& shape);
  /// Counts element `index`, in row-major order, as wrong.
  void add(std::uint64_t index);

  /// Sentences, the most telling first; none where nothing is wrong or nothing stands out.
  std::vector<std::string> sentences() const;

 private:
  std::uint64_t rows_, columns_;
  std::uint64_t total_ = 0;
  std::vector<std::uint64_t> by_row_, by_column_, by_tile_;
};

}  // namespace ulpscope::verify
