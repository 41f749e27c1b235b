// SPDX-License-Identifier: Apache-2.0
// The page: what the words mean, what was found, and a section for each part.
#include <algorithm>
#include <cmath>

#include "emu/names.hpp"
#include "reports/columns.hpp"
#include "verify/evidence/evidence.hpp"

namespace ulpscope::verify {
namespace {

using reports::Block;
using reports::Columns;
using reports::Section;
using reports::Table;

std::vector<Block> with(std::vector<reports::Figure> figures, const std::vector<std::string>& paragraphs) {
  std::vector<Block> blocks{reports::Prose{paragraphs}};
  for (reports::Figure& figure : figures) blocks.emplace_back(std::move(figure));
  return blocks;
}

/// Every rule is asked about the same outputs.
Table rules_table(const Evidence& e) {
  const std::vector<RulePower> rules = power_of_rules(e);
  if (rules.empty()) return {};
  const auto of = [](const char* what, std::int64_t n, const char* which) {
    return what + std::string(", of ") + std::to_string(n) + " " + which;
  };
  const RulePower& any = rules.front();
  Table table{"rules",
              {"rule", of("accepted", any.required, "mutants that every check must reject"),
               of("accepted", any.other, "smaller faults"), of("rejected", any.correct, "correct outputs")},
              {}};
  for (const RulePower& rule : rules) table.rows.push_back({rule.rule, rule.required_lived, rule.other_lived, rule.rejected});
  return table;
}

/// Those that no table below says better.
std::vector<reports::Finding> leading_findings(const Evidence& e) {
  std::vector<reports::Finding> findings = evidence_findings(e);
  std::erase_if(findings, [](const reports::Finding& finding) {
    return (finding.what == "required_mutants_that_live" && finding.where != "bound") ||
           finding.what == "elements_beyond_bound";
  });
  return findings;
}

/// Over all distributions and lengths, a row for each accumulation.
Table tightness_of_accumulations(const Evidence& e) {
  Table table{"tightness",
              {"engine", "formats", "products with a bound", "K up to", "median of bound", "max of bound",
               "max of probabilistic bound"},
              {}};
  std::vector<studies::Accumulation> done;
  for (const TightnessRow& row : e.tightness) {
    if (std::find(done.begin(), done.end(), row.accumulation) != done.end()) continue;
    done.push_back(row.accumulation);
    std::vector<double> medians;
    double most = 0, likely = 0;
    std::int64_t bounded = 0, longest = 0;
    for (const TightnessRow& other : e.tightness) {
      if (!(other.accumulation == row.accumulation) || !other.bounded || !(other.relative < 1)) continue;
      ++bounded, longest = std::max(longest, static_cast<std::int64_t>(other.length));
      if (other.elements == 0) continue;
      medians.push_back(other.observed_over_bound.median);
      most = std::max(most, other.observed_over_bound.max), likely = std::max(likely, other.observed_over_probable.max);
    }
    if (medians.empty()) continue;
    std::sort(medians.begin(), medians.end());
    table.rows.push_back(
        {row.accumulation.name, modes_words(row.accumulation), bounded, longest, medians[medians.size() / 2], most, likely});
  }
  return table;
}

/// The rows of causes that explain knows, or does not; without columns in which nothing is counted.
Table plants_of(const Evidence& e, bool known) {
  const Columns columns(e.plants);
  Table table{"plants", {"cause", "trials"}, {}};
  std::vector<std::string> counted;
  const auto of_kind = [&](const auto& row) { return columns.text(row, "cause").starts_with("unknown: ") != known; };
  for (const char* const name : {"named", "grouped", "undecided", "wrong", "none"})
    if (std::any_of(e.plants.rows.begin(), e.plants.rows.end(),
                    [&](const auto& row) { return of_kind(row) && columns.number(row, name) > 0; }))
      counted.emplace_back(name);
  table.columns.insert(table.columns.end(), counted.begin(), counted.end());
  for (const auto& row : e.plants.rows) {
    if (!of_kind(row)) continue;
    std::string cause = columns.text(row, "cause");
    if (!known) cause = cause.substr(std::string("unknown: ").size());
    std::vector<reports::Cell> cells{cause, columns.cell(row, "trials")};
    for (const std::string& name : counted) cells.push_back(columns.cell(row, name));
    table.rows.push_back(std::move(cells));
  }
  return table;
}

}  // namespace

reports::Page evidence_page(const Evidence& e) {
  reports::Page page{
      .title = "What the checks are worth",
      .settings = "Seed " + std::to_string(e.false_alarms.seed) + ".",
      .command = {},
      .blocks = {reports::Prose{
          {"A check takes what a kernel returned and accepts it as right or rejects it. The checks of ulpscope verify hold "
           "each element "
           "against a bound: the largest error that a correct kernel can make on these very inputs, derived before any output "
           "is seen. A "
           "mutant is an output made wrong on purpose, as a fault of a kernel makes it wrong.",
           "A check is worth something if it rejects no correct output (false alarms), rejects mutants (power), and has bounds "
           "that errors "
           "come near to (tightness): a bound that nothing exceeds proves little if it is far above every error. ulpscope "
           "explain is "
           "worth something if it names the fault that was planted, and none where it does not know the fault."}}},
      .sections = {}};
  page.blocks.emplace_back(reports::FindingList{leading_findings(e)});

  Section alarms{
      .id = "false-alarms",
      .title = "False alarms",
      .blocks = with(alarm_figures(e),
                     {"Correct products by every engine, and sums in other orders, of K from 1 to 512: promoted, split, with "
                      "normal, cancelling and subnormal operands."})};
  alarms.sections.push_back({.id = "alarm-rows",
                             .title = "All arithmetics",
                             .fold = Section::Fold::closed,
                             .blocks = {false_alarm_table(e.false_alarms, e.alarms)}});
  page.sections.push_back(std::move(alarms));

  Section power{.id = "power", .title = "Power", .blocks = {rules_table(e)}};
  for (Block& block :
       with(power_figures(e),
            {"Products in four pairs of formats, three lengths of sums and two distributions. Rules beside the bound are "
             "those in use elsewhere (docs/rules.md)."}))
    power.blocks.push_back(std::move(block));
  std::rotate(power.blocks.begin(), power.blocks.begin() + 1, power.blocks.begin() + 2);  // the sentence before the table
  page.sections.push_back(std::move(power));

  Section tight{.id = "tightness", .title = "Tightness", .blocks = with(tightness_figures(e), {})};
  tight.sections.push_back({.id = "tightness-rows",
                            .title = "All engines and formats",
                            .fold = Section::Fold::closed,
                            .blocks = {tightness_of_accumulations(e)}});
  page.sections.push_back(std::move(tight));

  if (!e.norm_faults.empty())
    page.sections.push_back(
        {.id = "norm-faults",
         .title = "Below resolution",
         .blocks = {
             reports::Prose{{"Layer and RMS norms of rows of 1024 numbers of a deviation of 1 that are exact but for their "
                             "epsilon: missing, outside of the root, 1e-6 for 1e-5, or added to the sum before it is divided. "
                             "That is some 5 millionths of each element: within the bound of a kernel that adds in any order, "
                             "beyond that of one whose terms meet 64 additions at most (--sum-depth 64). Half an ulp of "
                             "bfloat16 is 400 times as much, so that only elements beside a tie show it there. changed: "
                             "elements that are not those of the right norm in the same format."}},
             norm_faults_table(e.norm_faults)}});

  Section causes{
      .id = "causes",
      .title = "Causes named",
      .blocks = {
          reports::Prose{{"named: the planted cause is the first that explain names. grouped: it is among those that the "
                          "data cannot tell apart, or a simpler cause gives the same output. undecided: too little "
                          "differs to tell a cause from chance."}},
          plants_of(e, true)}};
  if (Table unknown = plants_of(e, false); !unknown.rows.empty()) {
    causes.blocks.emplace_back(reports::Prose{{"Causes that explain does not know: none is the right answer."}});
    causes.blocks.emplace_back(std::move(unknown));
  }
  page.sections.push_back(std::move(causes));

  if (!e.roundings.rows.empty())
    page.sections.push_back(
        {.id = "roundings",
         .title = "Roundings found",
         .blocks = {
             reports::Prose{{"Fused kernels that round some of their intermediate results, to bfloat16 or float16, and explain "
                             "expr, which is given the formula without them. named: the formula with these roundings is "
                             "the likeliest. grouped: the output does not tell it from the likeliest. Of kernels without "
                             "roundings none is the right answer."}},
             e.roundings}});
  return page;
}

}  // namespace ulpscope::verify
