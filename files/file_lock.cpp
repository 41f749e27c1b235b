// SPDX-License-Identifier: Apache-2.0
// flock() on a file of its own: it works over networks, too, where folders have no locks, and whoever cannot write to the
// folder can hold none but one that is left there.
#include "files/file_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

#include "emu/error.hpp"
#include "files/confinement.hpp"

namespace ulpscope::files {

FileLock::FileLock(const Folder& folder, const std::string& name, const std::string& what, std::chrono::milliseconds patience)
    : folder_(folder), name_(name) {
  constexpr std::chrono::milliseconds pause(5);
  const auto limit = std::chrono::steady_clock::now() + patience;
  while (!take(what)) {
    if (std::chrono::steady_clock::now() >= limit) throw Error(what + ": another process is writing to it");
    std::this_thread::sleep_for(pause);
  }
}

FileLock::~FileLock() {
  if (file_.is_open()) ::unlinkat(folder_.descriptor(), name_.c_str(), 0);
}

void FileLock::release() {
  const bool removed = ::unlinkat(folder_.descriptor(), name_.c_str(), 0) == 0;
  if (!removed && !(is_others_ && (errno == EPERM || errno == EACCES)))
    throw Error(folder_.path_of(name_) + ": cannot be removed: " + std::strerror(errno));
  file_.close();
}

/// Another process may have removed the file between our opening and our locking it.
bool FileLock::is_the_one_in_the_folder() const {
  struct stat own {}, there {};
  if (::fstat(file_.value(), &own) == 0 && ::fstatat(folder_.descriptor(), name_.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0)
    return own.st_dev == there.st_dev && own.st_ino == there.st_ino;
  if (errno == ENOENT) return false;
  const int reason = errno;
  ::unlinkat(folder_.descriptor(), name_.c_str(), 0);
  throw Error(folder_.path_of(name_) + ": cannot be looked at: " + std::strerror(reason));
}

/// It may be another user's, left by a process that was killed: that it can be written to is asked for by network file systems
/// alone, which refuse the lock of one that cannot.
int FileLock::open() {
  constexpr int flags = O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  is_others_ = false;
  for (const bool last : {false, true}) {  // it may go between the two calls
    const int writing = ::openat(folder_.descriptor(), name_.c_str(), O_RDWR | O_CREAT | flags, 0644);
    if (writing >= 0 || errno != EACCES) return writing;
    const int reading = ::openat(folder_.descriptor(), name_.c_str(), O_RDONLY | flags);
    is_others_ = reading >= 0;
    if (is_others_) return reading;
    if (errno != ENOENT || last) break;
  }
  errno = EACCES;
  return -1;
}

bool FileLock::take(const std::string& what) {
  const std::string path = folder_.path_of(name_);
  const Kind kind = folder_.kind(name_);
  if (kind != Kind::none && kind != Kind::file) throw Error(path + ": is " + words_of(kind) + ", and no lock");
  check_may_write(path);
  for (;;) {
    Descriptor file(open());
    if (!file.is_open()) throw Error(what + ": cannot be written: " + path + ": " + std::strerror(errno));
    if (::flock(file.value(), LOCK_EX | LOCK_NB) == 0) {
      std::swap(file_, file);
      if (is_the_one_in_the_folder()) return true;
      file_.close();
    } else if (errno == EWOULDBLOCK) {
      return false;
    } else if (errno != EINTR) {
      const int reason = errno;
      ::unlinkat(folder_.descriptor(), name_.c_str(), 0);
      throw Error(what + ": cannot be written: its file system has no locks (" + std::strerror(reason) + ")");
    }
  }
}

}  // namespace ulpscope::files
