// SPDX-License-Identifier: Apache-2.0
// Results of cells as files: each is written whole when it is there, so that a run that was ended goes on where it was.
#pragma once

#include <optional>
#include <string>

#include "files/work_folder.hpp"
#include "studies/study.hpp"
#include "study_files/plan.hpp"

namespace ulpscope::study_files {

/// The version of the program and what a cell asks, in 64 digits: cells of the same one have the same result.
std::string digest_of(const GridCell& cell);

/// Where results of cells are, and go.
class Cells {
 public:
  Cells() = default;
  virtual ~Cells() = default;
  Cells(const Cells&) = delete;
  Cells& operator=(const Cells&) = delete;

  /// What is kept of a cell; nothing where there is none.
  virtual std::optional<studies::StudyResult> find(const GridCell& cell) const = 0;
  /// @throws ulpscope::Error
  virtual void keep(const GridCell& cell, const studies::StudyResult& result) const = 0;
};

/// A folder beside the report, `DIR.partial`, until the report is written. A folder in which nothing is kept goes.
class CellStore final : public Cells {
 public:
  /// What to do with a folder that is there. `look`: nothing is made or kept.
  enum class Existing : std::uint8_t { refuse, resume, look };

  /// @throws ulpscope::Error where the folder is there and not to be resumed, cannot be made, or is another process's
  CellStore(const std::string& report_directory, Existing existing);

  /// What is kept of a cell: of the same request by the same version of the program; nothing where there is none or it is no
  /// such file, to the last bit.
  std::optional<studies::StudyResult> find(const GridCell& cell) const override;
  void keep(const GridCell& cell, const studies::StudyResult& result) const override;
  /// The report is written: the cells go, and their folder. @throws ulpscope::Error
  void remove();

 private:
  std::string path_of(const GridCell& cell) const;
  std::string path_;
  std::optional<files::WorkFolder> folder_;
};

/// A result as JSON that holds every bit of every number, and back; nothing where it is no such text.
std::string to_json(const studies::StudyResult& result);
std::optional<studies::StudyResult> result_of_json(const std::string& text);

}  // namespace ulpscope::study_files
