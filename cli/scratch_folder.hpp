// SPDX-License-Identifier: Apache-2.0
// A folder for files that other programs are to read: it goes when the object does.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>
#include <system_error>

#include "emu/error.hpp"
#include "files/confinement.hpp"

namespace ulpscope::cli {

class ScratchFolder {
 public:
  /// Below TMPDIR, or where files may be made at all; readable by this user alone. @throws ulpscope::Error
  ScratchFolder() {
    std::error_code failed;
    const std::string allowed = files::writing_below();
    const std::filesystem::path parent =
        allowed.empty() ? std::filesystem::temp_directory_path(failed) : std::filesystem::path(allowed);
    if (failed) throw Error("TMPDIR: " + failed.message() + "; name a folder that can be written to");
    path_ = (parent / "ulpscope-XXXXXX").string();
    if (::mkdtemp(path_.data()) == nullptr)
      throw Error(parent.string() + ": no folder can be made there; set TMPDIR to another");
  }
  ~ScratchFolder() { remove(); }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::string& path() const noexcept { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  void remove() const noexcept {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

 private:
  std::string path_;
};

}  // namespace ulpscope::cli
