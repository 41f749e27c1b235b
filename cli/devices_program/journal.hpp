// SPDX-License-Identifier: Apache-2.0
// The pieces of a phase's work that were begun and ended, in a file: a process that takes a device's context with it, or that
// is ended, is followed by one that goes on after the piece that did it.
#pragma once

#include <cstddef>
#include <set>
#include <string>

#include "files/descriptor.hpp"
#include "studies/devices/device_work.hpp"

namespace ulpscope::cli {

class Journal final : public studies::WorkLog {
 public:
  /// What processes before this one wrote to the file, and goes on writing. `section` is one word and tells pieces of the same
  /// number apart. @throws ulpscope::Error where it cannot be written, as the members do
  Journal(std::string path, std::string section);

  bool has_ended(std::size_t piece) const override { return ended_.contains(piece); }
  bool was_begun(std::size_t piece) const override { return begun_.contains(piece); }
  void begin(std::size_t piece) override { add("begin", piece); }
  void end(std::size_t piece) override { add("end", piece); }
  void take_back(std::size_t piece) override { add("take_back", piece); }

  /// Notes that the phase has no piece left.
  static void finish(const std::string& path);

 private:
  void add(const char* what, std::size_t piece);

  std::string path_, section_;
  std::set<std::size_t> begun_, ended_;
  files::Descriptor file_;
};

/// What a journal says to those who start processes.
struct JournalEnd {
  std::size_t lines = 0;  ///< more than before where a process did something
  bool finished = false;
};
JournalEnd end_of_journal(const std::string& path);

}  // namespace ulpscope::cli
