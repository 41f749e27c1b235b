// SPDX-License-Identifier: Apache-2.0
// Runs the phases one after another, each as a process, within the time left, and sums them up.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

#include "cli/commands.hpp"
#include "cli/devices_program/journal.hpp"
#include "cli/devices_program/parts.hpp"
#include "cli/devices_program/phase_output.hpp"
#include "cli/devices_program/phases.hpp"
#include "emu/error.hpp"
#include "emu/visible.hpp"
#include "files/descriptor.hpp"
#include "files/folder.hpp"
#include "files/new_file.hpp"
#include "verify/child_process.hpp"

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
  verify::ChildEnd child;
  double seconds;
  std::size_t processes;

  int code() const { return child.exit_code.value_or(own_error); }
};

/// What became of a phase, in a line.
std::string outcome(const Phase& phase, const PhaseEnd& end, const fs::path& log) {
  std::string line = std::string(phase.name) + ": ";
  if (end.child.timed_out) line += "stopped at its limit; ";
  if (end.child.signal != 0) line += "ended by signal " + std::to_string(end.child.signal) + "; ";
  if (end.child.exit_code.value_or(done) != done) line += "exit code " + std::to_string(*end.child.exit_code) + "; ";
  if (end.processes > 1) line += std::to_string(end.processes) + " processes, of which the last says: ";
  return line + last_line(log) + " (" + seconds_words(end.seconds) + ")";
}

/// NVIDIA's tool that watches every access of a kernel to memory; empty where it is not.
std::string compute_sanitizer() {
  std::vector<std::string> folders;
  const char* const path = std::getenv("PATH");
  std::istringstream words(path == nullptr ? "" : path);
  for (std::string folder; std::getline(words, folder, ':');) folders.push_back(folder);
  folders.push_back("/usr/local/cuda/bin");
  for (const std::string& folder : folders)
    if (const std::string tool = folder + "/compute-sanitizer"; ::access(tool.c_str(), X_OK) == 0) return tool;
  return "";
}

/// One phase, by this program again as a process of its own: what a faulty kernel leaves of a CUDA context is gone with the
/// process, and the next one goes on after the operation whose kernel it was.
class PhaseRun {
 public:
  PhaseRun(const Phase& phase, const DevicesOptions& options, const fs::path& folder)
      : phase_(phase),
        options_(options),
        file_((folder / phase.file).string()),
        journal_((folder / (std::string(phase.name) + ".journal")).string()),
        log_(folder / (std::string(phase.name) + ".log")) {
    for (const fs::path& own : {fs::path(journal_), log_}) fs::remove(own);  // a link of this name is not followed
  }

  /// `share` and `limit` in seconds: what the phase is asked to be done within, and when it is stopped.
  PhaseEnd run(double share, double limit) {
    const auto begin = std::chrono::steady_clock::now();
    PhaseEnd end{{}, 0, 0};
    JournalEnd before;
    int worst = done;
    for (bool again = true; again;) {
      const double passed = since(begin);
      const std::string part = end.processes == 0 ? file_ : file_ + ".part" + fs::path(file_).extension().string();
      end.child = verify::run_child(words(part, share - passed), std::max(limit - passed, 1.0), log_);
      if (++end.processes > 1) join_parts(file_, part);
      const JournalEnd after = end_of_journal(journal_);
      again = !after.finished && after.lines > before.lines && end.child.interrupted_by == 0 && since(begin) < limit;
      before = after;
      worst = std::max(worst, again && end.code() == own_error ? static_cast<int>(check_failed) : end.code());
    }
    end.seconds = since(begin);
    if (end.child.exit_code && end.processes > 1) end.child.exit_code = worst;
    fs::remove(journal_);
    return end;
  }
  const fs::path& log() const noexcept { return log_; }

