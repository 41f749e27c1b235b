// SPDX-License-Identifier: Apache-2.0
// Compared cases in words and as a table.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <type_traits>

#include "verify/ledger/ledger_compare.hpp"

namespace ulpscope::verify {
namespace {

using reports::Cell;
using reports::whole;

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : "; ") + word;
  return text;
}

std::string distance(const CaseComparison& c) {
  if (!c.unlike_outputs.empty()) return ", by how many ulps is not known, as outputs are not of one kind: " + c.unlike_outputs;
  if (!c.movement) return ", by how many ulps is not known, as an output was not kept";
  const Movement& m = *c.movement;
  std::string text = fmt::format(" in {} of {} elements", m.moved, m.count);
  if (m.moved > m.nonfinite) text += fmt::format(", by {:.4g} ulp on the mean and {:.4g} at most", m.mean_ulp, m.max_ulp);
  if (m.nonfinite != 0) text += fmt::format(", {} of them infinite or NaN on one side", m.nonfinite);
  return text;
}

std::string judged(const CaseComparison& c) {
  const LedgerFigures &now = *c.after, &before = *c.before;
  if (c.beyond() && now.wrong() == 0)
    return "each element is one of its two neighbours, but the ODDS OF ITS ROUNDING ARE WRONG: ulpscope verify says how";
  if (c.beyond())
    return fmt::format("{} of {} elements are BEYOND THE BOUND, before {}", now.wrong(), now.count(), before.wrong());
  if (c.overflowed() != 0)
    return fmt::format(
        "{} of {} elements are INFINITE OR NaN where the exact result is finite, before {}: the bound admits that",
        now.nonfinite_admitted, now.count(), before.nonfinite_admitted);
  if (c.untold()) return "whether it is right cannot be told: the check is vacuous";
  return fmt::format("within the bound: the furthest reaches {:.3g} of it, before {:.3g}", now.max_of_bound,
                     before.max_of_bound);
}

std::string same_sentence(const CaseComparison& c) {
  std::string text = "same";
  if (c.beyond()) text += ", and " + judged(c);
  if (c.after->verdict == "vacuous") text += "; whether it is right cannot be told";
  if (!same_figures(*c.before, *c.after))
    text += std::string("; its figures are not those recorded: another version of ulpscope, a ledger changed by hand") +
            (c.changes.empty() ? "" : ", or what is named below");
  return text;
}

/// A figure of both sides, the former first.
template <class Member>
void add_pair(std::vector<Cell>& row, const CaseComparison& c, Member figure) {
  for (const auto* side : {&c.before, &c.after}) {
    if (!*side) {
      row.emplace_back(std::string());
    } else if constexpr (std::is_same_v<Member, double LedgerFigures::*> ||
                         std::is_same_v<Member, std::string LedgerFigures::*>) {
      row.emplace_back((**side).*figure);
    } else {
      row.push_back(whole((**side).*figure));
    }
  }
}

void add_movement(std::vector<Cell>& row, const CaseComparison& c) {
  if (c.movement) {
    row.insert(row.end(), {whole(c.movement->moved), whole(c.movement->nonfinite), c.movement->max_ulp, c.movement->mean_ulp});
  } else if (c.status == CaseStatus::same) {
    row.insert(row.end(), {whole(0), whole(0), 0.0, std::numeric_limits<double>::quiet_NaN()});
  } else {
    row.insert(row.end(), 4, std::string());
  }
}

}  // namespace

std::string CaseComparison::sentence() const {
  const std::string start = label() + ": ";
  switch (status) {
    case CaseStatus::same: return start + same_sentence(*this);
    case CaseStatus::moved: return start + "moved" + distance(*this) + "; " + judged(*this);
    case CaseStatus::inputs_differ: return start + "inputs differ, nothing is compared: " + joined(changes);
    case CaseStatus::added: return start + "added";
    case CaseStatus::removed: return start + "removed";
    case CaseStatus::unchecked: break;
  }
  return start + "not checked: " + problem;
}

