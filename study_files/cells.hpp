// SPDX-License-Identifier: Apache-2.0
// Results of cells as files: each is written whole when it is there, so that a run that was ended goes on where it was.
#pragma once

#include <optional>
#include <string>

#include "studies/study.hpp"
#include "study_files/plan.hpp"

namespace ulpscope::study_files {

/// A folder beside the report, `DIR.partial`, until the report is written.
class CellStore {
 public:
  enum class Existing : std::uint8_t { refuse, resume };

  /// @throws ulpscope::Error where the folder is there and not to be resumed, or cannot be made
  CellStore(const std::string& report_directory, Existing existing);
  CellStore(const CellStore&) = delete;
  CellStore& operator=(const CellStore&) = delete;
  ~CellStore();  ///< a folder in which nothing is kept goes

  /// What is kept of a cell: of the same request by the same version of the program; nothing where there is none or it is no
  /// such file.
  std::optional<studies::StudyResult> find(const GridCell& cell) const;
  /// @throws ulpscope::Error
  void keep(const GridCell& cell, const studies::StudyResult& result) const;
  /// The report is written: the folder goes.
  void remove() const;
  const std::string& folder() const { return folder_; }

 private:
  std::string path_of(const GridCell& cell) const;
  std::string folder_;
};

/// A result as JSON that holds every bit of every number, and back; nothing where it is no such text.
std::string to_json(const studies::StudyResult& result);
std::optional<studies::StudyResult> result_of_json(const std::string& text);

}  // namespace ulpscope::study_files
