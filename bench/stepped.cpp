// SPDX-License-Identifier: Apache-2.0
// ptrace(2): the child stops before the call, before each instruction, and after the call.
#include "bench/stepped.hpp"

#include <cstdlib>

#if defined(__x86_64__) && defined(__linux__)
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#endif

namespace ulpscope::bench {

#if defined(__x86_64__) && defined(__linux__)
namespace {

/// Waits for the next stop; its signal, or nothing when the child has ended.
std::optional<int> next_stop(pid_t child) {
  int status = 0;
  if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status)) return std::nullopt;
  return WSTOPSIG(status);
}

bool has_vector_prefix(pid_t child) {
  user_regs_struct registers{};
  if (ptrace(PTRACE_GETREGS, child, nullptr, &registers) != 0) return false;
  const long word = ptrace(PTRACE_PEEKTEXT, child, registers.rip, nullptr);
  const auto first = static_cast<unsigned char>(word);
  return first == 0x62 || first == 0xc4 || first == 0xc5;
}

}  // namespace

std::optional<std::uint64_t> vector_instructions(const std::function<void()>& work) {
  const pid_t child = fork();
  if (child < 0) return std::nullopt;
  if (child == 0) {
    if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(1);
    raise(SIGSTOP);
    work();
    raise(SIGSTOP);
    _exit(0);
  }
  std::optional<int> stop = next_stop(child);
  if (!stop) return std::nullopt;
  std::uint64_t count = 0;
  do {
    count += has_vector_prefix(child) ? 1 : 0;
    if (ptrace(PTRACE_SINGLESTEP, child, nullptr, nullptr) != 0) break;
    stop = next_stop(child);
  } while (stop == SIGTRAP);
  kill(child, SIGKILL);
  while (next_stop(child)) {
  }
  return stop == SIGSTOP ? std::optional(count) : std::nullopt;
}
#else
std::optional<std::uint64_t> vector_instructions(const std::function<void()>&) { return std::nullopt; }
#endif

std::optional<double> more_vector_instructions(const std::function<void()>& work, const std::function<void()>& less) {
  if (std::getenv("ULPSCOPE_BENCH_COUNT") == nullptr) return std::nullopt;
  const auto all = vector_instructions(work), some = vector_instructions(less);
  if (!all || !some) return std::nullopt;
  return static_cast<double>(*all) - static_cast<double>(*some);
}

}  // namespace ulpscope::bench
