// SPDX-License-Identifier: Apache-2.0
// A file mapped into memory, read-only: its pages are the page cache's, not ours.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace ulpscope::tensors {

class MappedFile {
 public:
  /// @throws ulpscope::Error naming the file and the reason.
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const noexcept { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace ulpscope::tensors
