// SPDX-License-Identifier: Apache-2.0
// Which rows of a matrix belong to which group, as mixtures of experts deal tokens out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "verify/operations/integers.hpp"

namespace ulpscope::verify {

/// Rows dealt out to groups.
struct RowGroups {
  static constexpr std::size_t none = static_cast<std::size_t>(-1);  ///< the group of a row that is in none

  std::vector<std::vector<std::uint64_t>> rows;  ///< of each group, in order
  std::vector<std::size_t> group_of;             ///< of each row
  std::vector<std::uint64_t> place_of;           ///< of each row within its group

  /// Rows in no group.
  std::uint64_t padding() const;
  /// `3 groups of 0 to 12 rows; 1 row in none, not judged`.
  std::string words() const;
};

/// Group g has the rows from where the one before it ends to before `ends` g, as torch's `offs`; rows behind the last end are
/// in no group.
/// @throws Error where there are not `groups` ends, they decrease or exceed `rows`
RowGroups groups_by_ends(const Integers& ends, std::uint64_t rows, std::uint64_t groups);
/// The group of each row, -1 for none, as DeepGEMM's `m_indices`. @throws Error where there are not `rows`, or a group does not
/// exist
RowGroups groups_by_row(const Integers& group_of, std::uint64_t rows, std::uint64_t groups);

}  // namespace ulpscope::verify
