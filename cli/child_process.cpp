// SPDX-License-Identifier: Apache-2.0
// Starts the program in a process group of its own, waits with a time limit, and ends the whole group.
#include "cli/child_process.hpp"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>

#include "emu/error.hpp"

namespace ulpscope::cli {
namespace {

volatile sig_atomic_t caught = 0;
void note(int signal) { caught = signal; }

/// While it lives, signals that would end this process are only noted.
class NotedSignals {
 public:
  NotedSignals() {
    caught = 0;
    struct sigaction noting = {};
    noting.sa_handler = note;
    for (std::size_t i = 0; i < signals.size(); ++i) {
      ::sigaction(signals[i], nullptr, &before_[i]);
      if (before_[i].sa_handler != SIG_IGN) ::sigaction(signals[i], &noting, nullptr);
    }
  }
  ~NotedSignals() {
    for (std::size_t i = 0; i < signals.size(); ++i) ::sigaction(signals[i], &before_[i], nullptr);
  }
  NotedSignals(const NotedSignals&) = delete;
  NotedSignals& operator=(const NotedSignals&) = delete;

 private:
  static constexpr std::array<int, 3> signals{SIGINT, SIGTERM, SIGHUP};
  std::array<struct sigaction, 3> before_ = {};
};

pid_t spawn(const std::vector<std::string>& words, const std::string& printed) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, printed.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  ::posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t defaults;
  ::sigemptyset(&defaults);
  for (const int ignored : {SIGPIPE, SIGXFSZ}) ::sigaddset(&defaults, ignored);  // by this program
  ::posix_spawnattr_setsigdefault(&attributes, &defaults);
  ::posix_spawnattr_setpgroup(&attributes, 0);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
  pid_t child = 0;
  const int failed = ::posix_spawnp(&child, arguments[0], &files, &attributes, arguments.data(), environ);
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&files);
  if (failed != 0) throw Error("program " + words[0] + ": cannot be run: " + ::strerror(failed));
  return child;
}

}  // namespace

ChildEnd run_child(const std::vector<std::string>& words, const std::string& printed, double timeout_s) {
  using Clock = std::chrono::steady_clock;
  const NotedSignals noted;
  const pid_t child = spawn(words, printed);
  const auto start = Clock::now();
  const std::chrono::duration<double> limit(timeout_s);
  ChildEnd end;
  int status = 0;
  auto pause = std::chrono::microseconds(200);
  while (::waitpid(child, &status, WNOHANG) == 0) {
    end.interrupted_by = caught;
    end.timed_out = caught == 0 && Clock::now() - start >= limit;
    if (end.timed_out || end.interrupted_by != 0) {
      ::kill(-child, SIGKILL);
      ::waitpid(child, &status, 0);
      return end;
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, std::chrono::microseconds(10'000));
  }
  end.interrupted_by = caught;
  ::kill(-child, SIGKILL);  // what it has left running
  if (WIFEXITED(status)) end.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) end.signal = WTERMSIG(status);
  return end;
}

}  // namespace ulpscope::cli
