// SPDX-License-Identifier: Apache-2.0
// Keeps other processes from writing the same files meanwhile.
#pragma once

#include <chrono>
#include <string>

#include "files/descriptor.hpp"
#include "files/folder.hpp"

namespace ulpscope::files {

/// The name of the lock of a whole folder.
inline constexpr const char* folder_lock = ".ulpscope-lock";

/// A lock that one process has at a time: a file that it alone can write to, which goes with the lock. One that is left of a
/// process that was killed keeps nobody out.
class FileLock {
 public:
  /// The file is `name` in `folder`; `what` is what is to be written, for messages. Where another process holds the lock, it is
  /// waited for as long as `patience` says. @throws ulpscope::Error where it holds it still, and where there are no locks
  FileLock(const Folder& folder, const std::string& name, const std::string& what, std::chrono::milliseconds patience = {});
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  ~FileLock();

  /// Ends it before. @throws ulpscope::Error where its file cannot be removed, unless another user has left it
  void release();

 private:
  /// Whether the lock is ours; false: another process holds it. @throws ulpscope::Error
  bool take(const std::string& what);
  int open();
  bool is_the_one_in_the_folder() const;

  Folder folder_;
  std::string name_;
  Descriptor file_;
  bool is_others_ = false;  ///< it was left by another user: a sticky folder lets nobody else remove it
};

}  // namespace ulpscope::files
