// SPDX-License-Identifier: Apache-2.0
// Figures of the four parts.
#include <algorithm>
#include <cmath>
#include <utility>

#include "emu/names.hpp"
#include "reports/columns.hpp"
#include "studies/census/sweep.hpp"
#include "verify/evidence/evidence.hpp"

namespace ulpscope::verify {
namespace {

using reports::Columns;
using reports::Figure;
using reports::HeatMap;
using reports::Ranges;
using studies::digits;

constexpr std::size_t deterministic_colour = 0, probable_colour = 1;  // in all figures

std::string mutant_name(const Columns& columns, const std::vector<reports::Cell>& row) {
  const std::string unit = columns.text(row, "unit");
  const double severity = columns.number(row, "severity");
  return columns.text(row, "mutant") + (unit.empty() ? "" : " " + digits(severity, 8) + (unit == "%" ? "" : " ") + unit);
}

/// Of one mutant, under each rule.
struct Mutant {
  std::string name;
  bool required = false;    ///< in some problem
  std::int64_t beyond = 0;  ///< problems in which no correct kernel returns it
  std::vector<std::int64_t> rejected;
};

std::vector<Mutant> mutants_of(const reports::Table& power, std::vector<std::string>& rules) {
  const Columns columns(power);
  for (const auto& row : power.rows) reports::place_of(rules, columns.text(row, "rule"));
  std::vector<Mutant> mutants;
  for (const auto& row : power.rows) {
    const std::string name = mutant_name(columns, row);
    auto at = std::find_if(mutants.begin(), mutants.end(), [&](const Mutant& m) { return m.name == name; });
    if (at == mutants.end())
      at = mutants.insert(mutants.end(), {.name = name, .rejected = std::vector<std::int64_t>(rules.size())});
    if (columns.text(row, "beyond_bound") != "yes") continue;
    const std::size_t rule = reports::place_of(rules, columns.text(row, "rule"));
    at->required |= columns.text(row, "required") == "yes";
    at->beyond += rule == 0 ? 1 : 0;
    at->rejected[rule] += columns.text(row, "fate") == "killed" ? 1 : 0;
  }
  std::erase_if(mutants, [](const Mutant& mutant) { return mutant.beyond == 0; });
  return mutants;
}

HeatMap::Cell cell_of(const Mutant& mutant, std::size_t rule, const std::string& name) {
  const std::int64_t rejected = mutant.rejected[rule];
  const HeatMap::Shade shade = rejected == mutant.beyond       ? HeatMap::Shade::good
                               : 2 * rejected >= mutant.beyond ? HeatMap::Shade::slight
                               : rejected > 0                  ? HeatMap::Shade::marked
                                                               : HeatMap::Shade::severe;
  return {shade, std::to_string(100 * rejected / mutant.beyond) + "%",
          name + " rejects " + mutant.name + " in " + std::to_string(rejected) + " of " + std::to_string(mutant.beyond) +
              " problems"};
}

}  // namespace

std::vector<Figure> alarm_figures(const Evidence& e) {
  Ranges ranges{
      .axis = Ranges::Axis::log10, .x_label = "largest error / bound", .panels = {}, .lines = {{1, "the bound"}}, .legend = {}};
  bool alarms = false;
  for (const FalseAlarmRow& row : e.alarms) {
    if (row.products == 0) continue;
    alarms |= row.rejected != 0;
    Ranges::Panel& panel =
        reports::panel_named(ranges, row.bound == "engine" ? "Engines, under their own bounds"
                                                           : "Sums in other orders, under a bound for any order");
    reports::row_named(panel, row.arithmetic)
        .dots.push_back({row.max_of_bound, deterministic_colour,
                         row.arithmetic + " on " + row.in + " into " + row.acc + ": " + std::to_string(row.products) +
                             " correct products, largest error " + digits(row.max_of_bound, 3) + " of the bound" +
                             (row.rejected == 0 ? "" : ", " + std::to_string(row.rejected) + " rejected")});
  }
  if (ranges.panels.empty()) return {};
  return {
      {.name = "false_alarms",
       .title = "How far correct products are from a false alarm.",
       .caption =
           std::string(
               "A dot is one arithmetic and one pair of formats: the largest error of all its products, over the bound. ") +
           (alarms ? "Dots right of the line are false alarms." : "A false alarm would be right of the line."),
       .description = "The largest error over its bound for each arithmetic, on a logarithmic axis with the bound as a line.",
       .data = std::move(ranges)}};
}

std::vector<Figure> power_figures(const Evidence& e) {
  HeatMap map;
  const std::vector<Mutant> mutants = mutants_of(e.power, map.columns);
  for (const bool required : {true, false}) {
    HeatMap::Group group{
        required ? "Every check must reject these" : "Smaller faults, which no correct kernel has either", "", {}};
    for (const Mutant& mutant : mutants) {
      if (mutant.required != required) continue;
      HeatMap::Row row{.name = mutant.name, .title = {}, .link = {}, .cells = {}};
      for (std::size_t rule = 0; rule < map.columns.size(); ++rule)
        row.cells.push_back(cell_of(mutant, rule, map.columns[rule]));
      group.rows.push_back(std::move(row));
    }
    if (!group.rows.empty()) map.groups.push_back(std::move(group));
  }
  if (map.groups.empty()) return {};
  map.legend = {{HeatMap::Shade::good, "rejected in all problems"},
                {HeatMap::Shade::slight, "in half of them or more"},
                {HeatMap::Shade::marked, "in fewer"},
                {HeatMap::Shade::severe, "in none"}};
  return {{.name = "power",
           .title = "Mutants by rules.",
           .caption = "The share of problems in which a rule rejects a mutant, of those in which no correct kernel returns it.",
           .description = "For each mutant and rule the number of problems in which the rule rejects it.",
           .data = std::move(map)}};
}

std::vector<Figure> tightness_figures(const Evidence& e) {
  Ranges ranges{.axis = Ranges::Axis::log10,
                .x_label = "error / bound",
                .panels = {},
                .lines = {{1, "the bound"}},
                .legend = {{reports::Tone::plain, "from the median of all elements' medians to the largest error"},
                           {probable_colour, "the largest error over the probabilistic bound"}}};
  struct Seen {
    std::vector<double> medians;
    double most = 0, likely = 0;
    std::size_t longest = 0;
  };
  std::vector<std::pair<studies::Accumulation, Seen>> seen;
  for (const TightnessRow& row : e.tightness) {
    if (!row.bounded || !(row.relative < 1) || row.elements == 0) continue;
    auto at = std::find_if(seen.begin(), seen.end(), [&](const auto& other) { return other.first == row.accumulation; });
    if (at == seen.end()) at = seen.insert(seen.end(), {row.accumulation, {}});
    Seen& own = at->second;
    own.medians.push_back(row.observed_over_bound.median);
    own.most = std::max(own.most, row.observed_over_bound.max);
    own.likely = std::max(own.likely, row.observed_over_probable.max);
    own.longest = std::max(own.longest, row.length);
  }
  for (auto& [accumulation, own] : seen) {
    std::sort(own.medians.begin(), own.medians.end());
    const double median = own.medians[own.medians.size() / 2];
    const std::string into = emu::format_name(accumulation.engine.accumulator);
    Ranges::Row& row =
        reports::row_named(reports::panel_named(ranges, emu::format_name(accumulation.in)),
                           accumulation.name + (into == "float32" ? "" : " into " + into) +
                               (accumulation.promote == 0 ? "" : ", by " + std::to_string(accumulation.promote)));
    const std::string what = accumulation.name + " on " + modes_words(accumulation);
    if (own.most > 0)
      row.spans.push_back({median > 0 ? median : own.most, own.most, reports::Tone::plain,
                           what + ": median " + digits(median, 2) + ", largest " + digits(own.most, 3) +
                               " of the bound, K up to " + std::to_string(own.longest)});
    row.dots.push_back(
        {own.likely, probable_colour, what + ": largest error " + digits(own.likely, 3) + " of the probabilistic bound"});
  }
  if (ranges.panels.empty()) return {};
  return {
      {.name = "tightness",
       .title = "How near errors come to their bounds.",
       .caption =
           "By input format and engine, over all distributions and lengths of the sums. A bound far above every error would "
           "let small faults live.",
       .description = "Error over bound for each engine and input format, on a logarithmic axis with the bound as a line.",
       .data = std::move(ranges)}};
}

}  // namespace ulpscope::verify
