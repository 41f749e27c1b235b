// SPDX-License-Identifier: Apache-2.0
// A file mapped into memory, read-only, a window at a time: its pages are the page cache's, not ours.
#pragma once

#include <sys/stat.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "tensors/bytes.hpp"

namespace ulpscope::tensors {

/// Bytes that begin a window each; the window goes on for a largest_piece, so that one that begins in it lies in it.
constexpr std::uint64_t window_step = std::uint64_t{28} << 20;

/// A file, read as its pages are asked for; one that comes with the program (files::own_file) is in memory. A window that is
/// mapped again after others took its room is so by the file's name.
class MappedFile final : public Bytes {
 public:
  /// Returns at once for pipes and whatever else has no end. @throws ulpscope::Error naming the file and the reason.
  explicit MappedFile(const std::string& path);
  ~MappedFile() override;

  std::uint64_t size() const noexcept override;
  Piece piece(std::uint64_t first, std::size_t count) const override;
  /// @throws ulpscope::Error if the file has changed since it was opened, or a part of it could not be read.
  void check() const override;

 private:
  Piece window(std::uint64_t first, std::size_t count) const;

  std::string path_;                         ///< for messages
  std::string place_;                        ///< wherever the current directory is by then
  struct stat opened_ {};                    ///< of the file that is meant
  std::shared_ptr<const Bytes> own_;         ///< the program's own bytes, where they are meant
  std::shared_ptr<std::atomic<bool>> lost_;  ///< whether a page could not be read
};

}  // namespace ulpscope::tensors
