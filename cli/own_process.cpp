// SPDX-License-Identifier: Apache-2.0
// Forks; the parent's end follows from the child's status and from whether it has written a byte.
#include "cli/own_process.hpp"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "cli/commands.hpp"
#include "cli/output.hpp"
#include "emu/error.hpp"

namespace ulpscope::cli {
namespace {

constexpr std::array crash_signals{SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGSYS, SIGTRAP};
constexpr std::array handed_on{SIGINT, SIGTERM, SIGHUP};

volatile pid_t worker = -1;  // read by a signal handler

extern "C" void hand_on(int signal) { ::kill(worker, signal); }

/// Ends as a process that a signal has ended.
[[noreturn]] void end_by(int signal) {
  ::signal(signal, SIG_DFL);
  sigset_t one;
  ::sigemptyset(&one);
  ::sigaddset(&one, signal);
  ::sigprocmask(SIG_UNBLOCK, &one, nullptr);
  ::raise(signal);
  ::_exit(own_error);
}

/// `told`: reads the child's byte. Signals to be handed on are blocked.
[[noreturn]] void wait_and_end(const std::string& subject, int told, const sigset_t& before) {
  for (const int signal : handed_on) {
    struct sigaction action {};
    ::sigaction(signal, nullptr, &action);
    if (action.sa_handler == SIG_IGN) continue;
    action = {};
    action.sa_handler = hand_on;
    ::sigaction(signal, &action, nullptr);
  }
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  int status = 0;
  while (::waitpid(worker, &status, 0) < 0 && errno == EINTR) continue;
  char byte = 0;
  const bool is_over = ::read(told, &byte, 1) == 1;  // a process that the subject has left behind may hold the pipe: O_NONBLOCK
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    if (is_over || std::ranges::find(crash_signals, signal) == crash_signals.end()) end_by(signal);
    remark("ulpscope: " + subject + ": crashed");
    ::_exit(bad_usage);
  }
  const int code = WEXITSTATUS(status);
  if (is_over || code == own_error) ::_exit(code);
  remark("ulpscope: " + subject + ": has ended the process, with exit code " + std::to_string(code));
  ::_exit(bad_usage);
}

}  // namespace

OwnProcess::OwnProcess(const std::string& subject) {
  std::array<int, 2> pipe{};
  if (::pipe2(pipe.data(), O_CLOEXEC | O_NONBLOCK) != 0)
    throw Error(subject + ": no process can be started for it: " + std::strerror(errno));
  sigset_t blocked, before;
  ::sigemptyset(&blocked);
  for (const int signal : handed_on) ::sigaddset(&blocked, signal);
  ::sigprocmask(SIG_BLOCK, &blocked, &before);
  const pid_t parent = ::getpid();
  worker = ::fork();
  if (worker > 0) {
    ::close(pipe[1]);
    wait_and_end(subject, pipe[0], before);
  }
  const int failed = errno;
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  ::close(pipe[0]);
  told_ = pipe[1];
  if (worker < 0) throw Error(subject + ": no process can be started for it: " + std::strerror(failed));
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(own_error);  // it was gone before
  rlimit core{};
  if (::getrlimit(RLIMIT_CORE, &core) == 0) core.rlim_cur = 0, ::setrlimit(RLIMIT_CORE, &core);
}

OwnProcess::~OwnProcess() {
  const char byte = 1;
  while (::write(told_, &byte, 1) < 0 && errno == EINTR) continue;
  ::close(told_);
}

}  // namespace ulpscope::cli
