// SPDX-License-Identifier: Apache-2.0
// Maps regular files only, and remembers size and times to notice changes.
#include "tensors/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <new>
#include <cstring>

#include "emu/error.hpp"
#include "files/own_files.hpp"

namespace ulpscope::tensors {
namespace {

/// Closed at the end of its scope: a mapping does without.
class Descriptor {
 public:
  /// Without O_NONBLOCK a pipe would wait for someone to write to it.
  explicit Descriptor(const std::string& path) : value_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
  ~Descriptor() {
    if (value_ >= 0) ::close(value_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int value() const noexcept { return value_; }

 private:
  int value_;
};

/// Why a file of this kind cannot be mapped, or nothing.
const char* why_not(mode_t mode) {
  if (S_ISREG(mode)) return nullptr;
  if (S_ISDIR(mode)) return "is a directory, not a tensor file";
  if (S_ISFIFO(mode)) return "is a pipe; write it to a file first";
  if (S_ISSOCK(mode)) return "is a socket; write it to a file first";
  return "is a device, not a regular file; write it to one first";
}

bool same_time(const timespec& a, const timespec& b) { return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec; }

}  // namespace

MappedFile::MappedFile(const std::string& path) : path_(path) {
  const auto fail = [&](const std::string& why) { throw Error(path + ": " + why); };
  if (const auto own = files::own_file(path)) {
    bytes_ = std::as_bytes(std::span(*own));
    return;
  }
  // A socket cannot be opened, and opening a device may have effects.
  if (::stat(path.c_str(), &opened_) == 0 && why_not(opened_.st_mode) != nullptr) fail(why_not(opened_.st_mode));
  const Descriptor file(path);
  if (file.value() < 0 || ::fstat(file.value(), &opened_) != 0) fail(std::strerror(errno));
  if (why_not(opened_.st_mode) != nullptr) fail(why_not(opened_.st_mode));
  const auto size = static_cast<std::size_t>(opened_.st_size);
  if (size == 0) fail("is empty");
  void* const start = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.value(), 0);
  if (start == MAP_FAILED && errno == ENOMEM) throw std::bad_alloc();
  if (start == MAP_FAILED) fail(std::strerror(errno));
  ::madvise(start, size, MADV_SEQUENTIAL);
  bytes_ = {static_cast<const std::byte*>(start), size};
  guarded_.emplace(bytes_);
}

MappedFile::~MappedFile() {
  if (!guarded_) return;
  guarded_.reset();
  ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

void MappedFile::check() const {
  if (!guarded_) return;
  struct stat now {};
  // A file that took the name of the mapped one says nothing of it.
  const bool known = ::stat(path_.c_str(), &now) == 0 && now.st_dev == opened_.st_dev && now.st_ino == opened_.st_ino;
  if (known && now.st_size < opened_.st_size) throw Error(path_ + ": became shorter while it was read");
  if (known && !same_time(now.st_mtim, opened_.st_mtim)) throw Error(path_ + ": was written to while it was read");
  if (guarded_->lost()) throw Error(path_ + ": a part of it cannot be read: it became shorter meanwhile, or its disk fails");
}

}  // namespace ulpscope::tensors
