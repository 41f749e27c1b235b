// SPDX-License-Identifier: Apache-2.0
// A study file: its studies, and the cells of their grids. Where one value may stand a list is an axis; a key whose type is a
// list becomes an axis by a list of lists.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "requests/toml.hpp"
#include "study_files/kinds.hpp"

namespace ulpscope::study_files {

/// More cells than this in the studies of a file together are refused: nobody waits for them.
inline constexpr std::size_t most_cells = 100'000;

struct GridCell {
  const Kind* kind;
  std::vector<std::string> on_axes;  ///< its value on each axis of its study, as a word
  std::unique_ptr<Study> study;

  /// The kind and the fields as TOML: two cells with the same one are the same cell.
  std::string request() const;
};

/// The cells of a study, the last axis fastest. Each is made when it is asked for: as many requests have no room at once.
class CellGrid {
 public:
  /// A key, and what stands for it in one cell after the other.
  struct Axis {
    std::string key;
    requests::TomlValue::List values;
  };
  /// `base` has the values that all cells have. @throws ulpscope::Error where a value is none
  CellGrid(const Kind& kind, std::unique_ptr<Study> base, std::vector<Axis> axes);

  std::size_t size() const noexcept { return size_; }
  GridCell operator[](std::size_t index) const;

  /// For loops over all.
  struct Iterator {
    const CellGrid* grid;
    std::size_t index;
    GridCell operator*() const { return (*grid)[index]; }
    Iterator& operator++() { return ++index, *this; }
    bool operator!=(const Iterator& other) const { return index != other.index; }
  };
  Iterator begin() const { return {this, 0}; }
  Iterator end() const { return {this, size_}; }

 private:
  const Kind* kind_;
  std::unique_ptr<Study> base_;
  std::vector<Axis> axes_;
  std::size_t size_ = 1;
};

struct PlannedStudy {
  std::string name, kind;
  std::vector<std::string> axes;  ///< keys, in the order of the file
  CellGrid cells;
};

/// The studies of a file, of which `only` keeps those named (all where it is empty). @throws ulpscope::Error with file and
/// line, also where there are too many cells, and where two studies have a table of one name
std::vector<PlannedStudy> plan(const requests::TomlValue& file, const std::vector<std::string>& only);

}  // namespace ulpscope::study_files
