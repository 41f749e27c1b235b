// SPDX-License-Identifier: Apache-2.0
// The page of a run: one section a study, sentences before numbers.
#include "reports/error_table.hpp"
#include "reports/escape.hpp"
#include "reports/page_frame.hpp"
#include "study_files/run.hpp"

namespace ulpscope::study_files {
namespace {

constexpr std::size_t most_rows = 200;  ///< of a table on the page; the CSV file has all

std::string list(const std::vector<std::string>& items) {
  if (items.empty()) return {};
  std::string html = "<ul class=\"seen\">\n";
  for (const std::string& item : items) html += "<li>" + reports::html_escaped(item) + "</li>\n";
  return html + "</ul>\n";
}

std::string section(const StudyOutput& output) {
  std::string html = "<section id=\"" + output.name + "\">\n<h2>" + reports::html_escaped(output.name) + "</h2>\n";
  html += "<pre>" + reports::html_escaped(output.request) + "</pre>\n";
  std::vector<std::string> sentences;
  for (const reports::Finding& finding : output.findings) sentences.push_back(finding.sentence);
  html += list(sentences) + list(output.remarks);
  for (const reports::Table& table : output.tables) {
    reports::Table shown = table;
    if (shown.rows.size() > most_rows) shown.rows.resize(most_rows);
    html += "<h3>" + table.name + ".csv</h3>\n" + reports::error_table(shown);
    if (table.rows.size() > most_rows)
      html += "<p class=\"note\">" + std::to_string(table.rows.size() - most_rows) + " more rows are in " + table.name +
              ".csv.</p>\n";
  }
  return html + "</section>\n";
}

}  // namespace

std::string page_of(const std::string& title, const std::vector<StudyOutput>& outputs, const std::string& command) {
  std::string contents, sections;
  for (const StudyOutput& output : outputs) {
    contents += (contents.empty() ? "" : " · ") + std::string("<a href=\"#") + output.name + "\">" + output.name + "</a>";
    sections += section(output);
  }
  return reports::page_frame(title, "", "<nav>" + contents + "</nav>\n" + sections, command);
}

}  // namespace ulpscope::study_files