 private:
  std::vector<std::string> words(const std::string& output, double seconds) const {
    std::vector<std::string> words;
    if (const std::string tool = compute_sanitizer(); watched() && !tool.empty())
      words = {tool, "--tool", "memcheck", "--error-exitcode", std::to_string(check_failed)};
    words.insert(words.end(), {fs::read_symlink("/proc/self/exe"), phase_.name, "--device", options_.device, "-o", output,
                               "--seed", std::to_string(options_.seed), "--seconds",
                               std::to_string(std::max(1, static_cast<int>(seconds))), "--journal", journal_});
    if (options_.tests > 0) words.insert(words.end(), {"--tests", std::to_string(options_.tests)});
    if (!options_.instruction.empty()) words.insert(words.end(), {"--instruction", options_.instruction});
    return words;
  }
  bool watched() const { return phase_.sanitized && options_.device.starts_with("cuda:"); }

  const Phase& phase_;
  const DevicesOptions& options_;
  std::string file_, journal_;
  fs::path log_;
};

/// All phases, one after the other. @returns the worst exit code.
int run_phases(const DevicesOptions& options, const fs::path& folder) {
  std::string summary;
  int worst = done;
  // A phase is asked to be done within its share, and stopped when it takes twice as long, or when time is up for all.
  constexpr double patience = 2, grace = 30;
  const auto start = std::chrono::steady_clock::now();
  for (const Phase& phase : phases()) {
    const bool unwatched = phase.sanitized && options.device.starts_with("cuda:") && compute_sanitizer().empty();
    say(std::string("== ") + phase.name + ": " + phase.words +
        (unwatched ? "; there is no compute-sanitizer to watch it" : ""));
    const double share = options.seconds * phase.share, left = options.seconds + grace - since(start);
    PhaseRun run(phase, options, folder);
    const PhaseEnd end = run.run(share, std::min(patience * share + grace, left));
    const std::string line = outcome(phase, end, run.log());
    say(emu::visible(line));
    summary += line + '\n';
    files::write_file((folder / "summary.txt").string(), summary);
    if (end.child.interrupted_by != 0) return own_error;
    if (end.code() == no_hardware && &phase == &phases().front()) return no_hardware;
    if (end.code() == vacuous) continue;  // the device has nothing of what the phase asks for
    const bool failed = end.code() != done && end.code() != check_failed;
    worst = std::max<int>(worst, failed ? own_error : end.code());
  }
  return worst;
}

/// Brings to the disk what tar has written: its bytes do not go through a NewFile.
bool is_on_disk(const std::string& path) {
  files::Descriptor file(::open(path.c_str(), O_WRONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!file.is_open()) return false;
  const bool synced = ::fsync(file.value()) == 0 || errno == EINVAL || errno == ENOTSUP;  // some file systems cannot
  return file.close() == 0 && synced;
}

/// FOLDER.tar.gz, to be carried away in one piece.
void archive(const fs::path& folder) {
  const std::string file = folder.string() + ".tar.gz";
  const std::string on_its_way = (folder.parent_path() / files::temporary_name(folder.filename().string())).string();
  constexpr double patience = 60;
  const verify::ChildEnd end = verify::run_child(
      {"tar", "-czf", on_its_way, "-C", folder.parent_path().string(), folder.filename().string()}, patience);
  std::error_code failed;
  const bool is_whole = end.exit_code.value_or(own_error) == done && is_on_disk(on_its_way);
  if (is_whole) fs::rename(on_its_way, file, failed);  // a link of this name is replaced
  if (!failed && is_whole) {
    say(emu::visible("everything is in " + file));
    return;
  }
  std::error_code ignored;
  fs::remove(on_its_way, ignored);
  throw Error(file + ": could not be written");
}

}  // namespace

int run_all(const DevicesOptions& options) {
  if (options.output.empty()) throw Error("all: give -o FOLDER");
  fs::path folder = fs::absolute(options.output).lexically_normal();
  if (folder.filename().empty()) folder = folder.parent_path();
  files::NewFolder(folder.string()).keep();
  const int worst = run_phases(options, folder);
  try {
    archive(folder);
  } catch (const Error& failure) {
    say(emu::visible(std::string("no archive: ") + failure.what()));
  }
  return worst;
}

}  // namespace ulpscope::cli
