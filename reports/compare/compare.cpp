// SPDX-License-Identifier: Apache-2.0
// Compares the files of two reports: bytes, or cells of tables.
#include "reports/compare/compare.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <system_error>

#include "emu/error.hpp"
#include "emu/json_input.hpp"
#include "files/folder.hpp"
#include "files/read_file.hpp"
#include "reports/compare/csv_file.hpp"
#include "reports/directory.hpp"
#include "reports/escape.hpp"
#include "reports/sha256.hpp"

namespace ulpscope::reports {
namespace {

namespace fs = std::filesystem;

/// Nothing where there is none. @throws ulpscope::Error where it is no file
std::optional<std::string> bytes_of(const fs::path& path) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return std::nullopt;
  return files::read_file(path.string());
}

std::optional<double> number(const std::string& word) {
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc{} || end != word.data() + word.size()) return std::nullopt;
  return value;
}

std::string joined(const std::vector<std::string>& words, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += (i == 0 ? "" : " | ") + words[i];
  return text;
}

/// The fewest columns at the left that tell all rows apart, or all of them. In their order the rows that are most alike stand
/// next to each other.
std::size_t columns_that_tell_apart(const CsvFile& file) {
  std::vector<const std::vector<std::string>*> rows;
  for (const auto& row : file.rows) rows.push_back(&row);
  std::ranges::sort(rows, [](const auto* a, const auto* b) { return *a < *b; });
  std::ptrdiff_t alike = 0;
  for (std::size_t i = 1; i < rows.size(); ++i)
    alike = std::max(alike, std::ranges::mismatch(*rows[i - 1], *rows[i]).in1 - rows[i - 1]->begin());
  return std::min(static_cast<std::size_t>(alike) + 1, file.columns.size());
}

/// Columns that both have at the left, and that tell the rows of both apart; all of these where none do.
std::size_t key_columns(const CsvFile& a, const CsvFile& b) {
  const auto common = static_cast<std::size_t>(
      std::mismatch(a.columns.begin(), a.columns.end(), b.columns.begin(), b.columns.end()).first - a.columns.begin());
  return std::min(common, std::max(columns_that_tell_apart(a), columns_that_tell_apart(b)));
}

/// Rows by name; rows of one name by how many were before.
using Rows = std::map<std::pair<std::string, std::size_t>, const std::vector<std::string>*>;

Rows rows_by_name(const CsvFile& file, std::size_t columns) {
  Rows rows;
  std::map<std::string, std::size_t> before;
  for (const auto& row : file.rows) {
    const std::string name = joined(row, columns);
    rows[{name, before[name]++}] = &row;
  }
  return rows;
}

/// The place of each column.
using Columns = std::map<std::string, std::size_t>;

Columns columns_of(const CsvFile& file, const fs::path& path) {
  Columns places;
  for (std::size_t i = 0; i < file.columns.size(); ++i)
    if (!places.emplace(file.columns[i], i).second)
      throw Error(path.string() + ": has two columns '" + file.columns[i] + "'; those of a report have names of their own");
  return places;
}

class Comparison {
 public:
  explicit Comparison(const ReportTolerance& tolerance) : tolerance_(tolerance) {}

  void tables(const std::string& name, const fs::path& a, const fs::path& b) {
    const bool in_a = fs::exists(a), in_b = fs::exists(b);
    if (!in_a || !in_b) return add(name, "", "", in_a ? "present" : "", in_b ? "present" : "");
    for (const fs::path& path : {a, b}) files::open_file(path.string());  // a pipe would be waited for
    const CsvFile of_a = read_csv(a.string()), of_b = read_csv(b.string());
    rows(name, of_a, columns_of(of_a, a), of_b, columns_of(of_b, b));
  }

  Table result{"diff", {"file", "row", "column", "a", "b", "difference", "relative"}, {}};

 private:
  void rows(const std::string& name, const CsvFile& a, const Columns& in_a, const CsvFile& b, const Columns& in_b) {
    const std::size_t keys = key_columns(a, b);
    for (const std::string& column : a.columns)
      if (!in_b.contains(column)) add(name, "", column, "present", "");
    for (const std::string& column : b.columns)
      if (!in_a.contains(column)) add(name, "", column, "", "present");
    const Rows of_a = rows_by_name(a, keys), of_b = rows_by_name(b, keys);
    for (const auto& [key, row] : of_a) {
      const auto other = of_b.find(key);
      if (other == of_b.end())
        add(name, key.first, "", "present", "");
      else
        cells(name, key.first, a, *row, in_b, *other->second);
    }
    for (const auto& [key, row] : of_b)
      if (!of_a.contains(key)) add(name, key.first, "", "", "present");
  }

  void cells(const std::string& name, const std::string& key, const CsvFile& a, const std::vector<std::string>& x,
             const Columns& in_b, const std::vector<std::string>& y) {
    for (std::size_t i = 0; i < a.columns.size(); ++i) {
      const auto column = in_b.find(a.columns[i]);
      if (column == in_b.end()) continue;
      const std::string& other = y[column->second];
      if (x[i] != other) add(name, key, a.columns[i], x[i], other);
    }
  }

