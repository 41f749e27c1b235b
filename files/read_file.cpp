// SPDX-License-Identifier: Apache-2.0
// Opens without waiting, looks what was opened, and reads it.
#include "files/read_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "emu/error.hpp"

namespace ulpscope::files {
namespace {

[[noreturn]] void refuse_kind(const std::string& path, Kind kind) {
  throw Error(path + ": is " + words_of(kind) + ", not a file");
}

OpenFile checked(Descriptor file, const std::string& path) {
  struct stat found {};
  if (!file.is_open() || ::fstat(file.value(), &found) != 0) throw Error(path + ": cannot be read: " + std::strerror(errno));
  if (!S_ISREG(found.st_mode)) refuse_kind(path, kind_of(found.st_mode));
  return {std::move(file), static_cast<std::size_t>(found.st_size)};
}

template <class Read>
std::size_t got_by(Read read, const std::string& path) {
  for (;;) {
    const ssize_t got = read();
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno != EINTR) throw Error(path + ": cannot be read: " + std::strerror(errno));
  }
}

constexpr int for_reading = O_RDONLY | O_CLOEXEC | O_NONBLOCK;  // the last: a pipe without a writer is opened at once

}  // namespace

OpenFile open_file(const std::string& path) {
  struct stat found {};
  // A socket cannot be opened, and opening a device may have effects.
  if (::stat(path.c_str(), &found) == 0 && !S_ISREG(found.st_mode)) refuse_kind(path, kind_of(found.st_mode));
  return checked(Descriptor(::open(path.c_str(), for_reading)), path);
}

OpenFile open_file(const Folder& folder, const std::string& name) {
  const std::string path = folder.path_of(name);
  if (const Kind kind = folder.kind(name); kind != Kind::none && kind != Kind::file) refuse_kind(path, kind);
  return checked(Descriptor(::openat(folder.descriptor(), name.c_str(), for_reading | O_NOFOLLOW)), path);
}

void check_is_own(const OpenFile& file, const std::string& path) {
  struct stat found {};
  if (::fstat(file.descriptor.value(), &found) != 0) throw Error(path + ": cannot be looked at: " + std::strerror(errno));
  if (found.st_uid != ::geteuid()) throw Error(path + ": belongs to another user; remove it");
}

std::size_t read_some(const OpenFile& file, char* to, std::size_t size, const std::string& path) {
  return got_by([&] { return ::read(file.descriptor.value(), to, size); }, path);
}

std::size_t read_at(const OpenFile& file, std::uint64_t first, char* to, std::size_t size, const std::string& path) {
  return got_by([&] { return ::pread(file.descriptor.value(), to, size, static_cast<off_t>(first)); }, path);
}

std::string read_whole(const OpenFile& file, const std::string& path, std::size_t most) {
  constexpr std::size_t portion = std::size_t{1} << 16;
  std::string bytes;
  std::size_t have = 0;
  for (std::size_t room = file.bytes + 1;; room = portion) {
    if (std::max(have, file.bytes) > most)
      throw Error(path + ": is too large: " + std::to_string(most) + " bytes are read at most");
    bytes.resize(have + room);
    const std::size_t got = read_some(file, bytes.data() + have, room, path);
    have += got;
    bytes.resize(have);
    if (got == 0) return bytes;
  }
}

std::string read_file(const std::string& path, std::size_t most) { return read_whole(open_file(path), path, most); }

}  // namespace ulpscope::files
