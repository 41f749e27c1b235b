// SPDX-License-Identifier: Apache-2.0
// Forks; the parent's end follows from the child's status, and from what the child has written into memory of both.
#include "cli/own_process.hpp"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <new>

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

/// What the child has come to, in memory that both have: codes of how it ends, where that is known, or these.
constexpr int with_subject = -1, without_subject = -2;
using Shared = std::atomic<int>;
static_assert(Shared::is_always_lock_free);
Shared* come_to = nullptr;

/// The first of what runs at the child's end. No code of the subject's runs behind it, which could change the exit code.
void end_with(int code, void*) {
  if (come_to->load() != without_subject) return;
  std::fflush(nullptr);
  come_to->store(code);
  ::_exit(code);
}

/// Signals to be handed on are blocked.
[[noreturn]] void wait_and_end(const std::string& subject, const sigset_t& before) {
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
  pid_t ended = -1;
  while ((ended = ::waitpid(worker, &status, 0)) < 0 && errno == EINTR) continue;
  if (ended < 0) {
    remark("ulpscope: " + subject + ": how its process has ended is not known: " + std::strerror(errno));
    ::_exit(own_error);
  }
  const int code = come_to->load();
  if (code >= 0) ::_exit(code);
  const bool is_by_subject = code == with_subject;
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    const bool crashed = std::ranges::find(crash_signals, signal) != crash_signals.end();
    if (is_by_subject && crashed) {
      remark("ulpscope: " + subject + ": crashed");
      ::_exit(bad_usage);
    }
    if (is_by_subject && std::ranges::find(handed_on, signal) == handed_on.end())
      remark("ulpscope: " + subject + ": its process was ended by signal " + std::to_string(signal));
    end_by(signal);
  }
  if (!is_by_subject) ::_exit(WEXITSTATUS(status));
  remark("ulpscope: " + subject + ": has ended the process, with exit code " + std::to_string(WEXITSTATUS(status)));
  ::_exit(bad_usage);
}

}  // namespace

OwnProcess::OwnProcess(const std::string& subject) {
  const auto refused = [&](int error) {
    return Error(subject + ": no process can be started for it: " + std::strerror(error));
  };
  void* const page = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) throw refused(errno);
  come_to = new (page) Shared(with_subject);
  sigset_t blocked, before;
  ::sigemptyset(&blocked);
  for (const int signal : handed_on) ::sigaddset(&blocked, signal);
  ::sigprocmask(SIG_BLOCK, &blocked, &before);
  struct sigaction usual {
  }, of_children{};
  usual.sa_handler = SIG_DFL;  // where it is ignored nobody is told how a child has ended
  ::sigaction(SIGCHLD, &usual, &of_children);
  const pid_t parent = ::getpid();
  worker = ::fork();
  if (worker > 0) wait_and_end(subject, before);
  const int failed = errno;
  ::sigaction(SIGCHLD, &of_children, nullptr);
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  if (worker < 0) throw refused(failed);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(own_error);  // it was gone before
  rlimit core{};
  if (::getrlimit(RLIMIT_CORE, &core) == 0) core.rlim_cur = 0, ::setrlimit(RLIMIT_CORE, &core);
}

OwnProcess::~OwnProcess() {
  come_to->store(without_subject);
  ::on_exit(end_with, nullptr);
}

void OwnProcess::is_ended_by_itself() noexcept {
  if (come_to != nullptr) come_to->store(without_subject);
}

}  // namespace ulpscope::cli
