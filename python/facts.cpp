// SPDX-License-Identifier: Apache-2.0
// Formats, engines, recipes: what there is.
#include "emu/catalogue.hpp"
#include "emu/engines.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"
#include "emu/visible.hpp"
#include "python/bindings.hpp"
#include "recipes/recipe.hpp"
#include "reports/page_html.hpp"
#include "reports/render.hpp"
#include "reports/svg.hpp"
#include "requests/command_line.hpp"
#include "requests/parts.hpp"
#include "studies/census/sweep_figures.hpp"
#include "studies/facts/formats.hpp"

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
  m.def("sweep_figures", [](const std::string& name, const std::vector<std::string>& columns, const nb::list& rows) {
    std::vector<std::string> texts;
    for (const auto& [file, text] : reports::figure_files(studies::sweep_figures(table_of(name, columns, rows))))
      texts.push_back(text);
    return texts;
  });
  m.def("shortest", &reports::shortest);
  m.def("visible", [](const std::string& text) { return emu::visible(text); });
  m.def("command_line", &requests::command_line);
}

}  // namespace ulpscope::python
