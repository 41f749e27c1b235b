// SPDX-License-Identifier: Apache-2.0
// Folders of which one file, the manifest, lists the others with their SHA-256: reports, and cases that are kept. What it lists,
// and no other file, is replaced when the same is written again.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "files/file_lock.hpp"
#include "files/folder.hpp"
#include "files/new_files.hpp"

namespace ulpscope::reports {

/// Takes the bytes of a file in their order.
using WriteBytes = std::function<void(std::string_view bytes)>;

/// What is in such a folder.
struct Listed {
  std::string manifest;  ///< the name of the file that lists the others: JSON with `files`, and `program` ("ulpscope") or `ulpscope`
  std::string noun;      ///< `a report`, for messages
};

/// Names and SHA-256.
using Hashes = std::multimap<std::string, std::string>;

/// What the bytes of a manifest list; nothing where it is none of ours.
Hashes listed_in(const std::string& bytes);

/// Its files in a folder, by their names. @throws ulpscope::Error naming the first that is not listed, or another by now
std::set<std::string> listed_files(const files::Folder& folder, const Listed& listed);

/// Whether such a folder can be written there, before the work for it is done; it need not be there. @throws ulpscope::Error
void check_listed_folder(const std::string& path, const Listed& listed);

/// A folder that is written anew: all of its files, or none. No other process writes to it meanwhile.
class ListedFolder {
 public:
  /// Makes it if need be. @throws ulpscope::Error where it holds anything else, is being written, or cannot be
  ListedFolder(const std::string& path, Listed listed);

  /// A file, `NAME` or `FOLDER/NAME`, whose bytes `produce` writes. @throws ulpscope::Error
  void add(const std::string& name, const std::function<void(const WriteBytes&)>& produce);
  /// A file of these bytes.
  void add(const std::string& name, std::string_view bytes);
  /// The names so far, and their SHA-256.
  const std::vector<std::pair<std::string, std::string>>& hashes() const noexcept { return hashes_; }
  /// Writes the manifest, which holds hashes() as `files`, and gives all files their names. What a former one listed beside
  /// them goes. @throws ulpscope::Error, also where something else has come into the folder meanwhile
  void commit(std::string_view manifest);

 private:
  Listed listed_;
  files::NewFolder made_;
  files::Folder folder_;
  files::FileLock lock_;
  std::set<std::string> former_;
  files::NewFiles files_;
  std::vector<std::pair<std::string, std::string>> hashes_;
};

}  // namespace ulpscope::reports
