// SPDX-License-Identifier: Apache-2.0
// Formats, engines, recipes: what there is; tables as text, and their figures.
#include <tuple>

#include "emu/catalogue.hpp"
#include "emu/engines.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"
#include "emu/visible.hpp"
#include "python/bindings.hpp"
#include "recipes/recipe.hpp"
#include "reports/page_html.hpp"
#include "reports/percent.hpp"
#include "reports/render.hpp"
#include "requests/command_line.hpp"
#include "requests/parts.hpp"
#include "studies/facts/formats.hpp"
#include "study_files/kinds.hpp"

namespace ulpscope::python {
namespace {

nb::object formats(const std::vector<std::string>& words) {
  std::vector<emu::Format> formats;
  for (const std::string& word : words) formats.push_back(requests::parse_format(word));
  if (words.empty())
    for (const emu::NamedFormat& entry : emu::catalogue) formats.push_back(entry.format);
  return as_python(studies::formats_table(formats));
}

/// `torch.float8_e4m3fn` and the like, by format.
std::string format_of_dtype(const std::string& word) {
  for (const emu::NamedFormat& entry : emu::catalogue)
    if (word == entry.numpy || word == entry.torch) return std::string(entry.name);
  return {};
}

reports::Table table_of(const std::string& name, const std::vector<std::string>& columns, const nb::list& rows) {
  reports::Table table{name, columns, {}};
  for (const nb::handle row : rows) {
    table.rows.emplace_back();
    for (const nb::handle cell : nb::borrow<nb::list>(row)) {
      if (nb::isinstance<nb::str>(cell))
        table.rows.back().emplace_back(nb::cast<std::string>(cell));
      else if (nb::isinstance<nb::int_>(cell))
        table.rows.back().emplace_back(nb::cast<std::int64_t>(cell));
      else
        table.rows.back().emplace_back(nb::cast<double>(cell));
    }
  }
  return table;
}

using NamedRows = std::tuple<std::string, std::vector<std::string>, nb::list>;

/// The figures of what a study of this kind gave: title, caption, and the figure as a document of SVG.
std::vector<std::tuple<std::string, std::string, std::string>> figures(const std::string& kind,
                                                                       const std::vector<NamedRows>& tables) {
  std::vector<std::tuple<std::string, std::string, std::string>> texts;
  const study_files::Kind& of = study_files::find_kind(kind);
  if (of.figures == nullptr || tables.empty()) return texts;
  std::vector<reports::Table> all;
  for (const auto& [name, columns, rows] : tables) all.push_back(table_of(name, columns, rows));
  for (const reports::Figure& figure : of.figures(all))
    for (const auto& [file, svg] : reports::figure_files({figure})) texts.emplace_back(figure.title, figure.caption, svg);
  return texts;
}

}  // namespace

void add_facts(nb::module_& m) {
  m.def("formats", &formats);
  m.def("format_name", [](const std::string& word) { return emu::format_name(requests::parse_format_or_integer(word)); });
  m.def("format_of_dtype", &format_of_dtype);
  m.def("engines", [] { return emu::engine_names(); });
  m.def("recipes", [] {
    std::vector<std::pair<std::string, std::string>> all;
    for (const requests::BuiltInFile& file : recipes::recipe_presets()) all.emplace_back(file.name, file.text);
    return all;
  });
  m.def("to_csv", [](const std::string& name, const std::vector<std::string>& columns, const nb::list& rows) {
    return reports::to_csv(table_of(name, columns, rows));
  });
  m.def("to_text",
        [](const std::string& name, const std::vector<std::string>& columns, const nb::list& rows, std::size_t most,
           std::size_t width) { return reports::to_text(table_of(name, columns, rows), {.width = width, .max_rows = most}); });
  m.def("figures", &figures);
  m.def("percent_text", &reports::percent_text);
  m.def("shortest", &reports::shortest);
  m.def("visible", [](const std::string& text) { return emu::visible(text); });
  m.def("visible_lines", [](const std::string& text) { return emu::visible_lines(text); });
  m.def("command_line", &requests::command_line);
}

}  // namespace ulpscope::python
