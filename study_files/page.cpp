// SPDX-License-Identifier: Apache-2.0
// The page of a run: one section a study, findings before figures before numbers.
#include <stdexcept>

#include "emu/error.hpp"
#include "study_files/kinds.hpp"
#include "study_files/run.hpp"

namespace ulpscope::study_files {
namespace {

using reports::Section;

constexpr std::size_t most_rows = 200;    ///< of a table on the page; the CSV file has all
constexpr std::size_t most_findings = 8;  ///< that are shown open

/// Closed where it is long.
Section table_section(const StudyOutput& output, const reports::Table& table) {
  Section section{.id = output.name + "-" + table.name, .title = table.name + ".csv"};
  reports::Table shown = table;
  if (shown.rows.size() > most_rows) shown.rows.resize(most_rows);
  section.note = std::to_string(table.rows.size()) + (table.rows.size() == 1 ? " row" : " rows");
  if (shown.rows.size() < table.rows.size()) section.note += ", " + std::to_string(most_rows) + " of them here";
  if (table.rows.size() > most_findings) section.fold = Section::Fold::closed;
  section.blocks.emplace_back(std::move(shown));
  return section;
}

/// Cells of a part or of a run that was ended may be anything.
std::vector<reports::Figure> figures_of(const StudyOutput& output) {
  const auto figures = find_kind(output.kind).figures;
  if (figures == nullptr) return {};
  try {
    return figures(output.tables);
  } catch (const std::out_of_range& missing) {
    throw Error("study '" + output.name + "': its cells are not what such a study gives: " + missing.what());
  }
}

Section section_of(const StudyOutput& output) {
  Section section{.id = output.name, .title = output.name};
  std::vector<reports::Finding> first = output.findings, rest;
  if (first.size() > most_findings) {
    rest.assign(first.begin() + most_findings, first.end());
    first.resize(most_findings);
  }
  section.blocks.emplace_back(reports::FindingList{std::move(first)});
  if (!output.remarks.empty()) section.blocks.emplace_back(reports::Prose{output.remarks});
  for (reports::Figure& figure : figures_of(output)) {
    if (!figure.name.empty()) figure.name = output.name + "_" + figure.name;
    section.blocks.emplace_back(std::move(figure));
  }
  if (!rest.empty())
    section.sections.push_back({.id = output.name + "-findings",
                                .title = std::to_string(rest.size()) + " more findings",
                                .fold = Section::Fold::closed,
                                .blocks = {reports::FindingList{std::move(rest)}}});
  for (const reports::Table& table : output.tables) section.sections.push_back(table_section(output, table));
  section.sections.push_back({.id = output.name + "-request",
                              .title = "The request",
                              .fold = Section::Fold::closed,
                              .blocks = {reports::Code{output.request}}});
  return section;
}

}  // namespace

reports::Page page_of(const std::string& title, const std::vector<StudyOutput>& outputs, const std::string& command) {
  reports::Page page{.title = title,
                     .settings = {},
                     .command = command,
                     .blocks = {},
                     .sections = {},
                     .contents = reports::Page::Contents::links};
  for (const StudyOutput& output : outputs) page.sections.push_back(section_of(output));
  return page;
}

}  // namespace ulpscope::study_files
