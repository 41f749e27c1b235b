// SPDX-License-Identifier: Apache-2.0
// Several files of a folder that appear together or not at all.
#pragma once

#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "files/folder.hpp"
#include "files/new_file.hpp"

namespace ulpscope::files {

/// All files are written under temporary names and are on the disk before the first one takes its own. The last one added takes
/// its name last, and a file that has this name goes first: where there is one, the others are whole. If anything fails, what
/// was there is put back. A process that is killed between the first rename and the last leaves files of both, and temporary
/// ones, but none of the last one's name.
class NewFiles {
 public:
  /// In a folder that no other process writes to meanwhile: hold a FileLock.
  explicit NewFiles(const Folder& folder) : folder_(folder) {}
  NewFiles(const NewFiles&) = delete;
  NewFiles& operator=(const NewFiles&) = delete;
  ~NewFiles();

  /// A file to be written, `NAME` or `FOLDER/NAME`, where the folder is made, and those above it. The one before is done.
  /// @throws ulpscope::Error, also for a name that leads out of the folder, and for one that was added before
  NewFile& add(const std::string& name);
  /// A file of the folder that goes when the new ones take their names, and its own folder with the last in it.
  void supersede(const std::string& name);
  /// @throws ulpscope::Error; everything is as before then, but where the message says that a former file could not be removed
  void commit();

 private:
  struct Place {
    Folder folder;
    std::string name;
  };
  struct Rename {
    Folder folder;
    std::string from, to;
  };
  struct Added {
    Place place;
    NewFile file;
  };

  Place place_of(const std::string& name);
  void rename(const Folder& folder, const std::string& from, const std::string& to);
  void set_aside(const Place& place);
  void take_name(Added& added);
  void rename_all();
  std::string undo();
  void remove_temporaries();

  Folder folder_;
  std::map<std::string, Folder> folders_;
  std::set<std::string> names_;    ///< of added_
  std::vector<std::string> made_;  ///< folders in this one that were not there before
  std::set<std::string> left_;     ///< and those that may be empty now
  std::deque<Added> added_;
  std::vector<Place> superseded_;
  std::vector<Rename> done_;
  bool have_names_ = false;  ///< all of them: what was set aside is to be removed, and nothing to be undone
};

}  // namespace ulpscope::files
