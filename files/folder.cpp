// SPDX-License-Identifier: Apache-2.0
// Opens, reads and makes folders by POSIX's calls.
#include "files/folder.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <new>

#include "emu/error.hpp"
#include "files/confinement.hpp"

namespace ulpscope::files {
namespace {

constexpr int opening = O_PATH | O_DIRECTORY | O_CLOEXEC;

std::shared_ptr<const Descriptor> opened(int descriptor, const std::string& path) {
  if (descriptor < 0) throw Error(path + ": " + std::strerror(errno));
  return std::make_shared<const Descriptor>(descriptor);
}

}  // namespace

const char* words_of(Kind kind) noexcept {
  switch (kind) {
    case Kind::none: return "nothing";
    case Kind::file: return "a file";
    case Kind::folder: return "a directory";
    case Kind::link: return "a link";
    case Kind::pipe: return "a pipe";
    case Kind::socket: return "a socket";
    case Kind::device: break;
  }
  return "a device";
}

Kind kind_of(unsigned mode) noexcept {
  if (S_ISREG(mode)) return Kind::file;
  if (S_ISDIR(mode)) return Kind::folder;
  if (S_ISLNK(mode)) return Kind::link;
  if (S_ISFIFO(mode)) return Kind::pipe;
  return S_ISSOCK(mode) ? Kind::socket : Kind::device;
}

Folder::Folder(const std::string& path)
    : path_(path), open_(opened(::open(path.empty() ? "." : path.c_str(), opening), path.empty() ? "." : path)) {}

Folder::Folder(const Folder& parent, const std::string& name)
    : path_(parent.path_of(name)), open_(opened(::openat(parent.descriptor(), name.c_str(), opening | O_NOFOLLOW), path_)) {}

std::string Folder::path_of(const std::string& name) const {
  return path_.empty() || path_.ends_with('/') ? path_ + name : path_ + "/" + name;
}

Kind Folder::kind(const std::string& name) const {
  struct stat found {};
  if (::fstatat(descriptor(), name.c_str(), &found, AT_SYMLINK_NOFOLLOW) == 0) return kind_of(found.st_mode);
  if (errno != ENOENT) throw Error(path_of(name) + ": cannot be looked at: " + std::strerror(errno));
  return Kind::none;
}

std::vector<FolderEntry> Folder::entries() const {
  const auto fail = [&]() -> Error {
    if (errno == ENOMEM) throw std::bad_alloc();
    return Error(path_ + ": cannot be read: " + std::strerror(errno));
  };
  Descriptor reading(::openat(descriptor(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!reading.is_open()) throw fail();
  DIR* const listing = ::fdopendir(reading.value());
  if (listing == nullptr) throw fail();
  reading.release();
  const std::unique_ptr<DIR, int (*)(DIR*)> owner(listing, ::closedir);
  std::vector<FolderEntry> all;
  errno = 0;
  while (const dirent* const entry = ::readdir(listing)) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") all.push_back({name, kind(name)});
    errno = 0;
  }
  if (errno != 0) throw fail();
  std::sort(all.begin(), all.end(), [](const FolderEntry& a, const FolderEntry& b) { return a.name < b.name; });
  return all;
}

NewFolder::NewFolder(const std::string& path, unsigned mode) {
  std::filesystem::path whole(path), part;
  if (!whole.has_filename()) whole = whole.parent_path();  // `a/` is `a`
  for (const std::filesystem::path& name : whole) {
    part /= name;
    struct stat found {};
    if (name.empty() || (::stat(part.c_str(), &found) == 0 && S_ISDIR(found.st_mode))) continue;
    check_may_write(part.string());
    is_new_ = ::mkdir(part.c_str(), part == whole ? mode : 0777) == 0;
    if (is_new_) {
      made_.push_back(part.string());
      continue;
    }
    const int reason = errno;
    if (::stat(part.c_str(), &found) == 0 && S_ISDIR(found.st_mode)) continue;  // another process made it
    remove();
    throw Error(path + ": cannot be made: " + std::strerror(reason == EEXIST ? ENOTDIR : reason));
  }
}

void NewFolder::remove() noexcept {
  for (auto folder = made_.rbegin(); folder != made_.rend(); ++folder) ::rmdir(folder->c_str());
  made_.clear();
}

}  // namespace ulpscope::files
