// SPDX-License-Identifier: Apache-2.0
// A report directory: tables as CSV, a page, and a manifest that tells what made them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reports/listed_folder.hpp"
#include "reports/table.hpp"

namespace ulpscope::reports {

/// What the manifest of a report says of its making.
struct Provenance {
  std::vector<std::string> arguments;                           ///< the command line
  std::uint64_t seed = 0;                                       ///< of the command; 0 where it takes none
  std::vector<std::pair<std::string, std::string>> extra = {};  ///< e.g. input files and their SHA-256
  std::string gpu = "none";                                     ///< the device that took part
  std::vector<std::pair<std::string, std::string>> texts =
      {};  ///< more files of the report: name, of one in a folder `FOLDER/NAME`, and content
};

/// While it lives, the report of one folder is written to another: to make a report again beside itself. One at a time.
class WriteElsewhere {
 public:
  /// From the one folder to the other.
  struct Folders {
    std::string from, to;  ///< paths
  };
  /// Begins to send the report of `folders.from` to `folders.to`.
  explicit WriteElsewhere(Folders folders);
  WriteElsewhere(const WriteElsewhere&) = delete;
  WriteElsewhere& operator=(const WriteElsewhere&) = delete;
  ~WriteElsewhere();

  /// The folders of the one that lives; nothing where none does.
  static const Folders* present();
};

/// Where a report for `directory` is written now.
std::string report_folder(const std::string& directory);

/// Whether a report can be written there, before the work for it is done. @throws ulpscope::Error where the directory holds
/// files that are no report's, or a part
void check_report_folder(const std::string& directory);
/// The same where it may be a part that is there.
void check_part_folder(const std::string& directory);

/// The file that tells what made a report or a part, and lists the others.
inline constexpr const char* manifest_name = "manifest.json";
/// The file of a folder that holds what one shard of the work for a report has measured.
inline constexpr const char* part_name = "part.json";

/// Creates `directory` if need be and writes part.json, a JSON object that `produce` writes but for the brace that closes it,
/// with its seal (seal.hpp), and last manifest.json, as write_report() does; a part that is there is replaced. @throws
/// ulpscope::Error
void write_part(const std::string& directory, const std::function<void(const WriteBytes&)>& produce,
                const Provenance& provenance);
/// The same of the text of an object.
void write_part(const std::string& directory, const std::string& text, const Provenance& provenance);

/// A report that is being written: its files one after the other, and last manifest.json: version, commit, compiler, CPU, GPU
/// (or "none"), seed, arguments, SHA-256 of each file.
class ReportFolder {
 public:
  /// Creates the directory if need be; a report that is there is replaced. A directory is refused that holds a part, a link, or
  /// a file which is not a report's or no longer as its manifest lists it, or to which another process writes.
  /// @throws ulpscope::Error, as all members do
  explicit ReportFolder(const std::string& directory);

  /// A file whose bytes `produce` writes.
  void add(const std::string& name, const std::function<void(const WriteBytes&)>& produce) { folder_.add(name, produce); }
  /// A file of these bytes.
  void add(const std::string& name, std::string_view bytes) { folder_.add(name, bytes); }
  /// Adds the files of `provenance.texts`, index.html and the manifest, and gives all files their names: where one cannot be
  /// written, none is (files::NewFiles). Without it nothing is left.
  void commit(const std::string& html, const Provenance& provenance);

 private:
  ListedFolder folder_;
};

/// A ReportFolder of NAME.csv for each table, and index.html with `html`. @throws ulpscope::Error
void write_report(const std::string& directory, const std::vector<Table>& tables, const std::string& html,
                  const Provenance& provenance);

}  // namespace ulpscope::reports
