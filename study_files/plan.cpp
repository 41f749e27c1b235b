// SPDX-License-Identifier: Apache-2.0
// From [[study]] tables to cells.
#include "study_files/plan.hpp"

#include <algorithm>
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

struct Axis {
  std::string key;
  const TomlValue::List* values;
};

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

/// A table of one kind, with values of axes in the place of their lists.
class Grid {
 public:
  Grid(const Kind& kind, const TomlValue& table) : kind_(kind), table_(table), base_(kind.make()) {
    Fields fields = base_->fields();
    TomlValue single{.value = requests::TomlTable{}, .file = table.file, .line = table.line};
    for (const auto& [key, value] : table.table().entries) {
      const Field* const field = fields.find(key);
      if (field != nullptr) check_values(*field, value);
      if (field != nullptr && is_axis(*field, value)) {
        axes_.push_back({key, &value.list()});
        std::get<requests::TomlTable>(single.value).entries.emplace_back(key, value.list().front());
      } else {
        std::get<requests::TomlTable>(single.value).entries.emplace_back(key, value);
      }
    }
    requests::set_from(fields, single, own_keys);
  }

  PlannedStudy planned(std::string name) const {
    PlannedStudy study{.name = std::move(name), .kind = kind_.name, .axes = {}, .cells = {}};
    std::size_t count = 1;
    for (const Axis& axis : axes_) {
      study.axes.push_back(axis.key);
      count *= axis.values->size();
      if (count > most_cells) throw Error(table_.place() + ": more than " + std::to_string(most_cells) + " cells");
    }
    for (std::size_t i = 0; i < count; ++i) study.cells.push_back(cell(i, count));
    return study;
  }

 private:
  GridCell cell(std::size_t index, std::size_t count) const {
    GridCell cell{.on_axes = {}, .study = base_->copy(), .request = {}};
    Fields fields = cell.study->fields();
    for (const Axis& axis : axes_) {
      count /= axis.values->size();
      Field& field = fields.at(axis.key);
      requests::set_from(field, (*axis.values)[index / count]);
      index %= count;
      cell.on_axes.push_back(field.is_flag() && field.words().empty() ? "false" : joined(field.words()));
    }
    const std::unique_ptr<Study> standard = kind_.make();
    cell.request = "kind = \"" + kind_.name + "\"\n" + requests::to_toml(fields, standard->fields());
    return cell;
  }

  const Kind& kind_;
  const TomlValue& table_;
  std::unique_ptr<Study> base_;
  std::vector<Axis> axes_;
};

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
  return Grid(find_kind(kind), table).planned(std::move(name));
}

}  // namespace

std::vector<PlannedStudy> plan(const TomlValue& file, const std::vector<std::string>& only) {
  std::vector<PlannedStudy> planned;
  std::vector<std::string> names;
  std::set<std::string> taken;
  for (const TomlValue& table : studies_of(file)) {
    planned.push_back(plan_one(table));
    const std::string& name = planned.back().name;
    if (!taken.insert(name).second)
      throw Error(table.place() + ": two studies are named '" + name + "': give each a name of its own");
    names.push_back(name);
  }
  for (const std::string& name : only)
    if (!taken.contains(name)) throw Error("--only " + name + ": the file's studies are " + emu::comma_separated(names));
  if (!only.empty())
    std::erase_if(planned, [&](const PlannedStudy& s) { return std::find(only.begin(), only.end(), s.name) == only.end(); });
  return planned;
}

}  // namespace ulpscope::study_files
