// SPDX-License-Identifier: Apache-2.0
// Renames that can be undone: what has a name is set aside under a temporary one before another file takes it.
#include "files/new_files.hpp"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "emu/error.hpp"
#include "files/confinement.hpp"

namespace ulpscope::files {

NewFiles::~NewFiles() {
  for (const Rename& step : done_)
    if (have_names_ && is_temporary_name(step.to)) ::unlinkat(step.folder.descriptor(), step.to.c_str(), 0);
  added_.clear();
  for (auto folder = made_.rbegin(); folder != made_.rend(); ++folder)  // the deeper ones first
    ::unlinkat(folder_.descriptor(), folder->c_str(), AT_REMOVEDIR);
}

NewFiles::Place NewFiles::place_of(const std::string& name) {
  const std::size_t slash = name.rfind('/');
  const std::string last = name.substr(slash + 1);  // all of it without one
  if (last.empty() || last == "." || last == "..")
    throw Error(folder_.path_of(name) + ": cannot be written: is no name of a file");
  if (slash == std::string::npos) return {folder_, name};
  const std::string path = name.substr(0, slash);
  auto found = folders_.find(path);
  if (found == folders_.end()) {
    const Place folder = place_of(path);
    check_may_write(folder.folder.path_of(folder.name));
    if (::mkdirat(folder.folder.descriptor(), folder.name.c_str(), 0777) == 0)
      made_.push_back(path);
    else if (errno != EEXIST)
      throw Error(folder.folder.path_of(folder.name) + ": cannot be made: " + std::strerror(errno));
    found = folders_.emplace(path, Folder(folder.folder, folder.name)).first;
  }
  return {found->second, last};
}

NewFile& NewFiles::add(const std::string& name) {
  if (!added_.empty()) added_.back().file.finish();
  const Place place = place_of(name);
  if (!names_.insert(name).second) throw Error(place.folder.path_of(place.name) + ": would be written twice");
  return added_.emplace_back(place, NewFile(place.folder, place.name)).file;
}

void NewFiles::supersede(const std::string& name) {
  superseded_.push_back(place_of(name));
  if (const std::size_t slash = name.rfind('/'); slash != std::string::npos) left_.insert(name.substr(0, slash));
}

void NewFiles::rename(const Folder& folder, const std::string& from, const std::string& to) {
  done_.push_back({folder, from, to});
  if (::renameat(folder.descriptor(), from.c_str(), folder.descriptor(), to.c_str()) == 0) return;
  const int reason = errno;
  done_.pop_back();
  throw Error(folder.path_of(is_temporary_name(to) ? from : to) + ": cannot be written: " + std::strerror(reason));
}

/// The file that has this name gets a temporary one.
void NewFiles::set_aside(const Place& place) {
  const Kind kind = place.folder.kind(place.name);
  if (kind == Kind::file) return rename(place.folder, place.name, temporary_name(place.name));
  if (kind != Kind::none) throw Error(place.folder.path_of(place.name) + ": cannot be written: it is " + words_of(kind));
}

void NewFiles::take_name(Added& added) {
  rename(added.place.folder, added.file.temporary_, added.place.name);
  added.file.temporary_.clear();
}

void NewFiles::rename_all() {
  set_aside(added_.back().place);
  for (const Place& place : superseded_) set_aside(place);
  for (Added& added : added_) {
    if (&added != &added_.back()) set_aside(added.place);
    take_name(added);
  }
}

/// Takes back what was done, the last first. @returns words about what could not be
std::string NewFiles::undo() {
  std::string lost;
  for (; !done_.empty(); done_.pop_back()) {
    const Rename& step = done_.back();
    const int in = step.folder.descriptor();
    const bool was_set_aside = is_temporary_name(step.to);  // what a killed process left had a temporary name before, too
    if (!was_set_aside)
      ::unlinkat(in, step.to.c_str(), 0);
    else if (::renameat(in, step.to.c_str(), in, step.from.c_str()) != 0)
      lost += "; the former " + step.folder.path_of(step.from) + " is now " + step.to;
  }
  return lost;
}

/// What was set aside. It takes no memory: all is done but this.
void NewFiles::remove_temporaries() {
  for (; !done_.empty(); done_.pop_back())
    if (const Rename& step = done_.back();
        is_temporary_name(step.to) && ::unlinkat(step.folder.descriptor(), step.to.c_str(), 0) != 0)
      throw Error(step.folder.path_of(step.to) + ": cannot be removed: " + std::strerror(errno));
}

void NewFiles::commit() {
  added_.back().file.finish();
  try {
    rename_all();
  } catch (const Error& error) {
    throw Error(error.what() + undo());
  } catch (...) {
    undo();
    throw;
  }
  have_names_ = true;
  made_.clear();
  remove_temporaries();
  for (const std::string& folder : left_)
    if (::unlinkat(folder_.descriptor(), folder.c_str(), AT_REMOVEDIR) != 0 && errno != ENOTEMPTY && errno != EEXIST)
      throw Error(folder_.path_of(folder) + ": cannot be removed: " + std::strerror(errno));
}

}  // namespace ulpscope::files
