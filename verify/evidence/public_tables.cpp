// SPDX-License-Identifier: Apache-2.0
// The tables of the public checks, and the counts that are read off them.
#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <utility>

#include "verify/evidence/public_study.hpp"

namespace ulpscope::verify {
namespace {

using reports::Cell;
using reports::Severity;
using reports::whole;

Cell stated(std::size_t extent) { return extent == 0 ? Cell("") : whole(extent); }

/// Names of outputs, as a cell has them.
std::string names_of(const PublicResult& result, const std::function<bool(const JudgedOutput&)>& is) {
  std::string names;
  for (const JudgedOutput& output : result.outputs)
    if (is(output)) names += (names.empty() ? "" : "; ") + output.name;
  return names;
}

std::string accepted_names(const PublicResult& result) {
  return names_of(result, [](const JudgedOutput& o) { return o.is_wrong() && o.accepted; });
}
std::string rejected_names(const PublicResult& result) {
  return names_of(result, [](const JudgedOutput& o) { return o.is_right && !o.accepted; });
}

reports::Table checks_table(const std::vector<PublicResult>& results) {
  reports::Table table{"public_checks", {}, {}};
  for (const PublicResult& r : results) {
    const PublicCheck& check = r.check;
    const bool asked = check.fit != Fit::no;
    const auto count = [&](std::uint64_t n) { return asked ? whole(n) : Cell(""); };
    const auto within = static_cast<std::uint64_t>(std::ranges::count_if(
        r.outputs, [](const JudgedOutput& o) { return !o.is_right && o.applicable && o.changed != 0 && !o.is_wrong(); }));
    const auto other_bits = static_cast<std::uint64_t>(
        std::ranges::count_if(r.outputs, [](const JudgedOutput& o) { return o.is_right && !o.same_bits; }));
    table.add({{"check", check.check},
               {"repository", check.repository},
               {"path", check.path},
               {"commit", check.commit},
               {"operation", check.operation},
               {"m", stated(check.m)},
               {"n", stated(check.n)},
               {"k", stated(check.k)},
               {"rows", count(r.rows)},
               {"columns", count(r.columns)},
               {"a_format", check.a_format},
               {"b_format", check.b_format},
               {"acc", check.acc},
               {"out", check.out},
               {"a", check.a},
               {"b", check.b},
               {"c", check.c},
               {"scales", check.scales},
               {"engine", r.engine},
               {"rule", check.rule},
               {"fit", std::string(name_of(check.fit))},
               {"why", check.why},
               {"wrong", count(r.wrong())},
               {"accepted", count(r.wrong_accepted())},
               {"accepts", accepted_names(r)},
               {"within_bound", count(within)},
               {"least_scale", asked ? Cell(r.least_scale) : Cell("")},
               {"most_scale", asked ? Cell(r.most_scale) : Cell("")},
               {"right", count(r.right())},
               {"rejected", count(r.right_rejected())},
               {"rejects", rejected_names(r)},
               {"other_bits", count(other_bits)},
               {"request", check.request}});
  }
  return table;
}

const char* said(bool accepted) { return accepted ? "accepted" : "rejected"; }

reports::Table outputs_table(const std::vector<PublicResult>& results) {
  reports::Table table{"public_outputs", {}, {}};
  for (const PublicResult& r : results)
    for (const JudgedOutput& o : r.outputs) {
      const char* const none = !o.applicable ? "not_applicable" : !o.is_right && o.changed == 0 ? "equivalent" : nullptr;
      table.add({{"check", r.check.check},
                 {"output", o.name},
                 {"kind", o.is_right ? "right" : "mutant"},
                 {"changed", whole(o.changed)},
                 {"verdict", none != nullptr ? none : said(o.accepted)},
                 {"bound", none != nullptr  ? none
                           : o.within_bound ? said(*o.within_bound)
                                            : "broken"},
                 {"bitwise", none != nullptr ? none : said(o.same_bits)}});
    }
  return table;
}

/// What all checks together said.
struct PublicTotals {
  std::uint64_t checks = 0, exact = 0, near = 0;           ///< in all, and those that were asked
  std::uint64_t wrong = 0, accepted = 0, accepting = 0;    ///< wrong outputs; accepted; checks that accept any
  std::uint64_t right = 0, rejected = 0, rejecting = 0;    ///< the same of right ones
  std::uint64_t bound_rejected = 0, bitwise_rejected = 0;  ///< right ones
  std::uint64_t within = 0;                                ///< mutants that a right kernel may return
  std::uint64_t unbounded = 0;                             ///< mutants for which no bound is derived
  std::set<std::string> repositories;
};

PublicTotals totals_of(const std::vector<PublicResult>& results) {
  PublicTotals totals;
  for (const PublicResult& r : results) {
    ++totals.checks;
    totals.repositories.insert(r.check.repository);
    totals.exact += r.check.fit == Fit::exact, totals.near += r.check.fit == Fit::near;
    totals.wrong += r.wrong(), totals.accepted += r.wrong_accepted(), totals.accepting += r.wrong_accepted() != 0;
    totals.right += r.right(), totals.rejected += r.right_rejected(), totals.rejecting += r.right_rejected() != 0;
    for (const JudgedOutput& o : r.outputs) {
      totals.bound_rejected += o.is_right && o.within_bound == false, totals.bitwise_rejected += o.is_right && !o.same_bits;
      if (o.is_right || !o.applicable || o.changed == 0) continue;
      totals.within += o.within_bound == true, totals.unbounded += !o.within_bound;
    }
  }
  return totals;
}

std::string counted(std::uint64_t n) { return std::to_string(n); }

}  // namespace

std::vector<reports::Table> public_tables(const std::vector<PublicResult>& results) {
  return {checks_table(results), outputs_table(results)};
}

std::vector<reports::Finding> public_findings(const std::vector<PublicResult>& results) {
  const PublicTotals all = totals_of(results);
  const std::uint64_t asked = all.exact + all.near;
  std::vector<reports::Finding> findings{
      {.what = "accepted",
       .where = "public checks",
       .value = whole(all.accepted),
       .threshold = std::int64_t{0},
       .source = "definition: no right kernel returns an output beyond the bound (emu/engine_bound.hpp)",
       .severity = all.accepted == 0 ? Severity::good : Severity::bad,
       .sentence = "Of " + counted(all.wrong) + " wrong outputs the checks accept " + counted(all.accepted) + "; " +
                   counted(all.accepting) + " of " + counted(asked) +
                   " checks accept at least one. The derived bound rejects all: " +
                   "an output counts as wrong where an element is beyond it."},
      {.what = "rejected",
       .where = "public checks",
       .value = whole(all.rejected),
       .threshold = std::int64_t{0},
       .source =
           "definition: a right output is what an engine or a plain computation returns, or the exact result rounded once",
       .severity = all.rejected == 0 ? Severity::good : Severity::bad,
       .sentence =
           "Of " + counted(all.right) +
           " right outputs, of engines that take the formats and of plain computations, the checks reject " +
           (all.rejected == 0 ? "none."
                              : counted(all.rejected) + "; " + counted(all.rejecting) + " checks reject at least one.")},
      {.what = "rejected",
       .where = "deterministic bound",
       .value = whole(all.bound_rejected),
       .threshold = std::int64_t{0},
       .source = "derived: the bound holds for every right product (emu/engine_bound.hpp)",
       .severity = all.bound_rejected == 0 ? Severity::good : Severity::bad,
       .sentence = "Of the same right outputs the derived bound rejects " +
                   (all.bound_rejected == 0 ? "none" : counted(all.bound_rejected)) +
                   "; equality of all bits with one of them rejects " + counted(all.bitwise_rejected) + " of the others."},
  };
  if (all.within != 0)
    findings.push_back({.what = "within_bound",
                        .where = "mutants",
                        .value = whole(all.within),
                        .threshold = "",
                        .source = "",
                        .severity = Severity::good,
                        .sentence = counted(all.within) +
                                    " more mutants differ from the right output by less than a right kernel "
                                    "may: only equality of bits with a named engine tells them."});
  if (all.unbounded != 0)
    findings.push_back({.what = "unbounded",
                        .where = "mutants",
                        .value = whole(all.unbounded),
                        .threshold = "",
                        .source = "",
                        .severity = Severity::good,
                        .sentence = "For " + counted(all.unbounded) + " mutants no bound is derived."});
  return findings;
}

void most_accepting_first(std::vector<const PublicResult*>& results) {
  std::ranges::sort(results, [](const PublicResult* x, const PublicResult* y) {
    const std::uint64_t by_x = x->wrong_accepted(), by_y = y->wrong_accepted();
    return by_x != by_y ? by_x > by_y : x < y;
  });
}

std::string public_sentence(const std::vector<PublicResult>& results) {
  const PublicTotals all = totals_of(results);
  return counted(all.checks) + " acceptance checks of kernels in " + counted(all.repositories.size()) +
         " public repositories: " + counted(all.exact) + " are made again as their sources state them, " + counted(all.near) +
         " nearly, " + counted(all.checks - all.exact - all.near) + " cannot be.";
}

reports::Table public_mutants(const std::vector<PublicResult>& results) {
  struct Count {
    std::string name;
    std::uint64_t wrong = 0, accepted = 0;
  };
  std::vector<Count> counts;
  for (const PublicResult& r : results)
    for (const JudgedOutput& o : r.outputs) {
      if (o.is_right) continue;
      auto at = std::ranges::find(counts, o.name, &Count::name);
      if (at == counts.end()) at = counts.insert(counts.end(), {.name = o.name});
      at->wrong += o.is_wrong(), at->accepted += o.is_wrong() && o.accepted;
    }
  reports::Table table{"public_mutants", {"mutant", "wrong_for", "accepted_by"}, {}};
  for (const Count& count : counts)
    if (count.wrong != 0) table.rows.push_back({count.name, whole(count.wrong), whole(count.accepted)});
  return table;
}

reports::Table public_summary(const std::vector<PublicResult>& results) {
  std::vector<const PublicResult*> asked;
  for (const PublicResult& r : results)
    if (r.check.fit != Fit::no) asked.push_back(&r);
  most_accepting_first(asked);
  reports::Table table{"public_summary", {}, {}};
  for (const PublicResult* const r : asked)
    table.add({{"check", r->check.check},
               {"wrong", whole(r->wrong())},
               {"accepted", whole(r->wrong_accepted())},
               {"rejected", whole(r->right_rejected())},
               {"least_scale", r->least_scale},
               {"most_scale", r->most_scale},
               {"rule", r->check.rule}});
  return table;
}

}  // namespace ulpscope::verify
