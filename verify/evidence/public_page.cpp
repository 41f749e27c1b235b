// SPDX-License-Identifier: Apache-2.0
// The page of the public checks: the counts, mutants by kinds of rules, and every check with what it accepts.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>

#include "studies/census/sweep.hpp"
#include "verify/evidence/public_study.hpp"

namespace ulpscope::verify {
namespace {

using reports::HeatMap;
using reports::Section;
using reports::Table;
using reports::whole;
using studies::digits;

constexpr const char* bound_column = "bound";

/// Rules that see the same faults, in the order of the figure.
const std::vector<std::pair<std::string, std::vector<std::string_view>>>& rule_groups() {
  static const std::vector<std::pair<std::string, std::vector<std::string_view>>> all{
      {"allclose", {"allclose", "assert_close", "matched_ratio", "ulp"}},
      {"calc_diff", {"calc_diff"}},
      {"cosine, pcc", {"cosine", "pcc"}},
      {"sqnr, norm", {"sqnr", "frobenius", "nmse", "nrmse"}},
      {"means", {"mean_abs", "mean_rel", "l1", "mse"}},
      {"bitwise", {"bitwise"}},
      {"none", {"none"}},
  };
  return all;
}

/// The place of a rule's group. A compound rule is that of its first part.
std::size_t group_of(const std::string& rule) {
  const std::string_view name = std::string_view(rule).substr(0, rule.find(':'));
  const auto& groups = rule_groups();
  for (std::size_t i = 0; i < groups.size(); ++i)
    if (std::ranges::find(groups[i].second, name) != groups[i].second.end()) return i;
  return 0;
}

/// Checks of one group: those in which the mutant is a wrong output, and those of them that accept it.
struct GroupCount {
  std::uint64_t wrong = 0, accepted = 0;
};

struct MutantCounts {
  std::string name;
  std::vector<GroupCount> groups = std::vector<GroupCount>(rule_groups().size());
  GroupCount all = {};
};

/// A row a mutant, in the order in which they are fed.
std::vector<MutantCounts> mutant_counts(const std::vector<PublicResult>& results) {
  std::vector<MutantCounts> counts;
  for (const PublicResult& r : results)
    for (const JudgedOutput& o : r.outputs) {
      if (o.is_right) continue;
      auto at = std::ranges::find(counts, o.name, &MutantCounts::name);
      if (at == counts.end()) at = counts.insert(counts.end(), {.name = o.name});
      if (!o.is_wrong()) continue;
      for (GroupCount* const count : {&at->groups[group_of(r.check.rule)], &at->all})
        ++count->wrong, count->accepted += o.accepted;
    }
  return counts;
}

HeatMap::Cell share_cell(const GroupCount& count, const std::string& mutant, const std::string& group) {
  if (count.wrong == 0) return {};
  const double share = static_cast<double>(count.accepted) / static_cast<double>(count.wrong);
  const HeatMap::Shade shade = count.accepted == 0 ? HeatMap::Shade::good
                               : share < 0.25      ? HeatMap::Shade::slight
                               : share < 0.5       ? HeatMap::Shade::marked
                                                   : HeatMap::Shade::severe;
  const std::string words = std::to_string(count.accepted) + " of " + std::to_string(count.wrong);
  return {.shade = shade,
          .text = std::to_string(std::lround(100 * share)) + (count.accepted == 0 ? "" : "%"),
          .title = mutant + ": " + words + " checks by " + group + " accept it"};
}

/// With a blank after each comma, where a line may end.
std::string spaced(const std::string& rule) {
  std::string text;
  for (const char c : rule) text += c == ',' ? std::string(", ") : std::string(1, c);
  return text;
}

std::string joined_names(const PublicResult& result, bool right) {
  if (!right && result.wrong_accepted() != 0 && result.wrong_accepted() == result.wrong()) return "all";
  std::string names;
  for (const JudgedOutput& o : result.outputs)
    if (right ? o.is_right && !o.accepted : o.is_wrong() && o.accepted) names += (names.empty() ? "" : ", ") + o.name;
  return names;
}

/// `0.956 to 1.046`; empty where the right output is rejected.
std::string scale_words(const PublicResult& r) {
  if (std::isnan(r.least_scale)) return {};
  return digits(r.least_scale, 4) + " to " + (std::isinf(r.most_scale) ? "any" : digits(r.most_scale, 4));
}

std::vector<const PublicResult*> chosen(const std::vector<PublicResult>& results, bool (*is)(const PublicResult&)) {
  std::vector<const PublicResult*> some;
  for (const PublicResult& r : results)
    if (is(r)) some.push_back(&r);
  return some;
}

bool is_asked(const PublicResult& r) { return r.check.fit != Fit::no; }

Table checks_of(std::vector<const PublicResult*> some) {
  most_accepting_first(some);
  Table table{"checks", {"check", "operation", "rule", "wrong", "accepted", "scales accepted", "accepts"}, {}};
  for (const PublicResult* const r : some)
    table.rows.push_back({r->check.check, r->check.operation, spaced(r->check.rule), whole(r->wrong()),
                          whole(r->wrong_accepted()), scale_words(*r), joined_names(*r, false)});
  return table;
}

Table rejecting(const std::vector<PublicResult>& results) {
  Table table{"rejecting", {"check", "rule", "right", "rejected", "rejects"}, {}};
  for (const PublicResult* const r : chosen(results, [](const PublicResult& x) { return x.right_rejected() != 0; }))
    table.rows.push_back(
        {r->check.check, spaced(r->check.rule), whole(r->right()), whole(r->right_rejected()), joined_names(*r, true)});
  return table;
}

/// Counts of words, by count.
Table counted_words(const std::string& name, const std::string& column, const std::vector<std::string>& words) {
  std::vector<std::pair<std::string, std::int64_t>> counts;
  for (const std::string& word : words) {
    auto at = std::ranges::find(counts, word, &std::pair<std::string, std::int64_t>::first);
    if (at == counts.end()) at = counts.insert(counts.end(), {word, 0});
    ++at->second;
  }
  std::ranges::sort(
      counts, [](const auto& x, const auto& y) { return x.second != y.second ? x.second > y.second : x.first < y.first; });
  Table table{name, {column, "checks"}, {}};
  for (const auto& [word, count] : counts) table.rows.push_back({word, count});
  return table;
}

std::vector<std::string> reasons_of(const std::vector<PublicResult>& results, Fit fit) {
  std::vector<std::string> reasons;
  for (const PublicResult& r : results) {
    if (r.check.fit != fit) continue;
    for (std::size_t from = 0; from < r.check.why.size();) {
      const std::size_t end = std::min(r.check.why.find("; ", from), r.check.why.size());
      reasons.push_back(r.check.why.substr(from, end - from));
      from = end + 2;
    }
  }
  return reasons;
}

const char* said_of(const KernelVerdict& verdict) { return verdict.beyond == 0 ? "accepted" : "rejected"; }

/// A row a kernel: what both checks say at the fixed shape and at the other one.
Table kernels_of(const std::vector<KernelVerdict>& verdicts) {
  Table table{"kernels", {"kernel", "fault", "fixed: 1e-2", "fixed: bound", "edge: 1e-2", "edge: bound"}, {}};
  for (const KernelVerdict& v : verdicts) {
    const char* const tolerated = v.allclose ? "accepted" : "rejected";
    if (v.shape == "edge") {
      table.rows.back()[4] = tolerated, table.rows.back()[5] = said_of(v);
    } else {
      table.rows.push_back({v.kernel, v.fault.empty() ? "none" : v.fault, tolerated, said_of(v), "", ""});
    }
  }
  return table;
}

}  // namespace

std::vector<reports::Figure> public_figures(const std::vector<PublicResult>& results) {
  HeatMap map;
  for (const auto& group : rule_groups()) map.columns.push_back(group.first);
  map.columns.emplace_back(bound_column);
  HeatMap::Group rows{.name = "accepted by checks", .title = {}, .rows = {}};
  for (const MutantCounts& mutant : mutant_counts(results)) {
    if (mutant.all.wrong == 0) continue;
    HeatMap::Row row{.name = mutant.name, .title = {}, .link = {}, .cells = {}};
    for (std::size_t i = 0; i < mutant.groups.size(); ++i)
      row.cells.push_back(share_cell(mutant.groups[i], mutant.name, map.columns[i]));
    row.cells.push_back(share_cell({mutant.all.wrong, 0}, mutant.name, bound_column));
    rows.rows.push_back(std::move(row));
  }
  if (rows.rows.empty()) return {};
  map.groups.push_back(std::move(rows));
  map.legend = {{HeatMap::Shade::good, "no check accepts it"},
                {HeatMap::Shade::slight, "fewer than a quarter"},
                {HeatMap::Shade::marked, "fewer than half"},
                {HeatMap::Shade::severe, "half or more"}};
  return {{.name = "public_checks",
           .title = "Wrong outputs by kinds of rules.",
           .caption =
               "The share of checks that accept a wrong output, of those for whose operation no right kernel returns it. "
               "allclose: all elementwise tolerances; norm: frobenius, nmse and nrmse; means: mean_abs, mean_rel, l1 and mse; "
               "none: "
               "figures are printed and nothing is judged.",
           .description = "For each mutant and kind of rule the number of checks that accept the mutant.",
           .data = std::move(map)}};
}

reports::Page public_page(const std::vector<PublicResult>& results, const std::vector<KernelVerdict>& kernels,
                          const PublicConfig& config) {
  const std::string lines = std::to_string(config.sample.lines);
  reports::Page page{
      .title = "What public checks let live",
      .settings = "At most " + lines +
                  " rows and columns of each product, K whole; other operations as their requests say; seed " +
                  std::to_string(config.sample.seed) + ".",
      .command = {},
      .blocks = {reports::Prose{
          {public_sentence(results) + " Each that can is asked about wrong outputs of its own operation and about right ones, "
                                      "computed by engines that take its formats or in plain float32.",
           "An output counts as wrong where an element is beyond the derived bound, the largest error that a right kernel can "
           "make on these very operands (docs/rules.md). Outputs are compared with the exact result, rounded once."}}},
      .sections = {}};
  page.blocks.emplace_back(reports::FindingList{public_findings(results)});
  for (reports::Figure& figure : public_figures(results)) page.blocks.emplace_back(std::move(figure));

  page.sections.push_back(
      {.id = "accepting",
       .title = "Checks that accept wrong outputs",
       .blocks = {reports::Prose{{"scales accepted: the right output times any factor in this range is accepted."}},
                  checks_of(chosen(results, [](const PublicResult& r) { return is_asked(r) && r.wrong_accepted() != 0; }))}});
  if (Table table = rejecting(results); !table.rows.empty())
    page.sections.push_back(
        {.id = "rejecting",
         .title = "Checks that reject right outputs",
         .blocks = {reports::Prose{{"Right outputs are those of engines that keep at least as many bits as the product's own, "
                                    "plain computations in float32 (plain_1 ...), and the exact result, rounded once."}},
                    std::move(table)}});
  page.sections.push_back(
      {.id = "others",
       .title = "Checks that accept none of the wrong outputs",
       .fold = Section::Fold::closed,
       .blocks = {checks_of(chosen(results, [](const PublicResult& r) { return is_asked(r) && r.wrong_accepted() == 0; }))}});
  page.sections.push_back(
      {.id = "kernels",
       .title = "Kernels that a tolerance accepts",
       .blocks = {
           reports::Prose{{"26 kernels of D. Sarkar, The Correctness Illusion in LLM-Generated GPU Kernels (arXiv 2606.20128, "
                           "table 1), written again from its descriptions: 10 have a fault. Shapes and inputs are chosen "
                           "here: a fixed one at which the fault is below 1e-2 or no block has a rest, and a second one with "
                           "rests. Then problems of KernelBench of which an output of zeros is accepted."}},
           reports::FindingList{kernels_findings(kernels)}, kernels_of(kernels)}});
  page.sections.push_back({.id = "near",
                           .title = "What is not as in the sources",
                           .blocks = {counted_words("near", "difference", reasons_of(results, Fit::near))}});
  page.sections.push_back({.id = "not-asked",
                           .title = "What cannot be asked",
                           .blocks = {counted_words("not_asked", "reason", reasons_of(results, Fit::no))}});
  return page;
}

}  // namespace ulpscope::verify
