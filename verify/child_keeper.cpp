// SPDX-License-Identifier: Apache-2.0
// Forks twice: the keeper, and the program from it. The keeper waits for the program's end or for that of this process.
#include "verify/child_keeper.hpp"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "verify/child_process.hpp"

namespace ulpscope::verify::detail {
namespace {

void do_nothing(int) {}

/// Closes [first, last].
void close_between(unsigned first, unsigned last) {
  if (first > last) return;
#ifdef SYS_close_range
  if (::syscall(SYS_close_range, first, last, 0U) == 0) return;
#endif
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  for (std::uint64_t i = first; i <= last && i < files.rlim_cur; ++i) ::close(static_cast<int>(i));
}

/// Closes all files but the standard ones and these, of which -1 is none.
void close_all_but(std::array<int, 3> kept) {
  std::sort(kept.begin(), kept.end());
  unsigned first = STDERR_FILENO + 1;
  for (const int file : kept) {
    if (file < 0) continue;
    close_between(first, static_cast<unsigned>(file) - 1);
    first = static_cast<unsigned>(file) + 1;
  }
  close_between(first, ~0U);
}

template <class Resource>
void limit(Resource resource, rlim_t most) {
  rlimit now{};
  if (::getrlimit(resource, &now) != 0 || now.rlim_max < most) return;
  now = {most, most};
  ::setrlimit(resource, &now);
}

[[noreturn]] void become_program(const KeeperTask& task) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (const int changed : {SIGPIPE, SIGXFSZ, SIGCHLD}) ::signal(changed, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_FSIZE, largest_child_file);
  ::dup2(task.in, STDIN_FILENO);
  ::dup2(task.out, STDOUT_FILENO);
  if (task.errors_to_out) ::dup2(task.out, STDERR_FILENO);
  close_all_but({task.report, -1, -1});
  ::execve(task.program, task.words, task.environment);
  const KeeperReport failed{errno, 0};
  if (::write(task.report, &failed, sizeof failed) < 0) ::_exit(126);
  ::_exit(127);
}

/// The parent of a process, by the fourth word of /proc/PID/stat; the second, in brackets, may hold anything.
pid_t parent_of(const char* pid) {
  char path[64] = "/proc/", text[1024];
  std::strncat(path, pid, 20);
  std::strncat(path, "/stat", 6);
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return -1;
  const ssize_t size = ::read(file, text, sizeof text - 1);
  ::close(file);
  if (size <= 0) return -1;
  text[size] = '\0';
  const char* at = std::strrchr(text, ')');
  if (at == nullptr || std::strlen(at) < 5) return -1;
  pid_t parent = 0;
  for (at += 4; *at >= '0' && *at <= '9'; ++at) parent = 10 * parent + (*at - '0');
  return parent;
}

/// Of the entries of a directory, as getdents64(2) lays them out.
struct Entry {
  std::uint64_t inode;
  std::int64_t offset;
  unsigned short size;
  unsigned char type;
  char name[1];
};

/// Calls take(name) for the entries of an open directory.
template <class Take>
void for_each_name(int folder, Take take) {
  alignas(Entry) char entries[4096];
  for (long bytes = 0; (bytes = ::syscall(SYS_getdents64, folder, entries, sizeof entries)) > 0;) {
    for (long at = 0; at < bytes;) {
      const auto* const entry = reinterpret_cast<const Entry*>(entries + at);
      const char* const name = entries + at + offsetof(Entry, name);
      at += entry->size;
      take(name);
    }
  }
}

/// Kills the children of this process. Theirs become its own when they are gone.
void kill_children() {
  const pid_t self = ::getpid();
  const int folder = ::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;
  for_each_name(folder, [self](const char* name) {
    if (name[0] < '1' || name[0] > '9' || parent_of(name) != self) return;
    pid_t child = 0;
    for (const char* digit = name; *digit != '\0'; ++digit) child = 10 * child + (*digit - '0');
    ::kill(child, SIGKILL);
  });
  ::close(folder);
}

/// Removes the files of an open folder, and then the folder itself where it is still at its path and nothing else is in it.
void remove_folder(int folder, const char* path) {
  for (bool more = true; more;) {  // an entry may be passed over while others are removed
    more = false;
    ::lseek(folder, 0, SEEK_SET);
    for_each_name(folder, [&](const char* name) {
      struct stat file {};
      const bool is_file = ::fstatat(folder, name, &file, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(file.st_mode);
      more = (is_file && ::unlinkat(folder, name, 0) == 0) || more;
    });
  }
  struct stat made {
  }, there{};
  const bool is_there = ::fstat(folder, &made) == 0 && ::lstat(path, &there) == 0;
  if (is_there && made.st_dev == there.st_dev && made.st_ino == there.st_ino) ::rmdir(path);
}

/// Whether the process that started this one is gone, and has not said that all is to end.
bool is_alone(int life) {
  pollfd ready{life, POLLIN, 0};
  char told = 0;
  return ::poll(&ready, 1, 0) > 0 && ::read(life, &told, 1) == 0;
}

/// Waits for children that have ended; `program`'s end is reported.
void reap(pid_t program, const KeeperTask& task, bool& ended, bool& childless) {
  for (;;) {
    int status = 0;
    const pid_t child = ::waitpid(-1, &status, WNOHANG);
    childless = child < 0 && errno == ECHILD;
    if (child <= 0) return;
    if (child != program) continue;
    ended = true;
    const KeeperReport report{0, status};
    if (::write(task.report, &report, sizeof report) < 0) return;
  }
}

/// Until nothing is left, or, where something cannot be killed, for some ten seconds.
void end_all(pid_t program, const KeeperTask& task) {
  constexpr int most_rounds = 5000;
  bool ended = false, childless = false;
  ::kill(-program, SIGKILL);
  for (int round = 0; round < most_rounds; ++round) {
    reap(program, task, ended, childless);
    if (childless) return;
    kill_children();
    const timespec pause{0, 2'000'000};
    ::nanosleep(&pause, nullptr);
  }
}

[[noreturn]] void keep(const KeeperTask& task) {
  ::setpgid(0, 0);  // what a terminal sends to this process is not for the keeper
  for (const int ignored : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) ::signal(ignored, SIG_IGN);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  struct sigaction waking {};
  waking.sa_handler = do_nothing;
  ::sigaction(SIGCHLD, &waking, nullptr);
  sigset_t child_ends, before;
  ::sigemptyset(&child_ends);
  ::sigaddset(&child_ends, SIGCHLD);
  ::sigprocmask(SIG_BLOCK, &child_ends, &before);
  ::sigdelset(&before, SIGCHLD);
  const pid_t program = ::fork();
  if (program == 0) {
    for (const int ignored : {SIGINT, SIGTERM, SIGHUP}) ::signal(ignored, SIG_DFL);
    become_program(task);
  }
  if (program < 0) {
    const KeeperReport failed{errno, 0};
    ::_exit(::write(task.report, &failed, sizeof failed) < 0 ? 1 : 0);
  }
  ::setpgid(program, program);
  const int nothing = ::open("/dev/null", O_RDWR);
  for (int standard = 0; nothing >= 0 && standard < 3; ++standard) ::dup2(nothing, standard);
  close_all_but({task.life, task.report, task.folder});
  bool ended = false, childless = false;
  for (;;) {
    reap(program, task, ended, childless);
    pollfd life{task.life, POLLIN, 0};
    if (ended || childless || ::ppoll(&life, 1, nullptr, &before) > 0) break;
  }
  end_all(program, task);
  if (task.folder >= 0 && is_alone(task.life)) remove_folder(task.folder, task.folder_path);
  ::_exit(0);
}

}  // namespace

pid_t start_keeper(const KeeperTask& task) {
  const pid_t keeper = ::fork();
  if (keeper == 0) keep(task);
  return keeper;
}

}  // namespace ulpscope::verify::detail
