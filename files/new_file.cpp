// SPDX-License-Identifier: Apache-2.0
// A nameless file that is linked into its folder and renamed, or a temporary one.
#include "files/new_file.hpp"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <optional>
#include <random>
#include <utility>

#include "emu/error.hpp"
#include "files/confinement.hpp"

namespace ulpscope::files {
namespace {

namespace fs = std::filesystem;

/// The descriptor of this process that a path names; below 0: none.
int own_descriptor(std::string_view path) noexcept {
  if (path == "/dev/stdout") return 1;
  if (path == "/dev/stderr") return 2;
  for (const std::string_view folder : {"/dev/fd/", "/proc/self/fd/"}) {
    if (!path.starts_with(folder)) continue;
    int number = -1;
    const auto [end, error] = std::from_chars(path.data() + folder.size(), path.data() + path.size(), number);
    if (error == std::errc{} && end == path.data() + path.size()) return number;
  }
  return -1;
}

std::string descriptor_path(int descriptor) { return "/proc/self/fd/" + std::to_string(descriptor); }

constexpr const char* access_list_name = "system.posix_acl_access";

/// The access control list of a file (POSIX.1e draft 17) as the system has it: empty where there is none, nothing where that
/// cannot be known.
std::optional<std::string> access_list_of(const std::string& path) {
  constexpr std::size_t most = 65536;  // of any attribute
  std::string list(most, '\0');
  const ssize_t size = ::lgetxattr(path.c_str(), access_list_name, list.data(), list.size());
  if (size < 0 && errno != ENODATA && errno != ENOTSUP) return std::nullopt;
  list.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  return list;
}

/// The folder of a path. @throws ulpscope::Error naming the path
Folder folder_of(const std::string& path) try {
  return Folder(own_descriptor(path) >= 0 ? std::string("/") : fs::path(path).parent_path().string());
} catch (const Error& error) {
  throw Error(path + ": cannot be written: " + error.what());
}

bool is_hexadecimal(char c) noexcept { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

constexpr std::size_t random_digits = 16;

}  // namespace

std::string temporary_name(const std::string& name) {
  constexpr std::size_t most_of_name = 150;  // names of more than 255 bytes are refused by most file systems
  std::random_device random;
  std::string digits;
  while (digits.size() < random_digits) {
    const unsigned bits = random();
    for (int shift = 0; shift < 32; shift += 4) digits += "0123456789abcdef"[bits >> shift & 15];
  }
  return "." + name.substr(0, most_of_name) + std::string(temporary_mark) + digits;
}

bool is_temporary_name(std::string_view name) noexcept {
  if (name.size() <= temporary_mark.size() + random_digits || name[0] != '.') return false;
  const std::string_view digits = name.substr(name.size() - random_digits);
  name.remove_suffix(random_digits);
  return name.ends_with(temporary_mark) && std::all_of(digits.begin(), digits.end(), is_hexadecimal);
}

NewFile::NewFile(const std::string& path)
    : path_(path), name_(fs::path(path).filename().string()), folder_(folder_of(path)) {
  check_may_write(path_);
  if (const int own = own_descriptor(path); own >= 0) {
    place_ = Place::target;
    file_ = Descriptor(::fcntl(own, F_DUPFD_CLOEXEC, 0));
    if (!file_.is_open()) fail(errno);
    return;
  }
  if (name_.empty() || name_ == "." || name_ == "..") fail("it is a directory");
  const Kind former = look();
  if (former == Kind::link || former == Kind::device || former == Kind::pipe)
    write_to_what_is_there();
  else
    begin(former);
}

NewFile::NewFile(const Folder& folder, const std::string& name) : path_(folder.path_of(name)), name_(name), folder_(folder) {
  check_may_write(path_);
  begin(look());
}

NewFile::NewFile(NewFile&& other) noexcept
    : path_(std::move(other.path_)),
      name_(std::move(other.name_)),
      temporary_(std::exchange(other.temporary_, {})),
      folder_(std::move(other.folder_)),  // what has no temporary name asks for it no more
      place_(other.place_),
      mode_(other.mode_),
      owner_(other.owner_),
      group_(other.group_),
      access_list_(std::move(other.access_list_)),
      replaces_(other.replaces_),
      file_(std::move(other.file_)) {}

NewFile::~NewFile() {
  file_.close();
  if (!temporary_.empty()) ::unlinkat(folder_.descriptor(), temporary_.c_str(), 0);
}

/// What has its name now, and who may do what with that.
Kind NewFile::look() {
  struct stat found {};
  if (::fstatat(folder_.descriptor(), name_.c_str(), &found, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno != ENOENT) fail(errno);
    return Kind::none;
  }
  mode_ = found.st_mode & 0777;
  owner_ = found.st_uid;
  group_ = found.st_gid;
  access_list_ = access_list_of(descriptor_path(folder_.descriptor()) + "/" + name_);
  if (!access_list_) access_list_ = access_list_of(folder_.path_of(name_));  // there is no /proc
  return kind_of(found.st_mode);
}

/// A device, a pipe, or a link to one.
void NewFile::write_to_what_is_there() {
  const auto refuse = [&] { fail("it is a link; name the file that it leads to"); };
  struct stat found {};
  if (::fstatat(folder_.descriptor(), name_.c_str(), &found, 0) != 0) {
    if (errno != ENOENT && errno != ELOOP) fail(errno);
    refuse();
  }
  if (S_ISREG(found.st_mode)) refuse();
  if (S_ISDIR(found.st_mode)) fail("it is a directory");
  place_ = Place::target;
  file_ = Descriptor(::openat(folder_.descriptor(), name_.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
  if (!file_.is_open() || ::fstat(file_.value(), &found) != 0) fail(errno);
  if (S_ISREG(found.st_mode)) refuse();
}

/// A new file, to take the place of what stands there now.
void NewFile::begin(Kind former) {
  if (former != Kind::none && former != Kind::file) fail(std::string("it is ") + words_of(former));
  replaces_ = former == Kind::file;
  const mode_t at_first = replaces_ ? 0600 : 0666;  // what only some may read is at no time readable for others
  file_ = Descriptor(::openat(folder_.descriptor(), ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, at_first));
  if (file_.is_open() && ::access(descriptor_path(file_.value()).c_str(), F_OK) == 0) return;
  place_ = Place::temporary;
  int reason = 0;  // of this call: file_ may close another descriptor when it takes the new one
  do {
    temporary_ = temporary_name(name_);
    const int opened =
        ::openat(folder_.descriptor(), temporary_.c_str(), O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY | O_CLOEXEC, at_first);
    reason = opened < 0 ? errno : 0;
    file_ = Descriptor(opened);
  } while (reason == EEXIST);
  if (reason == 0) return;
  temporary_.clear();
  fail(reason);
}

void NewFile::write(const void* bytes, std::size_t size) {
  const char* next = static_cast<const char*>(bytes);
  while (size > 0) {
    const ssize_t written = ::write(file_.value(), next, size);
    if (written < 0 && errno != EINTR) fail(errno);
    if (written <= 0) continue;
    next += written;
    size -= static_cast<std::size_t>(written);
  }
}

void NewFile::take(OpenFile file) {
  if (place_ == Place::nameless && link(file.descriptor) == 0) {  // not from one mount to another, though of one file system
    place_ = Place::temporary;
    file_ = std::move(file.descriptor);
    return;
  }
  std::string bytes(std::size_t{1} << 20, '\0');
  while (const std::size_t got = read_some(file, bytes.data(), bytes.size(), path_)) write(bytes.data(), got);
}

/// Those of the file that is replaced, and its owner where this user may give files away. Where it belongs to a group that this
/// user is not in, no group gets more, and neither does anybody where its access control list cannot be kept: the bits of the
/// group are the most that the list gives then.
void NewFile::keep_permissions() {
  if (!replaces_) return;
  struct stat own {};
  if (::fstat(file_.value(), &own) != 0) fail(errno);
  const bool keeps_group = own.st_gid == group_ || ::fchown(file_.value(), static_cast<uid_t>(-1), group_) == 0;
  mode_t mode = mode_;
  const bool has_list = access_list_ && !access_list_->empty();
  if (!keeps_group || has_list || !access_list_) mode &= ~static_cast<mode_t>(S_IRWXG) | ((mode & S_IRWXO) << 3);
  static_cast<void>(::fremovexattr(file_.value(), access_list_name));  // what its folder gives to new files
  if (::fchmod(file_.value(), mode) != 0) fail(errno);
  if (keeps_group && has_list)
    static_cast<void>(::fsetxattr(file_.value(), access_list_name, access_list_->data(), access_list_->size(), 0));
  if (own.st_uid == owner_) return;
  [[maybe_unused]] const int given = ::fchown(file_.value(), owner_, static_cast<gid_t>(-1));
}

/// Gives a file a temporary name in the folder. @returns why not, or 0
int NewFile::link(const Descriptor& file) {
  const std::string self = descriptor_path(file.value());
  do {
    temporary_ = temporary_name(name_);
    if (::linkat(AT_FDCWD, self.c_str(), folder_.descriptor(), temporary_.c_str(), AT_SYMLINK_FOLLOW) == 0) return 0;
  } while (errno == EEXIST);
  const int reason = errno;
  temporary_.clear();
  return reason;
}

void NewFile::finish() {
  if (place_ != Place::target) {
    keep_permissions();
    const bool on_disk = ::fsync(file_.value()) == 0 || errno == EINVAL || errno == ENOTSUP;  // some file systems cannot
    if (!on_disk) fail(errno);
    if (const int error = place_ == Place::nameless ? link(file_) : 0; error != 0) fail(error);
  }
  if (const int error = file_.close(); error != 0) fail(error);
}

void NewFile::commit() {
  finish();
  if (place_ == Place::target) return;
  if (::renameat(folder_.descriptor(), temporary_.c_str(), folder_.descriptor(), name_.c_str()) != 0) fail(errno);
  temporary_.clear();
}

void NewFile::fail(const std::string& reason) const { throw Error(path_ + ": cannot be written: " + reason); }
void NewFile::fail(int error) const { fail(std::strerror(error)); }

void write_file(const std::string& path, std::string_view bytes) {
  NewFile file(path);
  file.write(bytes);
  file.commit();
}

}  // namespace ulpscope::files
