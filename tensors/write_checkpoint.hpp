// SPDX-License-Identifier: Apache-2.0
// A folder of .safetensors files and their index, which appear together or not at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "files/file_lock.hpp"
#include "files/folder.hpp"
#include "files/new_files.hpp"
#include "files/read_file.hpp"
#include "files/work_folder.hpp"
#include "tensors/digest.hpp"
#include "tensors/write.hpp"

namespace ulpscope::tensors {

/// Work that may be ended before it is done.
struct ResumedWork {
  std::string request = {};  ///< what it is, by lines; empty: nothing is kept of it
  NewDigest digest = {};     ///< of each file that is kept
};

/// A checkpoint on its way. Nothing has a name in the folder before commit(), and without it the folder is as it was.
class NewCheckpoint {
 public:
  /// The folder is made where it is not there; one process writes to it at a time. Where `work` says what is done, files that
  /// are done are kept in `FOLDER.partial` until commit(), each with its digest beside it, and those that are there and still
  /// have theirs are used (files::WorkFolder). @throws ulpscope::Error, also where files are kept there and `work` says nothing
  explicit NewCheckpoint(const std::string& folder, ResumedWork work = {});

  /// Where files of this folder are kept.
  static std::string work_path(const std::string& folder);
  /// Writes a file, `NAME` or `FOLDER/NAME`, whose folders are made, unless it is kept; whether it was written. @throws
  /// ulpscope::Error
  bool add(const std::string& name, const std::vector<NamedCodes>& tensors, const Beside& beside);
  /// Gives all of them their names, and last that of an index, as transformers writes it, unless it is empty. `entries`: JSON
  /// of what else the index says, of which the size of all tensors is replaced; empty for none. @throws ulpscope::Error
  void commit(const std::string& index, const std::string& entries = {});

 private:
  /// Writes a file of these bytes to the work folder, and then its digest. How many are tensors' data.
  std::uint64_t keep(const files::Folder& folder, const std::string& kept, const std::string& name,
                     const std::vector<NamedCodes>& tensors, const Beside& beside) const;
  /// The file that was kept under this name; nothing where there is none, or where it is not what was written.
  std::optional<files::OpenFile> find(const files::Folder& folder, const std::string& kept) const;

  std::string path_;
  NewDigest digest_;
  std::optional<files::WorkFolder> work_;
  files::NewFolder made_;
  files::Folder folder_;
  files::FileLock lock_;
  files::NewFiles files_;
  std::map<std::string, std::string> file_of_;  ///< of each tensor
  std::uint64_t total_size_ = 0;
  std::size_t added_ = 0;
};

}  // namespace ulpscope::tensors