std::string summary(const std::vector<CaseComparison>& cases) {
  const auto count = [&](auto&& is) { return std::count_if(cases.begin(), cases.end(), is); };
  std::string text;
  for (const CaseStatus status : {CaseStatus::same, CaseStatus::moved, CaseStatus::inputs_differ, CaseStatus::added,
                                  CaseStatus::removed, CaseStatus::unchecked}) {
    const auto n = count([&](const CaseComparison& c) { return c.status == status; });
    if (n != 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", n, name_of(status));
  }
  const auto beyond = count([](const CaseComparison& c) { return c.beyond(); });
  const auto overflowed = count([](const CaseComparison& c) { return !c.beyond() && c.overflowed() != 0; });
  return fmt::format("{} case{}{}{}; {} beyond the bound{}", cases.size(), cases.size() == 1 ? "" : "s",
                     text.empty() ? "" : ": ", text,
                     beyond == 0 ? "nothing is" : fmt::format("{} {}", beyond, beyond == 1 ? "is" : "are"),
                     overflowed == 0 ? "" : fmt::format("; {} overflowed within it", overflowed));
}

reports::Table figures_table(const std::vector<CaseComparison>& cases) {
  reports::Table table{"ledger_figures",
                       {"case", "when", "equal", "within", "beyond", "nonfinite", "max_ulp_error", "bias_ulp",
                        "rel_frobenius_error", "max_of_bound"},
                       {}};
  const bool some = std::ranges::any_of(cases, [](const CaseComparison& c) {
    return c.status == CaseStatus::moved && (c.before->nonfinite_admitted != 0 || c.after->nonfinite_admitted != 0);
  });
  if (some) table.columns.emplace_back("nonfinite_admitted");
  const auto add = [&](const std::string& name, const char* when, const LedgerFigures& f) {
    table.rows.push_back({name, when, whole(f.equal), whole(f.within), whole(f.beyond), whole(f.nonfinite), f.max_ulp_error,
                          f.bias_ulp, f.rel_frobenius_error, f.max_of_bound});
    if (some) table.rows.back().push_back(whole(f.nonfinite_admitted));
  };
  for (const CaseComparison& c : cases) {
    if (c.status != CaseStatus::moved) continue;
    add(c.label(), "before", *c.before);
    add(c.label(), "now", *c.after);
  }
  return table;
}

reports::Table comparison_table(const std::vector<CaseComparison>& cases) {
  reports::Table table{"ledger_check", {"case", "status", "moved", "moved_nonfinite", "max_moved_ulp", "mean_moved_ulp"}, {}};
  for (const char* figure : {"verdict", "equal", "within", "beyond", "nonfinite", "max_ulp_error", "bias_ulp",
                             "rel_frobenius_error", "max_of_bound"}) {
    table.columns.push_back(std::string(figure) + "_before");
    table.columns.emplace_back(figure);
  }
  table.columns.insert(table.columns.end(), {"changes", "problem", "nonfinite_admitted_before", "nonfinite_admitted"});
  for (const CaseComparison& c : cases) {
    std::vector<Cell> row{c.label(), std::string(name_of(c.status))};
    add_movement(row, c);
    add_pair(row, c, &LedgerFigures::verdict);
    for (const auto figure : {&LedgerFigures::equal, &LedgerFigures::within, &LedgerFigures::beyond, &LedgerFigures::nonfinite})
      add_pair(row, c, figure);
    for (const auto figure : {&LedgerFigures::max_ulp_error, &LedgerFigures::bias_ulp, &LedgerFigures::rel_frobenius_error,
                              &LedgerFigures::max_of_bound})
      add_pair(row, c, figure);
    row.insert(row.end(), {joined(c.changes), c.problem});
    add_pair(row, c, &LedgerFigures::nonfinite_admitted);
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace ulpscope::verify
