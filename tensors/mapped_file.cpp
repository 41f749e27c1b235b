// SPDX-License-Identifier: Apache-2.0
#include "tensors/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "emu/error.hpp"

namespace ulpscope::tensors {
namespace {

[[noreturn]] void fail(const std::string& path, int descriptor, const std::string& why) {
  if (descriptor >= 0) ::close(descriptor);
  throw Error(path + ": " + why);
}

}  // namespace

MappedFile::MappedFile(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) fail(path, descriptor, std::strerror(errno));
  struct stat status{};
  if (::fstat(descriptor, &status) != 0) fail(path, descriptor, std::strerror(errno));
  if (S_ISDIR(status.st_mode)) fail(path, descriptor, "is a directory, not a tensor file");
  if (!S_ISREG(status.st_mode)) fail(path, descriptor, "is not a regular file; write it to one first");
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) fail(path, descriptor, "is empty");
  void* const start = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  if (start == MAP_FAILED) fail(path, descriptor, std::strerror(errno));
  ::close(descriptor);
  ::madvise(start, size, MADV_SEQUENTIAL);
  bytes_ = {static_cast<const std::byte*>(start), size};
}

MappedFile::~MappedFile() { ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size()); }

}  // namespace ulpscope::tensors
