// SPDX-License-Identifier: Apache-2.0
// Makes the folder, locks it, and removes what is ours.
#include "files/work_folder.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <sstream>

#include "emu/error.hpp"
#include "files/new_file.hpp"
#include "files/read_file.hpp"

namespace ulpscope::files {
namespace {

constexpr unsigned only_own = 0700;  // what is private is private there, too, whatever the modes of its files

}  // namespace

std::string first_difference(const std::string& there, const std::string& now) {
  std::istringstream lines_there(there), lines_now(now);
  std::string line_there, line_now;
  do {
    if (!std::getline(lines_there, line_there)) line_there.clear();
    if (!std::getline(lines_now, line_now)) line_now.clear();
  } while (line_there == line_now && (lines_there || lines_now));
  return "'" + line_there + "' there, '" + line_now + "' now";
}

std::string WorkFolder::beside(const std::string& report, const std::string& suffix) {
  std::string stem = report;
  while (stem.size() > 1 && stem.ends_with('/')) stem.pop_back();
  return stem + suffix;
}

WorkFolder::WorkFolder(const std::string& path, Existing existing, const std::string& advice)
    : path_(path), made_(path, only_own) {
  const std::filesystem::path whole(path);
  const Folder above(whole.parent_path().string());
  const std::string name = whole.filename().string();
  if (const Kind kind = above.kind(name); kind != Kind::folder)
    throw Error(path + ": is " + words_of(kind) + "; remove it, or name another folder for the report");
  folder_.emplace(above, name);
  if (!made_.is_new()) check_is_own();
  lock_.emplace(*folder_, folder_lock, path);
  if (!made_.is_new() && existing == Existing::refuse) throw Error(path + ": " + advice);
  made_.keep();
}

/// What lies there is believed, and becomes part of what is written.
void WorkFolder::check_is_own() const {
  struct stat found {};
  if (::fstat(folder_->descriptor(), &found) != 0) throw Error(path_ + ": cannot be looked at: " + std::strerror(errno));
  const auto refuse = [&](const char* why) {
    throw Error(path_ + ": " + why + "; remove it, or name another folder for the report");
  };
  if (found.st_uid != ::geteuid()) refuse("belongs to another user");
  if ((found.st_mode & (S_IWGRP | S_IWOTH)) != 0) refuse("others can write to it");
}

WorkFolder::~WorkFolder() {
  if (!lock_) return;
  lock_.reset();
  ::rmdir(path_.c_str());  // if it is empty
}

void WorkFolder::keep_request(const std::string& request) const {
  if (folder_->kind(work_request) == Kind::none) {
    for (const FolderEntry& entry : folder_->entries())  // what does not say of which work it is, is of any, or no work at all
      if (entry.name != folder_lock && !is_temporary_name(entry.name))
        throw Error(path_ + ": holds " + entry.name + ", but no " + work_request +
                    " that says of which work; move it away, or name another folder for the report");
  } else {
    const std::string path = folder_->path_of(work_request);
    const std::string before = read_whole(open_file(*folder_, work_request), path, most_text);
    if (before == request) return;
    if (keeps_something())
      throw Error(path_ + ": is of other work: " + first_difference(before, request) + "; remove it to begin anew");
  }
  NewFile file(*folder_, work_request);
  file.write(request);
  file.commit();
}

/// Beside what the work is.
bool WorkFolder::keeps_something() const {
  for (const FolderEntry& entry : folder_->entries()) {
    if (entry.name == folder_lock || entry.name == work_request || is_temporary_name(entry.name)) continue;
    if (entry.kind != Kind::file || open_file(*folder_, entry.name).bytes != 0) return true;
  }
  return false;
}

void WorkFolder::remove(const std::function<bool(const std::string&)>& is_ours) {
  const auto fail = [](const std::string& path) { throw Error(path + ": cannot be removed: " + std::strerror(errno)); };
  for (const FolderEntry& entry : folder_->entries()) {
    const bool goes = entry.kind == Kind::file && (is_ours(entry.name) || is_temporary_name(entry.name));
    if (goes && ::unlinkat(folder_->descriptor(), entry.name.c_str(), 0) != 0) fail(folder_->path_of(entry.name));
  }
  lock_->release();
  lock_.reset();
  if (::rmdir(path_.c_str()) != 0 && errno != ENOTEMPTY && errno != EEXIST) fail(path_);
}

}  // namespace ulpscope::files
