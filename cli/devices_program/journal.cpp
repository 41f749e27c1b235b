// SPDX-License-Identifier: Apache-2.0
// Appends a line for each begin and end, and reads those of earlier processes.
#include "cli/devices_program/journal.hpp"

#include <utility>

namespace ulpscope::cli {
namespace {
constexpr const char* finished = "finished";
}

Journal::Journal(std::string path, std::string section) : section_(std::move(section)) {
  std::ifstream before(path);
  std::string of, what;
  std::size_t piece = 0;
  while (before >> of >> what >> piece) {
    if (of != section_) continue;
    if (what == "begin") begun_.insert(piece);
    if (what == "take_back") begun_.erase(piece);
    if (what == "end") ended_.insert(piece);
  }
  file_.open(path, std::ios::app);
}

void Journal::add(const char* what, std::size_t piece) {
  file_ << section_ << ' ' << what << ' ' << piece << '\n' << std::flush;
}

void Journal::finish(const std::string& path) { std::ofstream(path, std::ios::app) << finished << '\n'; }

JournalEnd end_of_journal(const std::string& path) {
  JournalEnd end;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line); ++end.lines) end.finished = end.finished || line == finished;
  return end;
}

}  // namespace ulpscope::cli
