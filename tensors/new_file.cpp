// SPDX-License-Identifier: Apache-2.0
// A nameless file that is linked into its folder, or a temporary one that is renamed.
#include "tensors/new_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "emu/error.hpp"

namespace ulpscope::tensors {
namespace {

namespace fs = std::filesystem;

bool is_device_or_pipe(const std::string& path) {
  std::error_code ignored;
  const fs::file_status status = fs::status(path, ignored);
  return fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status);
}

std::string behind_links(const std::string& path) {
  std::error_code failed;
  const fs::path target = fs::canonical(path, failed);
  return failed ? path : target.string();
}

}  // namespace

NewFile::NewFile(const std::string& path)
    : path_(path), target_(behind_links(path)), temporary_(target_ + ".tmp." + std::to_string(::getpid())) {
  const std::string folder = fs::path(target_).parent_path().string();
  int descriptor = -1;
  if (is_device_or_pipe(path)) {
    place_ = Place::target;
    descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  } else {
    descriptor = ::open(folder.empty() ? "." : folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
    if (descriptor < 0) {
      place_ = Place::temporary;
      descriptor = ::open(temporary_.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
    }
  }
  file_ = descriptor < 0 ? nullptr : ::fdopen(descriptor, "wb");
  if (file_ == nullptr) fail();
}

NewFile::~NewFile() {
  if (file_ == nullptr) return;
  close();
  if (place_ == Place::temporary) std::remove(temporary_.c_str());
}

void NewFile::write(const void* bytes, std::size_t size) {
  if (std::fwrite(bytes, 1, size, file_) != size) fail();
}

void NewFile::commit() {
  if (std::fflush(file_) != 0) fail();
  if (place_ == Place::target) return close();
  const std::string self = "/proc/self/fd/" + std::to_string(::fileno(file_));
  const bool nameless = place_ == Place::nameless;
  if (nameless && ::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, temporary_.c_str(), AT_SYMLINK_FOLLOW) != 0) fail();
  if (std::rename(temporary_.c_str(), target_.c_str()) != 0) {
    const int reason = errno;
    std::remove(temporary_.c_str());
    errno = reason;
    fail();
  }
  close();
}

void NewFile::fail() const { throw Error(path_ + ": cannot be written: " + std::strerror(errno)); }

void NewFile::close() { std::fclose(std::exchange(file_, nullptr)); }

}  // namespace ulpscope::tensors
