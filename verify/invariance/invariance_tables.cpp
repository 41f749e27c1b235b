// SPDX-License-Identifier: Apache-2.0
// What moved, as a table, in sentences, and as a map of rows.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "emu/names.hpp"
#include "studies/census/sweep.hpp"
#include "verify/invariance/invariance.hpp"
#include "verify/patterns.hpp"

namespace ulpscope::verify {
namespace {

using reports::HeatMap, reports::Severity, reports::whole;

/// `right`, `wrong`, `unknown`: whether the check could have failed is another question than whether something moved.
std::string right_word(Outcome outcome) {
  return outcome == Outcome::pass ? "yes" : outcome == Outcome::fail ? "no" : "vacuous";
}

std::string sentence_of(const InvarianceResult& result, const PairResult& pair) {
  const ConditionResult &a = result.conditions[pair.condition], &b = result.conditions[pair.other];
  std::string text = a.name + " and " + b.name + ": ";
  if (pair.rows_moved == 0) return text + plural(pair.rows, "row") + " in common, all the same to the bit.";
  text += std::to_string(pair.rows_moved) + " of " + plural(pair.rows, "row") + " moved, " +
          std::to_string(pair.elements_moved) + " of " + plural(pair.elements, "element") + ", by up to " +
          studies::digits(pair.max_ulp, 4) + " ulp of " + emu::format_name(result.out);
  const bool both = a.outcome == Outcome::pass && b.outcome == Outcome::pass;
  text += both ? (pair.is_undeclared ? "; both are within the bound" : "; both are right")
          : a.outcome == Outcome::fail || b.outcome == Outcome::fail ? "; not both are right"
                                                                     : "; the bound tells nothing of them";
  return text + (pair.cause.empty() ? "." : "; " + pair.cause + ".");
}

/// Shades by the share of elements that moved.
struct Step {
  HeatMap::Shade shade;
  double most;  ///< share, that included
  const char* words;
};
constexpr Step steps[] = {{HeatMap::Shade::good, 0, "none"},
                          {HeatMap::Shade::slight, 0.01, "up to 1%"},
                          {HeatMap::Shade::marked, 0.5, "up to half"},
                          {HeatMap::Shade::severe, 1, "more"}};

/// The rows of a stretch that both conditions of a pair have, and their elements.
struct Stretch {
  std::uint64_t first, end;  ///< rows; the same: none
  std::uint64_t moved, elements;
};

std::uint64_t stretches_of(const InvarianceResult& result) { return (result.rows + result.stretch - 1) / result.stretch; }

Stretch stretch_of(const InvarianceResult& result, const PairResult& pair, std::uint64_t index) {
  const std::uint64_t begin = std::max(result.conditions[pair.condition].first_row, result.conditions[pair.other].first_row);
  const std::uint64_t first = std::max(index * result.stretch, begin);
  const std::uint64_t end = std::min((index + 1) * result.stretch, begin + pair.rows);
  if (first >= end) return {first, first, 0, 0};
  return {first, end, pair.moved_in[static_cast<std::size_t>(index)], (end - first) * result.row_length};
}

HeatMap map_of(const InvarianceResult& result) {
  HeatMap map{.columns = {}, .legend = {}, .groups = {{}}};
  const std::uint64_t stretches = stretches_of(result);
  for (std::uint64_t s = 0; s < stretches; ++s) map.columns.push_back(std::to_string(s));
  for (const Step& step : steps) map.legend.push_back({step.shade, step.words});
  for (const PairResult& pair : result.pairs) {
    const ConditionResult &a = result.conditions[pair.condition], &b = result.conditions[pair.other];
    const std::string name = a.name + " / " + b.name;
    HeatMap::Row row{.name = name, .title = name, .link = {}, .cells = {}};
    for (std::uint64_t s = 0; s < stretches; ++s) {
      const auto [first, end, moved, all] = stretch_of(result, pair, s);
      HeatMap::Cell& cell = row.cells.emplace_back();
      if (first == end) continue;  // not in both
      const double share = static_cast<double>(moved) / static_cast<double>(all);
      cell.shade =
          std::find_if(std::begin(steps), std::end(steps), [&](const Step& step) { return share <= step.most; })->shade;
      cell.text = moved == 0 ? "0" : share < 0.01 ? "<1" : studies::digits(std::floor(100 * share), 3);
      cell.title = name + ", rows " + std::to_string(first) + " to " + std::to_string(end - 1) + ": " + std::to_string(moved) +
                   " of " + plural(all, "element") + " moved";
    }
    map.groups.front().rows.push_back(std::move(row));
  }
  return map;
}

}  // namespace

reports::Table invariance_table(const InvarianceResult& result) {
  reports::Table table{
      "invariance",
      {"condition", "other", "rows", "rows_moved", "elements", "elements_moved", "max_ulp", "right", "other_right", "cause"},
      {}};
  for (const PairResult& pair : result.pairs) {
    const ConditionResult &a = result.conditions[pair.condition], &b = result.conditions[pair.other];
    table.rows.push_back({a.name, b.name, whole(pair.rows), whole(pair.rows_moved), whole(pair.elements),
                          whole(pair.elements_moved), pair.max_ulp, right_word(a.outcome), right_word(b.outcome), pair.cause});
  }
  return table;
}

reports::Table invariance_rows_table(const InvarianceResult& result) {
  reports::Table table{"invariance_rows", {"condition", "other", "first_row", "rows", "elements", "elements_moved"}, {}};
  for (const PairResult& pair : result.pairs)
    for (std::uint64_t s = 0; s < stretches_of(result); ++s) {
      const Stretch here = stretch_of(result, pair, s);
      if (here.first != here.end)
        table.rows.push_back({result.conditions[pair.condition].name, result.conditions[pair.other].name, whole(here.first),
                              whole(here.end - here.first), whole(here.elements), whole(here.moved)});
    }
  return table;
}

std::vector<reports::Finding> invariance_findings(const InvarianceResult& result) {
  std::vector<reports::Finding> findings;
  const auto add = [&](std::string what, std::string where, std::uint64_t value, Severity severity, std::string sentence) {
    findings.push_back({.what = std::move(what),
                        .where = std::move(where),
                        .value = whole(value),
                        .threshold = whole(0),
                        .source = "chosen: the same bits",
                        .severity = severity,
                        .sentence = std::move(sentence)});
  };
  for (const ConditionResult& condition : result.conditions)
    if (condition.wrong != 0)
      add("wrong", condition.name, condition.wrong, Severity::bad,
          condition.name + ": " + std::to_string(condition.wrong) + " of " + plural(condition.elements, "element") +
              (condition.wrong == 1 ? " is" : " are") + " wrong, held to: " + result.bound +
              (condition.hint.empty() ? "." : "; " + condition.hint));
  for (const PairResult& pair : result.pairs)
    if (pair.rows_moved != 0)
      add("elements_moved", result.conditions[pair.condition].name + ", " + result.conditions[pair.other].name,
          pair.elements_moved, Severity::bad, sentence_of(result, pair));
  if (!findings.empty()) return findings;
  if (result.pairs.empty())
    add("elements_moved", "", 0, Severity::warning, "No two outputs have a row in common: nothing could move.");
  else
    add("elements_moved", "", 0, Severity::good,
        "No row moved: the rows that " + plural(result.conditions.size(), "output") +
            " have in common are the same to the bit.");
  return findings;
}

reports::Page invariance_page(const InvarianceResult& result) {
  reports::Page page{.title = "Invariance of rows",
                     .settings = "outputs in " + emu::format_name(result.out) + ", " + plural(result.rows, "row") + " of " +
                                 plural(result.row_length, "element") + "; held to: " + result.bound,
                     .command = {},
                     .blocks = {reports::FindingList{invariance_findings(result)}},
                     .sections = {}};
  reports::Section pairs{.id = "pairs", .title = "Pairs"};
  if (!result.pairs.empty())
    pairs.blocks.emplace_back(reports::Figure{
        .name = "rows",
        .title = "Where rows moved",
        .caption = "Percent of elements that differ. Column i has " + plural(result.stretch, "row") +
                   ", the first of which is row " + (result.stretch == 1 ? "i" : std::to_string(result.stretch) + " i") + ".",
        .description =
            "A row for each pair of conditions and a column for each stretch of rows: the darker, the more elements differ.",
        .data = map_of(result)});
  pairs.blocks.emplace_back(invariance_table(result));
  page.sections.push_back(std::move(pairs));
  return page;
}

}  // namespace ulpscope::verify
