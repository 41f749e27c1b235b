// SPDX-License-Identifier: Apache-2.0
// A file mapped into memory, read-only: its pages are the page cache's, not ours.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "tensors/guarded_pages.hpp"

namespace ulpscope::tensors {

/// A file in memory, read as its pages are asked for; one that comes with the program (files::own_file) is there already.
class MappedFile {
 public:
  /// Returns at once for pipes and whatever else has no end. @throws ulpscope::Error naming the file and the reason.
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  /// The whole file, while this lives.
  std::span<const std::byte> bytes() const noexcept { return bytes_; }

  /// To be called after bytes() have been read, before they are believed. @throws ulpscope::Error if the file has changed since
  /// it was opened, or a part of it could not be read.
  void check() const;

 private:
  std::string path_;
  struct stat opened_{};
  std::span<const std::byte> bytes_;
  std::optional<GuardedPages> guarded_;  ///< none: the program's own bytes
};

}  // namespace ulpscope::tensors
