// SPDX-License-Identifier: Apache-2.0
// Makes the folder and locks it. A folder whose lock nobody holds, and in which there is more than the lock, is one that was
// left: whoever makes one puts nothing there before it has the lock.
#include "cli/scratch_folder.hpp"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "emu/error.hpp"
#include "files/confinement.hpp"
#include "files/folder.hpp"

namespace ulpscope::cli {
namespace {

constexpr std::string_view begin_of_name = "ulpscope-", drawn_letters = "XXXXXX";
/// Not that of reports, which may have any name and are nobody's to remove.
constexpr const char* scratch_lock = ".ulpscope-scratch";

bool is_own(const files::Folder& folder) {
  struct stat found {};
  return ::fstat(folder.descriptor(), &found) == 0 && found.st_uid == ::geteuid() && (found.st_mode & (S_IRWXG | S_IRWXO)) == 0;
}

void remove_if_left(const files::Folder& parent, const std::string& name) try {
  const files::Folder folder(parent, name);
  if (!is_own(folder) || folder.kind(scratch_lock) != files::Kind::file) return;
  const files::FileLock lock(folder, scratch_lock, folder.path());
  std::error_code ignored;
  if (folder.entries().size() > 1) std::filesystem::remove_all(folder.path(), ignored);
} catch (const Error&) {  // a process that lives has it, or it has gone
}

void remove_those_left(const std::string& parent) try {
  const files::Folder folder(parent);
  for (const files::FolderEntry& entry : folder.entries())
    if (entry.kind == files::Kind::folder && entry.name.starts_with(begin_of_name) &&
        entry.name.size() == begin_of_name.size() + drawn_letters.size())
      remove_if_left(folder, entry.name);
} catch (const Error&) {  // one that cannot be listed
}

}  // namespace

ScratchFolder::ScratchFolder() {
  std::error_code failed;
  const std::string allowed = files::writing_below();
  const std::filesystem::path parent =
      allowed.empty() ? std::filesystem::temp_directory_path(failed) : std::filesystem::path(allowed);
  if (failed) throw Error("TMPDIR: " + failed.message() + "; name a folder that can be written to");
  remove_those_left(parent.string());
  path_ = (parent / (std::string(begin_of_name) + std::string(drawn_letters))).string();
  if (::mkdtemp(path_.data()) == nullptr) throw Error(parent.string() + ": no folder can be made there; set TMPDIR to another");
  constexpr std::chrono::seconds patience(10);  // one that looks whether this is left lets go of it at once
  try {
    lock_.emplace(files::Folder(path_), scratch_lock, path_, patience);
  } catch (const Error&) {
  }
}

void ScratchFolder::remove() const noexcept {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace ulpscope::cli
