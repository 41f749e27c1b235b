// SPDX-License-Identifier: Apache-2.0
// Blocks and sections as HTML elements.
#include "reports/page_html.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "reports/draw.hpp"
#include "reports/error_table.hpp"
#include "reports/escape.hpp"
#include "reports/heat_map_html.hpp"
#include "reports/page_frame.hpp"

namespace ulpscope::reports {
namespace {

std::string mark(Severity severity) {
  constexpr std::array signs{"✓", "!", "✕"};
  return fmt::format("<span class=\"mark\">{} {}</span>", signs[static_cast<std::size_t>(severity)], name_of(severity));
}

std::string html_of(const Prose& prose) {
  std::string html;
  for (const std::string& paragraph : prose.paragraphs) html += "<p>" + html_escaped(paragraph) + "</p>\n";
  return html;
}

std::string html_of(const FindingList& list) {
  if (list.findings.empty()) return {};
  std::string html = "<ul class=\"findings\">\n";
  for (const Finding& finding : list.findings) {
    const bool decided = !finding.source.empty();
    html += fmt::format("<li class=\"{}\">{} <span>{}</span></li>\n", decided ? name_of(finding.severity) : "said",
                        decided ? mark(finding.severity) : "<span></span>", html_escaped(finding.sentence));
  }
  return html + "</ul>\n";
}

std::string html_of(const Code& code) { return "<pre><code>" + html_escaped(code.text) + "</code></pre>\n"; }

std::string html_of(const Table& table) { return error_table(table); }

std::string caption(const Figure& figure) {
  if (figure.title.empty() && figure.caption.empty()) return {};
  return "<figcaption><strong>" + html_escaped(figure.title) + "</strong> " + html_escaped(figure.caption) + "</figcaption>\n";
}

std::string html_of(const Figure& figure) {
  std::string html = "<figure>\n" + caption(figure);
  if (const auto* const map = std::get_if<HeatMap>(&figure.data)) return html + heat_map_html(*map) + "</figure>\n";
  const std::vector<Drawing> drawings = draw(figure);
  if (drawings.empty()) return html + "<p class=\"note\">There is nothing to draw.</p>\n</figure>\n";
  std::string svgs;
  for (const Drawing& drawing : drawings) svgs += inline_svg(drawing, figure.description);
  html += drawings.size() == 1 ? svgs : "<div class=\"panels\">\n" + svgs + "</div>\n";
  return html + "</figure>\n";
}

/// Figures of one drawing stand beside each other.
bool is_narrow(const Block& block) {
  const auto* const figure = std::get_if<Figure>(&block);
  return figure != nullptr &&
         (std::holds_alternative<ExponentHistogram>(figure->data) || std::holds_alternative<ScaleWindow>(figure->data));
}

std::string section_html(const Section& section, int level) {
  std::string inside = blocks_html(section.blocks);
  for (const Section& part : section.sections) inside += section_html(part, level + 1);
  const std::string heading = fmt::format("<h{0}>{1}</h{0}>", std::min(level, 6), breakable(section.title));
  const std::string note = section.note.empty() ? "" : " <span class=\"note\">" + html_escaped(section.note) + "</span>";
  const std::string marked = section.mark ? " " + mark(*section.mark) : std::string();
  const std::string severity = section.mark ? " " + name_of(*section.mark) : std::string();
  if (section.fold == Section::Fold::none)
    return fmt::format("<section id=\"{}\" class=\"level-{}{}\">\n{}{}{}\n{}</section>\n", html_escaped(section.id), level,
                       severity, heading, marked, note, inside);
  // The id is inside, so that following a link to it opens the section.
  return fmt::format("<details class=\"{}{}\"><summary>{}{}{}</summary>\n<div id=\"{}\">\n{}</div>\n</details>\n",
                     section.sections.empty() ? "item" : "group", severity, heading, marked, note, html_escaped(section.id),
                     inside);
}

void collect(const std::vector<Block>& blocks, std::vector<Figure>& figures) {
  for (const Block& block : blocks)
    if (const auto* const figure = std::get_if<Figure>(&block)) figures.push_back(*figure);
}

void collect(const std::vector<Section>& sections, std::vector<Figure>& figures) {
  for (const Section& section : sections) collect(section.blocks, figures), collect(section.sections, figures);
}

}  // namespace

std::string blocks_html(const std::vector<Block>& blocks) {
  std::string html;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const bool narrow = is_narrow(blocks[i]);
    if (narrow && (i == 0 || !is_narrow(blocks[i - 1]))) html += "<div class=\"panels\">\n";
    html += std::visit([](const auto& block) { return html_of(block); }, blocks[i]);
    if (narrow && (i + 1 == blocks.size() || !is_narrow(blocks[i + 1]))) html += "</div>\n";
  }
  return html;
}

std::string to_html(const Page& page) {
  std::string main;
  if (page.contents == Page::Contents::links && page.sections.size() > 1) {
    for (const Section& section : page.sections)
      main += fmt::format("{}<a href=\"#{}\">{}</a>", main.empty() ? "" : " · ", html_escaped(section.id),
                          html_escaped(section.title));
    main = "<nav>" + main + "</nav>\n";
  }
  main += blocks_html(page.blocks);
  for (const Section& section : page.sections) main += section_html(section, 2);
  return page_frame(page.title, page.settings, main, page.command);
}

std::vector<std::pair<std::string, std::string>> figure_files(const std::vector<Figure>& figures) {
  constexpr int across = 2;
  std::vector<std::pair<std::string, std::string>> files;
  for (const Figure& figure : figures) {
    if (figure.name.empty()) continue;
    const std::vector<Drawing> drawings = draw(figure);
    if (!drawings.empty()) files.emplace_back(figure.name + ".svg", svg_document(drawings, figure.title, across));
  }
  return files;
}

std::vector<std::pair<std::string, std::string>> figure_files(const Page& page) {
  std::vector<Figure> figures;
  collect(page.blocks, figures), collect(page.sections, figures);
  return figure_files(figures);
}

void write_page_report(const std::string& directory, const std::vector<Table>& tables, const Page& page,
                       Provenance provenance) {
  for (auto& file : figure_files(page)) provenance.texts.push_back(std::move(file));
  write_report(directory, tables, to_html(page), provenance);
}

}  // namespace ulpscope::reports
