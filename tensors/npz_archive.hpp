// SPDX-License-Identifier: Apache-2.0
// A zip archive whose bytes are read in pieces, and its members as streams (libzip).
#pragma once

#include <zip.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "tensors/readers.hpp"

namespace ulpscope::tensors {

/// An archive, for all its members. libzip takes one thread at a time.
class NpzArchive {
 public:
  /// @throws ulpscope::Error where it is none
  explicit NpzArchive(FileBytes bytes);
  ~NpzArchive();
  NpzArchive(const NpzArchive&) = delete;
  NpzArchive& operator=(const NpzArchive&) = delete;

  const FileBytes& file() const noexcept { return file_; }  ///< the archive's bytes, and its name
  zip_t* zip() const noexcept { return zip_; }              ///< libzip's own; this keeps it
  std::mutex& mutex() const noexcept { return mutex_; }     ///< to be held while zip() or a stream is used

 private:
  FileBytes file_;
  std::shared_ptr<void> reader_;  ///< what zip_ reads with
  zip_t* zip_ = nullptr;
  mutable std::mutex mutex_;
};

/// A member as it is when it is inflated, from its beginning on.
class NpzStream {
 public:
  /// `name` is the member's, for messages. @throws ulpscope::Error
  NpzStream(const NpzArchive& archive, std::uint64_t index, std::string name);
  ~NpzStream();
  NpzStream(const NpzStream&) = delete;
  NpzStream& operator=(const NpzStream&) = delete;

  /// As much as there is, at most all of `out`. The read that finds the end is also the one that compares the checksum.
  /// @throws ulpscope::Error where the member is damaged
  std::size_t read(std::span<std::byte> out);
  /// Reads as many, without keeping them.
  std::uint64_t skip(std::uint64_t count);

 private:
  std::string name_;
  zip_file_t* member_;
};

}  // namespace ulpscope::tensors