  /// Each cell that differs has the names of its row and its column: however long they are, it takes little.
  void add(const std::string& file, const std::string& row, const std::string& column, const std::string& a,
           const std::string& b) {
    const auto x = number(a), y = number(b);
    const double none = std::nan("");
    const double difference = x && y ? *y - *x : none;
    const double relative = x && y ? difference / std::fabs(*x) : none;
    if (std::fabs(difference) <= tolerance_.absolute || std::fabs(relative) <= tolerance_.relative) return;
    constexpr std::size_t most = 1000;
    result.rows.push_back({file, without_middle(row, most), without_middle(column, most), a, b, difference, relative});
  }

  ReportTolerance tolerance_;
};

std::set<std::string> tables_of(const Manifest& manifest) {
  std::set<std::string> names;
  for (const auto& [name, hash] : manifest.files)
    if (name.ends_with(".csv")) names.insert(name);
  return names;
}

/// A name that stays in its folder.
bool is_plain(const std::string& name) { return !name.empty() && name[0] != '.' && name.find('/') == std::string::npos; }
/// A plain name, or two with a slash between them: reports have no deeper folders.
bool is_within(const std::string& name) {
  const std::size_t slash = name.find('/');
  return slash == std::string::npos ? is_plain(name) : is_plain(name.substr(0, slash)) && is_plain(name.substr(slash + 1));
}

/// What lies in the folder and is not listed; of a folder in it that holds nothing listed, its own name.
std::vector<std::string> unlisted_files(const std::string& directory, const std::set<std::string>& listed) {
  std::vector<std::string> names;
  const auto look = [&](const files::Folder& folder, const std::string& within, const auto& again) -> void {
    for (const files::FolderEntry& entry : folder.entries()) {
      const std::string name = within + entry.name, first = name + '/';
      const auto below = listed.lower_bound(first);
      if (entry.kind == files::Kind::folder && below != listed.end() && below->starts_with(first))
        again(files::Folder(folder, entry.name), first, again);
      else if (name != manifest_name && !listed.contains(name))
        names.push_back(name);
    }
  };
  look(files::Folder(directory), "", look);
  return names;
}

}  // namespace

Manifest parse_manifest(const std::string& bytes, const std::string& path) {
  const auto bad = [&](const std::string& why = "") { return Error(path + ": is no manifest of a report by ulpscope" + why); };
  const auto json = [&] {
    try {
      return emu::parse_json<nlohmann::ordered_json>(bytes);
    } catch (const emu::BadJson& problem) {
      throw bad(std::string(": ") + problem.what());
    }
  }();
  if (!json.is_object() || json.value("program", nlohmann::ordered_json()) != "ulpscope") throw bad();
  Manifest manifest;
  try {
    manifest.arguments = json.at("arguments").get<std::vector<std::string>>();
    for (const auto& [name, hash] : json.at("files").items()) manifest.files.emplace_back(name, hash.get<std::string>());
    if (const auto seed = json.find("seed"); seed != json.end()) manifest.seed = seed->dump();
  } catch (const nlohmann::json::exception&) {
    throw bad();
  }
  for (const auto& [name, hash] : manifest.files)
    if (!is_within(name)) throw Error(path + ": names the file '" + name + "', which is not in its folder");
  return manifest;
}

Manifest read_manifest(const std::string& directory) {
  const std::string path = directory + "/" + manifest_name;
  const auto bytes = bytes_of(path);
  if (!bytes) throw Error(directory + ": holds no manifest.json; give the folder of a report");
  return parse_manifest(*bytes, path);
}

Table compare_with_again(const std::string& directory, const std::string& again) {
  Table table{"check", {"file", "status"}, {}};
  const Manifest manifest = read_manifest(directory), now = read_manifest(again);
  std::set<std::string> listed;
  for (const auto& [name, hash] : manifest.files) {
    listed.insert(name);
    const auto kept = bytes_of(fs::path(directory) / name), made = bytes_of(fs::path(again) / name);
    const char* const status = !kept ? "missing" : sha256(*kept) != hash ? "edited" : made != kept ? "changed" : "same";
    table.rows.push_back({name, std::string(status)});
  }
  for (const auto& [name, hash] : now.files)
    if (!listed.contains(name)) table.rows.push_back({name, std::string("new")});
  for (const std::string& name : unlisted_files(directory, listed)) table.rows.push_back({name, std::string("unlisted")});
  if (manifest.seed != now.seed) table.rows.push_back({std::string(manifest_name), std::string("changed")});
  return table;
}

Table compare_reports(const std::string& a, const std::string& b, const ReportTolerance& tolerance) {
  std::set<std::string> names = tables_of(read_manifest(a));
  names.merge(tables_of(read_manifest(b)));
  Comparison comparison(tolerance);
  for (const std::string& name : names) comparison.tables(name, fs::path(a) / name, fs::path(b) / name);
  return comparison.result;
}

}  // namespace ulpscope::reports
