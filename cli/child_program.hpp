// SPDX-License-Identifier: Apache-2.0
// A program of the user's that is given files in its words: `./check {ref} {out}`.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/scratch_folder.hpp"
#include "emu/format.hpp"
#include "verify/child_process.hpp"

namespace ulpscope::cli {

/// The program and its arguments, in which `{ref}` ... stand for files.
struct ChildProgram {
  std::vector<std::string> words;  ///< the program is looked for in PATH
  double timeout_s = 60;           ///< for each time that it runs

  /// Whether a word has this slot: `{out}`.
  bool names(std::string_view slot) const;

  /// Runs it, in a process group of its own, without input. `files`: what stands in the place of each slot. Where this process
  /// is interrupted meanwhile, the folder of the files is removed and the signal raised again; where it is killed, its files.
  /// In what it printed last, files have the names of their slots: others would differ each time.
  verify::ChildEnd run(const std::map<std::string, std::string>& files, const ScratchFolder& folder) const;

  /// How it ended, and the last line that it printed; `accepted`: what else there would be to say of an exit code.
  std::string how_it_ended(const verify::ChildEnd& end, const std::string& accepted) const;
};

/// What programs are given: an .npy of `values`, which are numbers of `format`, as float32, or float64 where they want it.
void write_values(const std::string& path, const std::vector<std::uint64_t>& shape, emu::Format format,
                  std::span<const double> values);
/// The same as codes, unsigned integers.
void write_codes(const std::string& path, const std::vector<std::uint64_t>& shape, emu::Format format,
                 std::span<const double> values);

/// The words of `./check --strict {ref} {out}` (requests::split_words()). `said` begins errors. @throws ulpscope::Error where a
/// quote is open or there is no word.
std::vector<std::string> program_words(std::string_view command, const std::string& said);

}  // namespace ulpscope::cli
