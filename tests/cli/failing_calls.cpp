// SPDX-License-Identifier: Apache-2.0
// Loaded before the C library (LD_PRELOAD): makes the n-th call of a kind fail that concerns a file below a folder, of
// close() one that is written.
// FAILING_CALL is the kind (open read write stat statat look chmod chown fsync close rename unlink mkdir link flock malloc),
// FAILING_NUMBER n from 1, FAILING_ERRNO what it answers, FAILING_FOLDER the folder. The file FAILING_MARK appears when it has
// failed: without it there were fewer calls. With n = 0 none fails, and the mark has their number. Calls before main() are not
// counted: what libraries do when they are loaded differs from run to run.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

namespace {

std::atomic<int> calls = 0;
std::atomic<bool> has_begun = false;  // main()

using Main = int (*)(int, char**, char**);
Main program = nullptr;

int begin(int count, char** words, char** variables) {
  has_begun = true;
  return program(count, words, variables);
}

template <class Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

/// Whether a path, from an open folder if it is relative, is below the folder.
bool concerns(int from, const char* path) {
  const char* const folder = ::getenv("FAILING_FOLDER");
  if (folder == nullptr || path == nullptr) return false;
  const size_t size = ::strlen(folder);
  if (path[0] == '/') return ::strncmp(path, folder, size) == 0;
  char link[64], target[PATH_MAX];
  if (from == AT_FDCWD)
    ::snprintf(link, sizeof link, "/proc/self/cwd");
  else
    ::snprintf(link, sizeof link, "/proc/self/fd/%d", from);
  const long got = ::syscall(SYS_readlinkat, AT_FDCWD, link, target, sizeof target);
  return got >= static_cast<long>(size) && ::strncmp(target, folder, size) == 0;
}
bool concerns(int descriptor) { return concerns(descriptor, "."); }

/// The number that a variable holds, 0 without one.
int number_in(const char* variable) {
  const char* const text = ::getenv(variable);
  return text == nullptr ? 0 : static_cast<int>(::strtol(text, nullptr, 10));
}

/// Whether this call is the one that fails; errno is set then.
bool fails(const char* kind, bool is_concerned) {
  const char* const wanted = ::getenv("FAILING_CALL");
  if (!has_begun || !is_concerned || wanted == nullptr || ::strcmp(wanted, kind) != 0) return false;
  if (++calls != number_in("FAILING_NUMBER")) return false;
  const long mark = ::syscall(SYS_openat, AT_FDCWD, ::getenv("FAILING_MARK"), O_CREAT | O_WRONLY, 0600);
  ::syscall(SYS_close, mark);
  errno = number_in("FAILING_ERRNO");
  return true;
}

}  // namespace

/// The number of calls where none was to fail.
__attribute__((destructor)) static void tell_number() {
  const char* const number = ::getenv("FAILING_NUMBER");
  if (number == nullptr || ::strcmp(number, "0") != 0) return;
  char text[16];
  const int size = ::snprintf(text, sizeof text, "%d", calls.load());
  const long mark = ::syscall(SYS_openat, AT_FDCWD, ::getenv("FAILING_MARK"), O_CREAT | O_WRONLY, 0600);
  ::syscall(SYS_write, mark, text, size);
  ::syscall(SYS_close, mark);
}

#define FAILING extern "C" __attribute__((visibility("default")))

