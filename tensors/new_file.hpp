// SPDX-License-Identifier: Apache-2.0
// A file that appears whole or not at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>

namespace ulpscope::tensors {

/// It takes its name only when commit() says so. Until then it has no name, so that nothing is left of it however the program
/// ends; file systems without nameless files get a temporary name instead. A link is followed; a device or a pipe is written
/// to.
class NewFile {
 public:
  /// @throws ulpscope::Error naming the file and the reason, as all members do.
  explicit NewFile(const std::string& path);
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  /// Appends bytes.
  void write(const void* bytes, std::size_t size);
  void write(const std::string& bytes) { write(bytes.data(), bytes.size()); }
  /// Gives the file its name. Without it nothing is left.
  void commit();

 private:
  /// Where the bytes are until commit().
  enum class Place : std::uint8_t { nameless, temporary, target };

  [[noreturn]] void fail() const;
  void close();

  std::string path_, target_, temporary_;
  Place place_ = Place::nameless;
  std::FILE* file_ = nullptr;
};

}  // namespace ulpscope::tensors
