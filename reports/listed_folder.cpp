// SPDX-License-Identifier: Apache-2.0
// Holds what is in a folder to what its manifest lists, and replaces it.
#include "reports/listed_folder.hpp"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>

#include "emu/error.hpp"
#include "emu/json_input.hpp"
#include "files/new_file.hpp"
#include "files/read_file.hpp"
#include "reports/file_sha256.hpp"
#include "reports/sha256.hpp"

namespace ulpscope::reports {
namespace {

using files::Folder;
using files::FolderEntry;

/// Looks at every name in a folder.
class Owner {
 public:
  Owner(const Folder& folder, const Listed& listed) : folder_(folder), listed_(listed) {
    // A process that was killed while it replaced files has left its manifest, or the former one, under a temporary name.
    const std::string on_its_way = "." + listed.manifest + std::string(files::temporary_mark);
    for (const FolderEntry& entry : folder.entries())
      if (entry.kind == files::Kind::file && (entry.name == listed.manifest ||
                                       (entry.name.starts_with(on_its_way) && files::is_temporary_name(entry.name))))
        read_manifest(entry.name);
  }

  std::set<std::string> files() {
    look(folder_, "");
    return std::move(files_);
  }

 private:
  void read_manifest(const std::string& name) {
    Hashes hashes = listed_in(files::read_whole(files::open_file(folder_, name), folder_.path_of(name), files::most_of_values));
    if (!hashes.empty() && name == listed_.manifest) files_.insert(name);
    hashes_.merge(hashes);
  }

  void look(const Folder& folder, const std::string& prefix) {
    for (const FolderEntry& entry : folder.entries()) {
      const std::string name = prefix + entry.name;
      if (prefix.empty() && (entry.name == files::folder_lock || files_.contains(name))) continue;
      if (prefix.empty() && entry.kind == files::Kind::folder && (is_listed_folder(name) || holds_left_overs_alone(entry.name)))
        look(Folder(folder, entry.name), name + "/");
      else
        take(folder, entry, name);
    }
  }

  void take(const Folder& folder, const FolderEntry& entry, const std::string& name) {
    const auto [first, last] = hashes_.equal_range(name);
    const bool left_over = files::is_temporary_name(entry.name);
    if (entry.kind != files::Kind::file || (first == last && !left_over))
      throw Error(folder_.path() + " holds " + name + (entry.kind == files::Kind::file ? "" : std::string(", ") + words_of(entry.kind)) +
                  ", which is not part of " + listed_.noun + ": name a new or an empty directory");
    if (!left_over) {
      const std::string hash = sha256_of_file(files::open_file(folder, entry.name), folder.path_of(entry.name));
      if (std::none_of(first, last, [&](const auto& listed) { return listed.second == hash; }))
        throw Error(folder_.path() + " holds " + name + ", which is not what " + listed_.manifest +
                    " lists: it was changed; move it away, or name a new or an empty directory");
    }
    files_.insert(name);
  }

  bool is_listed_folder(const std::string& name) const {
    const auto in_it = hashes_.lower_bound(name + "/");
    return in_it != hashes_.end() && in_it->first.starts_with(name + "/");
  }

  bool holds_left_overs_alone(const std::string& name) const {
    const std::vector<FolderEntry> entries = Folder(folder_, name).entries();
    return !entries.empty() && std::all_of(entries.begin(), entries.end(),
                                           [](const FolderEntry& entry) { return files::is_temporary_name(entry.name); });
  }

  const Folder& folder_;
  const Listed& listed_;
  Hashes hashes_;
  std::set<std::string> files_;
};

}  // namespace

Hashes listed_in(const std::string& bytes) {
  using nlohmann::json;
  json manifest;
  Hashes hashes;
  try {
    manifest = emu::parse_json(bytes);
  } catch (const emu::BadJson&) {
    return hashes;
  }
  if (!manifest.is_object() || (manifest.value("program", json()) != "ulpscope" && !manifest.contains("ulpscope")))
    return hashes;
  const auto listed = manifest.find("files");
  if (listed == manifest.end() || !listed->is_object()) return hashes;
  for (const auto& [name, hash] : listed->items())
    if (hash.is_string()) hashes.emplace(name, hash.get<std::string>());
  return hashes;
}

std::set<std::string> listed_files(const files::Folder& folder, const Listed& listed) { return Owner(folder, listed).files(); }

void check_listed_folder(const std::string& path, const Listed& listed) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return;
  if (!std::filesystem::is_directory(path, ignored)) throw Error(path + ": cannot be written: it is not a directory");
  listed_files(Folder(path), listed);
}

ListedFolder::ListedFolder(const std::string& path, Listed listed)
    : listed_(std::move(listed)),
      made_(path),
      folder_(path),
      lock_(folder_, files::folder_lock, path),
      former_(listed_files(folder_, listed_)),
      files_(folder_) {}

void ListedFolder::add(const std::string& name, const std::function<void(const WriteBytes&)>& produce) {
  files::NewFile& file = files_.add(name);
  Sha256 digest;
  produce([&](std::string_view bytes) {
    file.write(bytes);
    digest.add(bytes);
  });
  hashes_.emplace_back(name, digest.hex());
}

void ListedFolder::add(const std::string& name, std::string_view bytes) {
  add(name, [bytes](const WriteBytes& write) { write(bytes); });
}

void ListedFolder::commit(std::string_view manifest) {
  files_.add(listed_.manifest).write(manifest);
  for (const auto& [name, hash] : hashes_) former_.erase(name);
  former_.erase(listed_.manifest);
  for (const std::string& name : former_) files_.supersede(name);
  listed_files(folder_, listed_);  // still nothing but what is replaced, after all that it took
  files_.commit();
  made_.keep();
  lock_.release();
}

}  // namespace ulpscope::reports
