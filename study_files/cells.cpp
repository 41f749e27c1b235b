// SPDX-License-Identifier: Apache-2.0
// Cells of a grid as files named by a digest of their request.
#include "study_files/cells.hpp"

#include <algorithm>
#include <bit>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "emu/error.hpp"
#include "emu/json_input.hpp"
#include "files/folder.hpp"
#include "files/new_file.hpp"
#include "files/read_file.hpp"
#include "reports/build_info.hpp"
#include "reports/seal.hpp"
#include "reports/sha256.hpp"

namespace ulpscope::study_files {
namespace {

using Json = nlohmann::json;
using reports::Cell;
using reports::Finding;
using reports::Table;

constexpr std::string_view ending = ".json";

/// A number as its bits: nothing is lost, and NaN and infinities need no words.
Json json_of(const Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return {{"t", *text}};
  if (const auto* whole = std::get_if<std::int64_t>(&cell)) return {{"i", *whole}};
  return {{"d", std::bit_cast<std::uint64_t>(std::get<double>(cell))}};
}

/// One of an enumeration whose last is known.
template <class Enum>
Enum one_up_to(Enum last, const Json& json) {
  const auto number = emu::whole_number<std::uint8_t>(json);
  if (number > static_cast<std::uint8_t>(last)) throw Error("a number that names nothing");
  return static_cast<Enum>(number);
}

Cell cell_of(const Json& json) {
  if (json.contains("t")) return json.at("t").get<std::string>();
  if (json.contains("i")) return emu::whole_number<std::int64_t>(json.at("i"));
  return std::bit_cast<double>(emu::whole_number<std::uint64_t>(json.at("d")));
}

Json json_of(const Table& table) {
  Json rows = Json::array();
  for (const auto& row : table.rows) {
    Json cells = Json::array();
    for (const Cell& cell : row) cells.push_back(json_of(cell));
    rows.push_back(std::move(cells));
  }
  return {{"name", table.name}, {"columns", table.columns}, {"rows", std::move(rows)}};
}

Table table_of(const Json& json) {
  Table table{json.at("name").get<std::string>(), json.at("columns").get<std::vector<std::string>>(), {}};
  constexpr std::string_view of_names = "abcdefghijklmnopqrstuvwxyz0123456789_";  // they become those of files
  if (table.name.empty() || table.name.find_first_not_of(of_names) != std::string::npos) throw Error("a table of no name");
  for (const Json& row : json.at("rows")) {
    std::vector<Cell> cells;
    for (const Json& cell : row) cells.push_back(cell_of(cell));
    if (cells.size() != table.columns.size()) throw Error("a row of another length");
    table.rows.push_back(std::move(cells));
  }
  return table;
}

Json json_of(const Finding& f) {
  return {{"what", f.what},
          {"where", f.where},
          {"value", json_of(f.value)},
          {"threshold", json_of(f.threshold)},
          {"source", f.source},
          {"severity", static_cast<int>(f.severity)},
          {"sentence", f.sentence}};
}

Finding finding_of(const Json& json) {
  return {.what = json.at("what").get<std::string>(),
          .where = json.at("where").get<std::string>(),
          .value = cell_of(json.at("value")),
          .threshold = cell_of(json.at("threshold")),
          .source = json.at("source").get<std::string>(),
          .severity = one_up_to(reports::Severity::bad, json.at("severity")),
          .sentence = json.at("sentence").get<std::string>()};
}

}  // namespace

std::string to_json(const studies::StudyResult& result) {
  Json tables = Json::array(), findings = Json::array();
  for (const Table& table : result.tables) tables.push_back(json_of(table));
  for (const Finding& finding : result.findings) findings.push_back(json_of(finding));
  const Json json{{"tables", std::move(tables)},
                  {"findings", std::move(findings)},
                  {"remarks", result.remarks},
                  {"outcome", static_cast<int>(result.outcome)}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::optional<studies::StudyResult> result_of_json(const std::string& text) {
  try {
    const Json json = emu::parse_json(text);
    studies::StudyResult result;
    for (const Json& table : json.at("tables")) result.tables.push_back(table_of(table));
    if (result.tables.empty()) throw Error("no table");
    for (const Json& finding : json.at("findings")) result.findings.push_back(finding_of(finding));
    result.remarks = json.at("remarks").get<std::vector<std::string>>();
    result.outcome = one_up_to(studies::StudyOutcome::vacuous, json.at("outcome"));
    return result;
  } catch (const std::exception&) {  // another program's file, or a damaged one: the cell is computed again
    return std::nullopt;
  }
}

std::string digest_of(const GridCell& cell) {
  return reports::sha256(reports::version() + "\n" + reports::commit() + "\n" + cell.request());
}

CellStore::CellStore(const std::string& report_directory, Existing existing)
    : path_(files::WorkFolder::beside(report_directory, ".partial")) {
  if (existing == Existing::look) return;
  using files::WorkFolder;
  folder_.emplace(path_, existing == Existing::resume ? WorkFolder::Existing::resume : WorkFolder::Existing::refuse,
                  "holds cells of a run that was ended; --resume goes on with it, or remove it");
}

std::string CellStore::path_of(const GridCell& cell) const { return path_ + "/" + digest_of(cell) + std::string(ending); }

std::optional<studies::StudyResult> CellStore::find(const GridCell& cell) const {
  const std::string path = path_of(cell);
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return std::nullopt;
  const files::Folder folder(path_);
  const std::string name = digest_of(cell) + std::string(ending);
  const std::string text = files::read_whole(files::open_file(folder, name), path, files::most_text);
  return reports::is_sealed(text) ? result_of_json(text) : std::nullopt;
}

void CellStore::keep(const GridCell& cell, const studies::StudyResult& result) const {
  files::NewFile file(files::Folder(path_), digest_of(cell) + std::string(ending));  // over no link, into no pipe
  file.write(reports::sealed(to_json(result)));
  file.commit();
}

void CellStore::remove() {
  folder_->remove([](const std::string& name) {
    const std::size_t digits = name.size() - std::min(name.size(), ending.size());
    return digits == 64 && name.ends_with(ending) && name.find_first_not_of("0123456789abcdef") == digits;
  });
}

}  // namespace ulpscope::study_files
