// SPDX-License-Identifier: Apache-2.0
// The cells of a study file that one shard has run, as text, and all cells from the texts of all shards.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "study_files/cells.hpp"
#include "study_files/run.hpp"

namespace ulpscope::study_files {

/// Some cells, and what was asked for.
struct StudyPart {
  std::string version, commit;                        ///< of the program
  std::string study, text;                            ///< as it was named; what it held
  std::vector<std::string> only;                      ///< the studies of it that are meant; all where it is empty
  std::vector<std::string> arguments;                 ///< the command line of the undivided run, without where it goes
  std::map<std::string, studies::StudyResult> cells;  ///< by digest_of()
};

/// The requests of all cells that differ, in the order of the file: `index`, `index` + `count`, ... are a shard's own.
std::vector<std::string> own_digests(const std::vector<PlannedStudy>& studies, std::uint64_t index, std::uint64_t count);

/// The text of a file.
std::string to_text(const StudyPart& part);
/// Whether a text says that it is such a file.
bool is_study_part(std::string_view text);
/// Back from it. @throws ulpscope::Error that names `name` where it is none
StudyPart study_part_of(std::string_view text, const std::string& name);

/// The cells of all parts of one run. `names` are those of the files, for messages. @throws ulpscope::Error where one is of
/// another program than this, or another run than the first, or two have the same cell
StudyPart merged(std::vector<StudyPart> parts, const std::vector<std::string>& names);

/// The cells of a part; what is not there is not computed either. @throws ulpscope::Error from keep()
class PartCells final : public Cells {
 public:
  /// `part` outlives this.
  explicit PartCells(const StudyPart& part) : part_(part) {}

  std::optional<studies::StudyResult> find(const GridCell& cell) const override;
  void keep(const GridCell& cell, const studies::StudyResult& result) const override;

 private:
  const StudyPart& part_;
};

/// @throws ulpscope::Error naming study and axes of the first cell that is in no part
void check_complete(const std::vector<PlannedStudy>& studies, const StudyPart& part);

}  // namespace ulpscope::study_files
