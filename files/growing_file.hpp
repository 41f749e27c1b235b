// SPDX-License-Identifier: Apache-2.0
// A file that grows while work goes on, so that an end of any kind leaves what was written before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "files/descriptor.hpp"
#include "files/folder.hpp"
#include "files/read_file.hpp"

namespace ulpscope::files {

/// One process's: lock the folder. All members throw ulpscope::Error.
class GrowingFile {
 public:
  /// A file of a folder, and no link; it is made where it is not there. One that is there is this user's, and has no other
  /// name.
  GrowingFile(const Folder& folder, const std::string& name);

  /// Its bytes.
  std::uint64_t size() const noexcept { return size_; }
  /// `count` bytes from one on, fewer at the end.
  std::string read(std::uint64_t first, std::size_t count) const;
  /// Keeps the first bytes alone.
  void cut(std::uint64_t size);
  /// Writes behind the last byte. A process that is killed may leave a part of it.
  void append(std::string_view bytes);

 private:
  [[noreturn]] void fail() const;

  std::string path_;
  OpenFile file_{Descriptor(), 0};
  std::uint64_t size_ = 0;
};

}  // namespace ulpscope::files