FAILING int openat(int folder, const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = va_arg(more, mode_t);
  va_end(more);
  if (fails("open", concerns(folder, path))) return -1;
  return static_cast<int>(::syscall(SYS_openat, folder, path, flags, mode));
}
FAILING int openat64(int folder, const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = va_arg(more, mode_t);
  va_end(more);
  return ::openat(folder, path, flags, mode);
}
FAILING int open(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = va_arg(more, mode_t);
  va_end(more);
  return ::openat(AT_FDCWD, path, flags, mode);
}
FAILING int open64(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = va_arg(more, mode_t);
  va_end(more);
  return ::openat(AT_FDCWD, path, flags, mode);
}
FAILING ssize_t write(int file, const void* bytes, size_t size) {
  if (fails("write", concerns(file))) return -1;
  return ::syscall(SYS_write, file, bytes, size);
}
FAILING ssize_t read(int file, void* bytes, size_t size) {
  if (fails("read", concerns(file))) return -1;
  return ::syscall(SYS_read, file, bytes, size);
}
FAILING int fstat(int file, struct stat* found) {
  if (fails("stat", concerns(file))) return -1;
  return static_cast<int>(::syscall(SYS_fstat, file, found));
}
FAILING int failing_stat(const char* path, struct stat* found) __asm__("stat");  // as flock below
FAILING int failing_stat(const char* path, struct stat* found) {
  if (fails("look", concerns(AT_FDCWD, path))) return -1;
  return static_cast<int>(::syscall(SYS_newfstatat, AT_FDCWD, path, found, 0));
}
FAILING int fstatat(int folder, const char* path, struct stat* found, int flags) {
  if (fails("statat", concerns(folder, path))) return -1;
  return static_cast<int>(::syscall(SYS_newfstatat, folder, path, found, flags));
}
FAILING int fchown(int file, uid_t owner, gid_t group) {
  if (fails("chown", concerns(file))) return -1;
  return static_cast<int>(::syscall(SYS_fchown, file, owner, group));
}
FAILING int fchmod(int file, mode_t mode) {
  if (fails("chmod", concerns(file))) return -1;
  return static_cast<int>(::syscall(SYS_fchmod, file, mode));
}
FAILING int fsync(int file) {
  if (fails("fsync", concerns(file))) return -1;
  return static_cast<int>(::syscall(SYS_fsync, file));
}
FAILING int close(int file) {
  const bool is_written = (::fcntl(file, F_GETFL) & O_ACCMODE) == O_WRONLY;
  const bool failing = fails("close", is_written && concerns(file));
  const int reason = errno;
  const int answer = static_cast<int>(::syscall(SYS_close, file));  // it is closed all the same
  if (!failing) return answer;
  errno = reason;
  return -1;
}
FAILING int renameat(int from, const char* old_path, int to, const char* new_path) {
  if (fails("rename", concerns(to, new_path))) return -1;
  return static_cast<int>(::syscall(SYS_renameat2, from, old_path, to, new_path, 0));
}
FAILING int rename(const char* old_path, const char* new_path) { return ::renameat(AT_FDCWD, old_path, AT_FDCWD, new_path); }
FAILING int unlinkat(int folder, const char* path, int flags) {
  if (fails("unlink", concerns(folder, path))) return -1;
  return static_cast<int>(::syscall(SYS_unlinkat, folder, path, flags));
}
FAILING int unlink(const char* path) { return ::unlinkat(AT_FDCWD, path, 0); }
FAILING int rmdir(const char* path) { return ::unlinkat(AT_FDCWD, path, AT_REMOVEDIR); }
FAILING int remove(const char* path) {
  if (::unlink(path) != -1) return 0;
  return errno == EISDIR ? ::rmdir(path) : -1;
}
FAILING int mkdirat(int folder, const char* path, mode_t mode) {
  if (fails("mkdir", concerns(folder, path))) return -1;
  return static_cast<int>(::syscall(SYS_mkdirat, folder, path, mode));
}
FAILING int mkdir(const char* path, mode_t mode) { return ::mkdirat(AT_FDCWD, path, mode); }
FAILING int linkat(int from, const char* old_path, int to, const char* new_path, int flags) {
  if (fails("link", concerns(to, new_path))) return -1;
  return static_cast<int>(::syscall(SYS_linkat, from, old_path, to, new_path, flags));
}
FAILING int failing_flock(int file, int operation) __asm__("flock");  // a struct has that name, too
FAILING int failing_flock(int file, int operation) {
  if (fails("flock", concerns(file))) return -1;
  return static_cast<int>(::syscall(SYS_flock, file, operation));
}
FAILING int failing_start(Main main, int count, char** words, void (*init)(), void (*end)(), void (*unload)(),
                          void* stack) __asm__("__libc_start_main");
FAILING int failing_start(Main main, int count, char** words, void (*init)(), void (*end)(), void (*unload)(), void* stack) {
  program = main;
  return next<decltype(&failing_start)>("__libc_start_main")(begin, count, words, init, end, unload, stack);
}
FAILING void* malloc(size_t size) {
  static const auto real = next<void* (*)(size_t)>("malloc");
  if (fails("malloc", true)) return nullptr;
  return real(size);
}
