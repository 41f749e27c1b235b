// SPDX-License-Identifier: Apache-2.0
// A folder of .safetensors files and their index, which appear together or not at all.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "files/file_lock.hpp"
#include "files/folder.hpp"
#include "files/new_files.hpp"
#include "tensors/write.hpp"

namespace ulpscope::tensors {

/// A checkpoint on its way. Nothing has a name in the folder before commit(), and without it the folder is as it was.
class NewCheckpoint {
 public:
  /// The folder is made where it is not there; one process writes to it at a time. @throws ulpscope::Error
  explicit NewCheckpoint(const std::string& folder);

  /// Writes a file, `NAME` or `FOLDER/NAME`, whose folders are made. @throws ulpscope::Error
  void add(const std::string& name, const std::vector<NamedCodes>& tensors, const Beside& beside);
  /// Gives all of them their names, and last that of an index, as transformers writes it, unless it is empty. @throws
  /// ulpscope::Error
  void commit(const std::string& index);

 private:
  std::string path_;
  files::NewFolder made_;
  files::Folder folder_;
  files::FileLock lock_;
  files::NewFiles files_;
  std::map<std::string, std::string> file_of_;  ///< of each tensor
  std::uint64_t total_size_ = 0;
};

}  // namespace ulpscope::tensors
