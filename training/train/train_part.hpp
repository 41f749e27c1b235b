// SPDX-License-Identifier: Apache-2.0
// The runs of a training study that one shard has made, as text, and all runs from the texts of all shards. A line says what
// was asked, and of each run one what came of it and others its numbers, however many; all are one JSON object.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "studies/shards/part_file.hpp"
#include "training/train/run.hpp"

namespace ulpscope::training {

/// Some runs, and what was asked for.
struct TrainPart {
  std::string version, commit;         ///< of the program
  std::string study, text;             ///< as it was named; what it held
  std::string work;                    ///< by lines, what else the runs are made of: options, contents of inputs, recipes
  std::vector<std::string> recipes;    ///< names of those of all runs
  std::vector<std::uint64_t> seeds;    ///< likewise
  std::uint64_t steps = 0;             ///< of a run that does not diverge
  std::vector<std::string> arguments;  ///< the command line of the undivided run, without where it goes
  std::vector<RunResult> runs;         ///< this part's own
};

/// Numbers of a run on one line at most. A line of them has 16 digits for each, and few bytes more.
inline constexpr std::size_t numbers_of_line = 65536;

/// Writes the text of a part, but for the brace that closes it.
void write_train_part(const TrainPart& part, const std::function<void(std::string_view text)>& write);

/// Whether a text begins as such a part does.
bool begins_train_part(std::string_view text);

/// What a part was asked for, from its first line. `name` is that of the file, for messages; what `next_line` throws is passed
/// on as it is. @throws ulpscope::Error
TrainPart read_train_part(const studies::PartReader::NextLine& next_line, const std::string& name);
/// Its runs, from the lines behind that one, to the last. @throws ulpscope::Error
std::vector<RunResult> read_train_runs(const studies::PartReader::NextLine& next_line, const std::string& name,
                                       const TrainPart& head);

/// The runs of all parts of one study, in the order of an undivided run. `names` are those of the files, for messages.
/// @throws ulpscope::Error where one is of other work than the first, two have the same run, or a run is in none
TrainPart merged(std::vector<TrainPart> parts, const std::vector<std::string>& names);

}  // namespace ulpscope::training
