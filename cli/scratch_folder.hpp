// SPDX-License-Identifier: Apache-2.0
// A folder for files that other programs are to read: it goes when the object does, or else when the next one is made.
#pragma once

#include <optional>
#include <string>

#include "files/file_lock.hpp"

namespace ulpscope::cli {

class ScratchFolder {
 public:
  /// Below TMPDIR, or where files may be made at all; readable by this user alone. Those go that processes of this user have
  /// left there: each holds a lock in its folder as long as it lives. @throws ulpscope::Error
  ScratchFolder();
  ~ScratchFolder() { remove(); }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::string& path() const noexcept { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  void remove() const noexcept;

 private:
  std::string path_;
  std::optional<files::FileLock> lock_;  ///< none where the file system has no locks: then nobody else removes the folder
};

}  // namespace ulpscope::cli
