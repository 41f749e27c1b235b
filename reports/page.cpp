// SPDX-License-Identifier: Apache-2.0
// Puts verdicts, figures and tables of tensors into HTML.
#include "reports/page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "reports/error_table.hpp"
#include "reports/escape.hpp"
#include "reports/figures.hpp"
#include "reports/page_frame.hpp"
#include "reports/percent.hpp"

namespace ulpscope::reports {
namespace {

using Severity = Verdict::Severity;

constexpr std::size_t collapse_above = 20;  // sections; fewer are shown one after the other
constexpr std::size_t open_at_first = 3;    // of the collapsed ones, the worst

constexpr std::string_view word(Severity severity) {
  constexpr std::array words{"good", "warning", "bad"};
  return words[static_cast<std::size_t>(severity)];
}

std::string mark(Severity severity) {
  constexpr std::array signs{"✓", "!", "✕"};
  return fmt::format("<span class=\"mark\">{} {}</span>", signs[static_cast<std::size_t>(severity)], word(severity));
}

/// The first of the worst verdicts; a tensor about which nothing is said is good.
Verdict worst(const TensorSection& section) {
  const auto at = std::max_element(section.verdicts.begin(), section.verdicts.end(),
                                   [](const Verdict& a, const Verdict& b) { return a.severity < b.severity; });
  return at == section.verdicts.end() ? Verdict{} : *at;
}

/// A name that may be broken after its separators.
std::string breakable(const std::string& name) {
  std::string html;
  for (const char c : name) {
    html += html_escaped(std::string_view(&c, 1));
    if (c == '/' || c == ':' || c == '.' || c == '_') html += "<wbr>";
  }
  return html;
}

std::string tally(const Page& page) {
  std::array<std::size_t, 3> counts{};
  for (const auto& section : page.sections) ++counts[static_cast<std::size_t>(worst(section).severity)];
  std::string text = fmt::format("{} tensor{}", page.sections.size(), page.sections.size() == 1 ? "" : "s");
  const char* separator = ": ";
  for (const auto severity : {Severity::bad, Severity::warning, Severity::good}) {
    const auto count = counts[static_cast<std::size_t>(severity)];
    if (count == 0) continue;
    text += fmt::format("{}{} {}", separator, count, word(severity));
    separator = ", ";
  }
  const bool ordered = !page.order.empty() && page.sections.size() > 1;
  return "<p class=\"tally\">" + text + "</p>\n" + (ordered ? "<p class=\"facts\">" + html_escaped(page.order) + "</p>\n" : "");
}

std::string summary(const Page& page) {
  std::string html = tally(page);
  if (page.sections.empty()) return html;
  html += "<ul class=\"summary\">\n";
  for (std::size_t i = 0; i < page.sections.size(); ++i) {
    const auto verdict = worst(page.sections[i]);
    html += fmt::format("<li class=\"{}\">{} <a href=\"#tensor-{}\">{}</a> <span>{}</span></li>\n", word(verdict.severity),
                        mark(verdict.severity), i + 1, breakable(page.sections[i].tensor), html_escaped(verdict.text));
  }
  return html + "</ul>\n";
}

std::string verdict_list(const std::vector<Verdict>& verdicts) {
  if (verdicts.empty()) return {};
  std::string html = "<ul class=\"verdicts\">\n";
  for (const auto& verdict : verdicts) {
    html += fmt::format("<li class=\"{}\">{} <span>{}</span></li>\n", word(verdict.severity), mark(verdict.severity),
                        html_escaped(verdict.text));
  }
  return html + "</ul>\n";
}

std::string caption(const ExponentHistogram& histogram) {
  std::string text =
      "<strong>Where the elements are.</strong> Bars: the share of elements in each binade; strips: what a format "
      "does to a value of that magnitude.";
  double all = static_cast<double>(histogram.zeros + histogram.nonfinite);
  for (const auto count : histogram.counts) all += static_cast<double>(count);
  const auto left_out = [&](std::uint64_t count, std::string_view what) {
    const auto share = html_escaped(percent_text(100 * static_cast<double>(count) / all));
    if (count > 0) text += fmt::format(" {} % of the elements are {} and not drawn.", share, what);
  };
  left_out(histogram.zeros, "zero");
  left_out(histogram.nonfinite, "infinite or NaN");
  return text;
}

std::string caption(const ScaleWindow&) {
  return "<strong>What a loss scale would change.</strong> Elements lost when all are multiplied by the scale first: solid "
         "lines to "
         "zero, dashed lines to overflow. The tinted part of each strip marks the scales that lose nothing to overflow and "
         "least "
         "to zero.";
}

/// Figures are drawn in one run of gnuplot and handed out in the order of the sections.
class Figures {
 public:
  explicit Figures(const Page& page) {
    std::vector<FigureScript> scripts;
    const auto add = [&](const void* owner, FigureScript script) {
      if (script.commands.empty()) return;
      place_[owner] = scripts.size();
      scripts.push_back(std::move(script));
    };
    for (const auto& section : page.sections) {
      for (const auto& histogram : section.histograms) add(&histogram, histogram_figure(histogram));
      for (const auto& window : section.windows) add(&window, window_figure(window));
    }
    drawings_ = draw(scripts);
  }

  template <class Data>
  std::string html(const Data& data) const {
    return "<figure>\n<figcaption>" + caption(data) + "</figcaption>\n" + drawing(&data) + "</figure>\n";
  }

 private:
  std::string drawing(const void* owner) const {
    const auto place = place_.find(owner);
    if (place == place_.end()) return "<p class=\"note\">There is no finite nonzero element to draw.</p>\n";
    if (!drawings_.problem.empty()) {
      return "<p class=\"note\">This figure is missing: " + html_escaped(drawings_.problem) + "</p>\n";
    }
    return "<div class=\"scroll\">" + drawings_.svgs[place->second] + "</div>\n";
  }

  std::map<const void*, std::size_t> place_;
  Drawings drawings_;
};

std::string section_body(const TensorSection& section, const Figures& figures) {
  std::string html;
  if (!section.facts.empty()) html += "<p class=\"facts\">" + html_escaped(section.facts) + "</p>\n";
  html += verdict_list(section.verdicts);
  for (const auto& histogram : section.histograms) html += figures.html(histogram);
  for (const auto& window : section.windows) html += figures.html(window);
  return html + error_table(section.errors);
}

std::string section_html(const Page& page, std::size_t i, const Figures& figures) {
  const auto& section = page.sections[i];
  const auto id = fmt::format("tensor-{}", i + 1);
  const auto name = breakable(section.tensor);
  const auto body = section_body(section, figures);
  if (page.sections.size() <= collapse_above) {
    return fmt::format("<section class=\"tensor\" id=\"{}\">\n<h2>{}</h2>\n{}</section>\n", id, name, body);
  }
  // The id is inside, so that following a link to it opens the section.
  const auto severity = worst(section).severity;
  return fmt::format(
      "<details class=\"tensor {}\"{}>\n<summary><h2>{}</h2> {}</summary>\n<div id=\"{}\">\n{}</div>\n</details>\n",
      word(severity), i < open_at_first ? " open" : "", name, mark(severity), id, body);
}

}  // namespace

std::string to_html(const Page& page) {
  const Figures figures(page);
  std::string main = summary(page);
  for (std::size_t i = 0; i < page.sections.size(); ++i) main += section_html(page, i, figures);
  return page_frame(page.title, page.settings, main, page.command);
}

}  // namespace ulpscope::reports
