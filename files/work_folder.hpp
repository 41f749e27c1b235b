// SPDX-License-Identifier: Apache-2.0
// A folder for what a run has so far, until its report is written.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "files/file_lock.hpp"
#include "files/folder.hpp"

namespace ulpscope::files {

/// The name of the file that says what the work is.
inline constexpr const char* work_request = "request.txt";

/// `'census a' there, 'census b' now`: the first lines in which two words of what the work is differ.
std::string first_difference(const std::string& there, const std::string& now);

/// Of one process at a time. When nothing is kept in it, the folder goes with this.
class WorkFolder {
 public:
  /// What to do with a folder that is there.
  enum class Existing : std::uint8_t { refuse, resume };

  /// `advice` is what the message says where the folder is there and refused. The folder is no link, and nobody else can enter
  /// one that this makes, or write to one that is there. @throws ulpscope::Error
  WorkFolder(const std::string& path, Existing existing, const std::string& advice);
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;
  ~WorkFolder();

  /// `report` is where the report will be: the folder lies beside it, `out.partial` beside `out` and `out/`.
  static std::string beside(const std::string& report, const std::string& suffix);

  /// Says in a file of the folder, `work_request`, what the work is, by lines. @throws ulpscope::Error where what is kept is of
  /// other work, by the first line that is another one now, and where something is there and no such file. Where all files are
  /// empty, nothing is kept, and the folder is for this work from now on.
  void keep_request(const std::string& request) const;

  /// As it was named.
  const std::string& path() const noexcept { return path_; }
  /// Removes the files of names for which `is_ours` holds, what an interrupted process left of them, and then the folder, if
  /// nothing else is in it. @throws ulpscope::Error
  void remove(const std::function<bool(const std::string&)>& is_ours);

 private:
  void check_is_own() const;
  bool keeps_something() const;

  std::string path_;
  NewFolder made_;
  std::optional<Folder> folder_;
  std::optional<FileLock> lock_;
};

}  // namespace ulpscope::files
