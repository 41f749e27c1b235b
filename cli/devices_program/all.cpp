// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "cli/child_process.hpp"
#include "cli/commands.hpp"
#include "cli/devices_program/phases.hpp"
#include "emu/error.hpp"

namespace ulpscope::cli {
namespace {

namespace fs = std::filesystem;

std::string last_line(const fs::path& log) {
  std::ifstream in(log);
  std::string line, last;
  while (std::getline(in, line))
    if (!line.empty()) last = line;
  return last;
}

double since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

std::string seconds_words(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f s", seconds);
  return text;
}

struct PhaseEnd {
  ChildEnd child;
  double seconds;

  int code() const { return child.exit_code.value_or(own_error); }
};

/// What became of a phase, in a line.
std::string outcome(const Phase& phase, const PhaseEnd& end, const fs::path& log) {
  std::string line = std::string(phase.name) + ": ";
  if (end.child.timed_out) line += "stopped at its limit; ";
  if (end.child.signal != 0) line += "ended by signal " + std::to_string(end.child.signal) + "; ";
  if (end.child.exit_code.value_or(done) != done) line += "exit code " + std::to_string(*end.child.exit_code) + "; ";
  return line + last_line(log) + " (" + seconds_words(end.seconds) + ")";
}

/// This program again, as a process of its own: what a faulty kernel leaves of a CUDA context is gone with the process.
std::vector<std::string> words_of(const Phase& phase, const DevicesOptions& options, const fs::path& folder, double seconds) {
  std::vector<std::string> words{fs::read_symlink("/proc/self/exe"),
                                 phase.name,
                                 "--device",
                                 options.device,
                                 "-o",
                                 folder / phase.file,
                                 "--seed",
                                 std::to_string(options.seed),
                                 "--seconds",
                                 std::to_string(std::max(1, static_cast<int>(seconds)))};
  if (options.tests > 0) words.insert(words.end(), {"--tests", std::to_string(options.tests)});
  if (!options.instruction.empty()) words.insert(words.end(), {"--instruction", options.instruction});
  return words;
}

}  // namespace

int run_all(const DevicesOptions& options) {
  if (options.output.empty()) throw Error("all: give -o FOLDER");
  const fs::path folder = options.output;
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw Error(folder.string() + ": cannot be made: " + error.message());
  std::ofstream summary(folder / "summary.txt");
  int worst = done;
  // A phase is asked to be done within its share, and stopped when it takes twice as long, or when time is up for all.
  constexpr double patience = 2, grace = 30;
  const auto start = std::chrono::steady_clock::now();
  for (const Phase& phase : phases()) {
    std::printf("== %s: %s\n", phase.name, phase.words);
    std::fflush(stdout);
    const double seconds = options.seconds * phase.share, left = options.seconds + grace - since(start);
    const fs::path log = folder / (std::string(phase.name) + ".log");
    const auto begin = std::chrono::steady_clock::now();
    const ChildEnd child =
        run_child(words_of(phase, options, folder, seconds), log, std::min(patience * seconds + grace, left));
    const PhaseEnd end{child, since(begin)};
    const std::string line = outcome(phase, end, log);
    std::printf("%s\n", line.c_str());
    summary << line << '\n' << std::flush;
    if (child.interrupted_by != 0) return own_error;
    if (end.code() == no_hardware && &phase == &phases().front()) return no_hardware;
    if (end.code() == vacuous) continue;  // the device has nothing of what the phase asks for
    const bool failed = end.code() != done && end.code() != check_failed;
    worst = std::max<int>(worst, failed ? own_error : end.code());
  }
  if (!summary) throw Error((folder / "summary.txt").string() + ": cannot be written");
  return worst;
}

}  // namespace ulpscope::cli
