// SPDX-License-Identifier: Apache-2.0
// Reads and writes at places of an open file.
#include "files/growing_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "emu/error.hpp"
#include "files/confinement.hpp"

namespace ulpscope::files {

GrowingFile::GrowingFile(const Folder& folder, const std::string& name) : path_(folder.path_of(name)) {
  check_may_write(path_);
  const Kind kind = folder.kind(name);
  if (kind != Kind::none && kind != Kind::file) throw Error(path_ + ": cannot be written: it is " + words_of(kind));
  file_.descriptor =
      Descriptor(::openat(folder.descriptor(), name.c_str(), O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666));
  struct stat found {};
  if (!file_.descriptor.is_open() || ::fstat(file_.descriptor.value(), &found) != 0) fail();
  if (kind == Kind::file) {
    check_is_own(file_, path_);
    if (found.st_nlink > 1) throw Error(path_ + ": has another name, a hard link; remove it");
  }
  size_ = static_cast<std::uint64_t>(found.st_size);
}

std::string GrowingFile::read(std::uint64_t first, std::size_t count) const {
  std::string bytes(count, '\0');
  std::size_t have = 0;
  while (have < count) {
    const std::size_t got = read_at(file_, first + have, bytes.data() + have, count - have, path_);
    if (got == 0) break;
    have += got;
  }
  bytes.resize(have);
  return bytes;
}

void GrowingFile::cut(std::uint64_t size) {
  if (::ftruncate(file_.descriptor.value(), static_cast<off_t>(size)) != 0) fail();
  size_ = size;
}

void GrowingFile::append(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file_.descriptor.value(), bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) fail();
    if (written <= 0) continue;
    bytes.remove_prefix(static_cast<std::size_t>(written));
    size_ += static_cast<std::uint64_t>(written);
  }
}

void GrowingFile::fail() const { throw Error(path_ + ": cannot be written: " + std::strerror(errno)); }

}  // namespace ulpscope::files
