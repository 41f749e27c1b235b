// SPDX-License-Identifier: Apache-2.0
// An open folder. What is read and written in it is reached from its descriptor, and no link below it is followed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "files/descriptor.hpp"

namespace ulpscope::files {

/// What a name stands for; a link is a link, wherever it leads.
enum class Kind : std::uint8_t { none, file, folder, link, pipe, socket, device };
/// `a pipe`
const char* words_of(Kind kind) noexcept;
/// Of what stat() says in st_mode.
Kind kind_of(unsigned mode) noexcept;

/// A name in a folder.
struct FolderEntry {
  std::string name;  ///< without the folder's
  Kind kind;         ///< what it stands for
};

/// A folder that was there when it was opened. Copies share the descriptor.
class Folder {
 public:
  /// Links in `path` are followed: they are the caller's words. An empty path is the folder that the program is in.
  /// @throws ulpscope::Error where there is no such folder
  explicit Folder(const std::string& path);
  /// A folder in another one: no link. @throws ulpscope::Error
  Folder(const Folder& parent, const std::string& name);

  /// For openat() and its kind; it reads nothing itself.
  int descriptor() const noexcept { return open_->value(); }
  /// As it was named.
  const std::string& path() const noexcept { return path_; }
  /// `PATH/NAME`, for messages.
  std::string path_of(const std::string& name) const;

  /// What `name` stands for here. @throws ulpscope::Error where that cannot be known
  Kind kind(const std::string& name) const;
  /// All names, in order of their bytes. @throws ulpscope::Error
  std::vector<FolderEntry> entries() const;

 private:
  std::string path_;
  std::shared_ptr<const Descriptor> open_;
};

/// Makes a folder, and those above it that are not there. What it made goes again with it, where nothing is in it, unless keep()
/// is called.
class NewFolder {
 public:
  /// `mode` is that of the folder itself, less what the user leaves out of all. @throws ulpscope::Error where it cannot be
  /// made, or something else has its name
  explicit NewFolder(const std::string& path, unsigned mode = 0777);
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;
  ~NewFolder() { remove(); }

  /// Whether the folder was not there before.
  bool is_new() const noexcept { return is_new_; }
  /// What was made stays.
  void keep() noexcept { made_.clear(); }

 private:
  void remove() noexcept;

  std::vector<std::string> made_;
  bool is_new_ = false;
};

}  // namespace ulpscope::files
