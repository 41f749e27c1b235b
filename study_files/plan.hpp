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

/// More cells than this in one study are refused: nobody waits for them.
inline constexpr std::size_t most_cells = 100'000;

struct GridCell {
  std::vector<std::string> on_axes;  ///< its value on each axis of its study, as a word
  std::unique_ptr<Study> study;
  std::string request;  ///< the kind and the fields as TOML: two cells with the same one are the same cell
};

struct PlannedStudy {
  std::string name, kind;
  std::vector<std::string> axes;  ///< keys, in the order of the file
  std::vector<GridCell> cells;    ///< the last axis fastest
};

/// The studies of a file, of which `only` keeps those named (all where it is empty). @throws ulpscope::Error with file and line
std::vector<PlannedStudy> plan(const requests::TomlValue& file, const std::vector<std::string>& only);

}  // namespace ulpscope::study_files
