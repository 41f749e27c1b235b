// SPDX-License-Identifier: Apache-2.0
// Appends a line for each begin and end, and reads those of earlier processes.
#include "cli/devices_program/journal.hpp"

#include <fcntl.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

#include "emu/error.hpp"

namespace ulpscope::cli {
namespace {

constexpr const char* finished = "finished";

files::Descriptor opened(const std::string& path) {
  files::Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0666));
  if (!file.is_open()) throw Error(path + ": cannot be written: " + std::strerror(errno));
  return file;
}

/// In one call: what a process that ends has written of its last line is nothing or all.
void append(const files::Descriptor& file, const std::string& line, const std::string& path) {
  const ssize_t written = ::write(file.value(), line.data(), line.size());
  if (written != static_cast<ssize_t>(line.size()))
    throw Error(path + ": cannot be written: " + std::strerror(written < 0 ? errno : ENOSPC));
}

}  // namespace

Journal::Journal(std::string path, std::string section) : path_(std::move(path)), section_(std::move(section)) {
  std::ifstream before(path_);
  std::string of, what;
  std::size_t piece = 0;
  while (before >> of >> what >> piece) {
    if (of != section_) continue;
    if (what == "begin") begun_.insert(piece);
    if (what == "take_back") begun_.erase(piece);
    if (what == "end") ended_.insert(piece);
  }
  file_ = opened(path_);
}

void Journal::add(const char* what, std::size_t piece) {
  append(file_, section_ + ' ' + what + ' ' + std::to_string(piece) + '\n', path_);
}

void Journal::finish(const std::string& path) { append(opened(path), std::string(finished) + '\n', path); }

JournalEnd end_of_journal(const std::string& path) {
  JournalEnd end;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line); ++end.lines) end.finished = end.finished || line == finished;
  return end;
}

}  // namespace ulpscope::cli
