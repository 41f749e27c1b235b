// SPDX-License-Identifier: Apache-2.0
// The measurements as tables, and the sentences and sections of their page.
#include "cli/evidence_page.hpp"

#include <algorithm>
#include <cmath>

#include "cli/output.hpp"
#include "emu/names.hpp"
#include "reports/error_table.hpp"
#include "reports/escape.hpp"
#include "reports/page_frame.hpp"
#include "reports/render.hpp"

namespace ulpscope::cli {
namespace {

std::string section(const std::string& title, const std::vector<std::string>& sentences, const reports::Table& table) {
  std::string out = "<h2>" + reports::html_escaped(title) + "</h2>\n";
  for (const std::string& sentence : sentences) out += "<p>" + reports::html_escaped(sentence) + "</p>\n";
  return out + reports::error_table(table);
}

std::vector<std::string> alarm_sentences(const Evidence& e) {
  std::uint64_t products = 0, rejected = 0, chance = 0, refused = 0;
  double most = 0;
  for (const verify::FalseAlarmRow& row : e.alarms) {
    products += row.products, rejected += row.rejected, chance += row.rejected_by_chance, refused += row.refused;
    most = std::max(most, row.max_of_bound);
  }
  const std::string of = " of " + std::to_string(products) + " correct products";
  return {"The deterministic bound rejects " + std::to_string(rejected) + of +
              "; the nearest that an element comes to its bound is " + reports::shortest(std::round(most * 1000) / 1000) +
              " of it.",
          "The probabilistic bound, stated to reject a correct product with a probability of at most " +
              reports::shortest(e.false_alarms.false_alarm) + ", rejects " + std::to_string(chance) + of + ".",
          "For " + std::to_string(refused) + " more products the bound is worth nothing, and verify says so."};
}

std::string tightness_section(const Evidence& e) {
  reports::Table table{"tightness",
                       {"engine", "products above their bound", "sums bounded", "K with a bound up to", "median of bound",
                        "max of bound", "max of probabilistic bound"},
                       {}};
  std::vector<std::string> names;
  for (const verify::TightnessRow& row : e.tightness) {
    const std::string name =
        row.accumulation.name + ", " + emu::format_name(row.accumulation.in) + " into " +
        emu::format_name(row.accumulation.engine.accumulator) +
        (row.accumulation.promote == 0 ? "" : ", promoted every " + std::to_string(row.accumulation.promote));
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    names.push_back(name);
    std::vector<double> medians;
    double most = 0, likely = 0;
    std::int64_t above = 0, bounded = 0, longest = 0;
    for (const verify::TightnessRow& other : e.tightness) {
      if (!(other.accumulation == row.accumulation) || !other.bounded || !(other.relative < 1)) continue;
      ++bounded, longest = std::max(longest, static_cast<std::int64_t>(other.length));
      above += !(other.observed_over_bound.max <= 1) && other.elements != 0;
      if (other.elements == 0) continue;
      medians.push_back(other.observed_over_bound.median);
      most = std::max(most, other.observed_over_bound.max), likely = std::max(likely, other.observed_over_probable.max);
    }
    std::sort(medians.begin(), medians.end());
    const double median = medians.empty() ? std::nan("") : medians[medians.size() / 2];
    table.rows.push_back({name, above, bounded, longest, median, most, likely});
  }
  std::int64_t above = 0;
  for (const auto& row : table.rows) above += std::get<std::int64_t>(row[1]);
  return section(
      "How near errors come to their bounds",
      {"Observed error over what the bound allows, element by element, K = " + std::to_string(e.tightness.front().length) +
       " to " +
       std::to_string(std::max_element(e.tightness.begin(), e.tightness.end(),
                                       [](const auto& x, const auto& y) { return x.length < y.length; })
                          ->length) +
       ", over all distributions; the CSV file has quantiles of each product. Products with an element above its bound: " +
       std::to_string(above) + "."},
      table);
}

/// The columns of a table that have these names.
struct Columns {
  const reports::Table& table;
  std::size_t at(const char* name) const {
    return static_cast<std::size_t>(std::find(table.columns.begin(), table.columns.end(), name) - table.columns.begin());
  }
  std::string text(const std::vector<reports::Cell>& row, const char* name) const {
    return std::get<std::string>(row[at(name)]);
  }
};

/// Rules across, mutants down: of the problems whose mutant a correct kernel does not return, how many each rule rejects.
std::string power_section(const Evidence& e) {
  const Columns columns{e.power};
  std::vector<std::string> rules, mutants;
  const auto name_of_mutant = [&](const auto& row) {
    const double severity = std::get<double>(row[columns.at("severity")]);
    const std::string unit = columns.text(row, "unit");
    return columns.text(row, "mutant") +
           (unit.empty() ? "" : " " + reports::shortest(severity) + (unit == "%" ? "" : " ") + unit);
  };
  const auto add = [](std::vector<std::string>& words, const std::string& word) {
    if (std::find(words.begin(), words.end(), word) == words.end()) words.push_back(word);
  };
  for (const auto& row : e.power.rows) {
    add(rules, columns.text(row, "rule"));
    if (columns.text(row, "beyond_bound") == "yes") add(mutants, name_of_mutant(row));
  }
  reports::Table table{"power", {"mutant", "required", "beyond the bound in"}, {}};
  table.columns.insert(table.columns.end(), rules.begin(), rules.end());
  std::vector<std::int64_t> lived(rules.size());
  std::int64_t required = 0;
  for (const std::string& mutant : mutants) {
    std::vector<std::int64_t> killed(rules.size());
    std::int64_t beyond = 0, of_required = 0;
    for (const auto& row : e.power.rows) {
      if (columns.text(row, "beyond_bound") != "yes" || name_of_mutant(row) != mutant) continue;
      const auto rule =
          static_cast<std::size_t>(std::find(rules.begin(), rules.end(), columns.text(row, "rule")) - rules.begin());
      const bool kills = columns.text(row, "fate") == "killed", is_required = columns.text(row, "required") == "yes";
      killed[rule] += kills;
      if (rule == 0) ++beyond, of_required += is_required;
      lived[rule] += is_required && !kills;
    }
    required += of_required;
    std::vector<reports::Cell> row{mutant,
                                   of_required == 0        ? std::string("no")
                                   : of_required == beyond ? "yes"
                                                           : "in " + std::to_string(of_required),
                                   beyond};
    for (const std::int64_t count : killed) row.emplace_back(count);
    table.rows.push_back(std::move(row));
  }
  std::vector<std::string> sentences{
      "Wrong outputs of products in four pairs of formats, three lengths of sums and two distributions: how many each rule "
      "rejects, of those "
      "that no correct kernel returns. Of " +
      std::to_string(required) + " that every check must reject, these live:"};
  for (std::size_t rule = 0; rule < rules.size(); ++rule) {
    std::int64_t rejected = 0, correct = 0;
    for (const auto& row : e.power.rows)
      if (columns.text(row, "rule") == rules[rule] && columns.text(row, "mutant") == "none")
        ++correct, rejected += columns.text(row, "fate") == "rejected";
    sentences.push_back(rules[rule] + ": " + std::to_string(lived[rule]) +
                        (rejected == 0 ? ""
                                       : "; and it rejects " + std::to_string(rejected) + " of " + std::to_string(correct) +
                                             " correct outputs"));
  }
  return section("Power", sentences, table);
}

std::string plants_section(const Evidence& e) {
  std::int64_t known = 0, found = 0, unknown = 0, none = 0, wrong = 0;
  const Columns columns{e.plants};
  for (const auto& row : e.plants.rows) {
    const auto count = [&](const char* name) { return std::get<std::int64_t>(row[columns.at(name)]); };
    const bool is_known = !columns.text(row, "cause").starts_with("unknown:");
    (is_known ? known : unknown) += count("trials");
    if (is_known) found += count("named") + count("grouped");
    if (!is_known) none += count("none");
    wrong += count("wrong");
  }
  return section("Causes named",
                 {"explain names " + std::to_string(found) + " of " + std::to_string(known) +
                  " planted causes (alone, or among those that the data cannot tell apart), and mistakes " +
                  std::to_string(wrong) + " for another. Of " + std::to_string(unknown) +
                  " causes that it does not know it answers none of these to " + std::to_string(none) + "."},
                 e.plants);
}

}  // namespace

std::vector<reports::Table> evidence_tables(const Evidence& e) {
  return {verify::false_alarm_table(e.false_alarms, e.alarms), verify::tightness_table(e.tightness), e.power, e.plants};
}

std::string evidence_page(const Evidence& e, const Arguments& arguments) {
  const std::string main =
      section("False alarms", alarm_sentences(e), {}) + power_section(e) + tightness_section(e) + plants_section(e) +
      section("Correct products judged", {"By arithmetic and formats."}, verify::false_alarm_table(e.false_alarms, e.alarms));
  return reports::page_frame("What the checks are worth", "Seed " + std::to_string(e.false_alarms.seed) + ".", main,
                             command_line(arguments));
}

}  // namespace ulpscope::cli
