// SPDX-License-Identifier: Apache-2.0
// From [[study]] tables to cells.
#include "study_files/plan.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "emu/error.hpp"
#include "emu/names.hpp"
#include "emu/suggestions.hpp"
#include "emu/visible.hpp"

namespace ulpscope::study_files {
namespace {

using requests::Field;
using requests::Fields;
using requests::TomlValue;

const std::vector<std::string> own_keys{"kind", "name"};

/// Whether the value stands for several of what the field takes.
bool is_axis(const Field& field, const TomlValue& value) {
  if (!value.is_list()) return false;
  if (!field.is_list()) return true;
  return std::any_of(value.list().begin(), value.list().end(), [](const TomlValue& item) { return item.is_list(); });
}

/// An empty list would ask for nothing, or silently for what is standard.
void check_values(const Field& field, const TomlValue& value) {
  if (!value.is_list()) return;
  if (value.list().empty())
    throw Error(value.place() + ": " + field.name + ": a list without values" +
                (field.required ? "" : "; leave the key out for what is standard"));
  for (const TomlValue& item : value.list()) check_values(field, item);
}

std::string text_of(const TomlValue& table, const char* key) {
  const TomlValue* const value = table.table().find(key);
  if (value == nullptr) return {};
  if (const auto* text = std::get_if<std::string>(&value->value)) return *text;
  throw Error(value->place() + ": " + key + ": give text in quotes");
}

/// Names become files.
void check_name(const std::string& name, const std::string& place) {
  constexpr std::string_view allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
  if (name.empty() || name.find_first_not_of(allowed) != std::string::npos || name.size() > 100)
    throw Error(place + ": name '" + emu::visible(name) + "': give letters, digits, _ and -; files are named by it");
  if (name == "findings" || name == "index" || name == "manifest" || name == "study")
    throw Error(place + ": name '" + name + "': a file of every report has this name");
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ",") + word;
  return text;
}

void check_count(std::size_t cells, const TomlValue& table) {
  if (cells > most_cells) throw Error(table.place() + ": more than " + std::to_string(most_cells) + " cells in the file");
}

/// The grid of a table, with values of axes in the place of their lists.
PlannedStudy planned(std::string name, const Kind& kind, const TomlValue& table) {
  std::unique_ptr<Study> base = kind.make();
  Fields fields = base->fields();
  TomlValue single{.value = requests::TomlTable{}, .file = table.file, .line = table.line};
  std::vector<std::string> keys;
  std::vector<CellGrid::Axis> axes;
  std::size_t count = 1;
  for (const auto& [key, value] : table.table().entries) {
    const Field* const field = fields.find(key);
    if (field != nullptr) check_values(*field, value);
    const bool is_own_axis = field != nullptr && is_axis(*field, value);
    std::get<requests::TomlTable>(single.value).entries.emplace_back(key, is_own_axis ? value.list().front() : value);
    if (!is_own_axis) continue;
    count *= value.list().size();
    check_count(count, table);
    keys.push_back(key);
    axes.push_back({key, value.list()});
  }
  requests::set_from(fields, single, own_keys);
  return {std::move(name), kind.name, std::move(keys), CellGrid(kind, std::move(base), std::move(axes))};
}

const TomlValue::List& studies_of(const TomlValue& file) {
  for (const auto& [key, value] : file.table().entries)
    if (key != "study") throw Error(value.place() + ": unknown key '" + key + "'; a study file holds [[study]] tables");
  const TomlValue* const studies = file.table().find("study");
  if (studies == nullptr || !studies->is_list() || studies->list().empty())
    throw Error(file.place() + ": holds no [[study]] table");
  for (const TomlValue& study : studies->list())
    if (!study.is_table()) throw Error(study.place() + ": study: give [[study]] tables");
  return studies->list();
}

PlannedStudy plan_one(const TomlValue& table) {
  const std::string kind = text_of(table, "kind");
  if (kind.empty()) throw Error(table.place() + ": kind is missing: a command's name, e.g. kind = \"census\"");
  std::string name = table.table().find("name") == nullptr ? kind : text_of(table, "name");
  if (table.table().find("name") == nullptr) std::replace(name.begin(), name.end(), ' ', '_');
  check_name(name, table.place());
  try {
    find_kind(kind);
  } catch (const Error& error) {
    throw Error(table.table().find("kind")->place() + ": " + error.what());
  }
  return planned(std::move(name), find_kind(kind), table);
}

/// Tables by their names, each with the study that it is of.
using TakenTables = std::map<std::string, std::string>;

void take_tables(const PlannedStudy& study, const TomlValue& table, TakenTables& taken) {
  std::vector<std::string> names{study.name};
  for (const std::string& further : find_kind(study.kind).further_tables) names.push_back(study.name + "_" + further);
  for (const std::string& name : names)
    if (const auto [other, is_new] = taken.emplace(name, study.name); !is_new)
      throw Error(table.place() + ": study '" + study.name + "': its table " + name + ".csv is one of study '" + other->second +
                  "', too; give it another name");
}

}  // namespace

std::string GridCell::request() const {
  const std::unique_ptr<Study> standard = kind->make();
  return "kind = \"" + kind->name + "\"\n" + requests::to_toml(study->fields(), standard->fields());
}

CellGrid::CellGrid(const Kind& kind, std::unique_ptr<Study> base, std::vector<Axis> axes)
    : kind_(&kind), base_(std::move(base)), axes_(std::move(axes)) {
  const std::unique_ptr<Study> tried = base_->copy();
  Fields fields = tried->fields();
  for (const Axis& axis : axes_) {
    size_ *= axis.values.size();
    for (const TomlValue& value : axis.values) requests::set_from(fields.at(axis.key), value);
  }
}

GridCell CellGrid::operator[](std::size_t index) const {
  GridCell cell{.kind = kind_, .on_axes = {}, .study = base_->copy()};
  Fields fields = cell.study->fields();
  std::size_t count = size_;
  for (const Axis& axis : axes_) {
    count /= axis.values.size();
    Field& field = fields.at(axis.key);
    requests::set_from(field, axis.values[index / count]);
    index %= count;
    cell.on_axes.push_back(field.is_flag() && field.words().empty() ? "false" : joined(field.words()));
  }
  return cell;
}

std::vector<PlannedStudy> plan(const TomlValue& file, const std::vector<std::string>& only) {
  std::vector<PlannedStudy> planned;
  std::vector<std::string> names;
  std::set<std::string> taken;
  TakenTables tables;
  std::size_t cells = 0;
  for (const TomlValue& table : studies_of(file)) {
    PlannedStudy study = plan_one(table);
    if (!taken.insert(study.name).second)
      throw Error(table.place() + ": two studies are named '" + study.name + "': give each a name of its own");
    names.push_back(study.name);
    if (!only.empty() && std::find(only.begin(), only.end(), study.name) == only.end()) continue;
    cells += study.cells.size();
    check_count(cells, table);
    take_tables(study, table, tables);
    planned.push_back(std::move(study));
  }
  for (const std::string& name : only)
    if (!taken.contains(name)) throw Error("--only " + name + ": the file's studies are " + emu::comma_separated(names));
  return planned;
}

}  // namespace ulpscope::study_files
