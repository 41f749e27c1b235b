// SPDX-License-Identifier: Apache-2.0
// What became of a case between two entries of a ledger: whether its output moved, by how many ulps, and whether it is still
// what a correct kernel may return.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "verify/ledger/ledger.hpp"

namespace ulpscope::verify {

/// How one output differs from another of the same shape and format. Elements moved if their codes differ; NaNs are one code.
struct Movement {
  std::uint64_t count = 0, moved = 0;  ///< elements, and those whose codes differ
  std::uint64_t nonfinite = 0;         ///< of those that moved, infinite or NaN on a side
  double max_ulp = 0;                  ///< over elements finite on both sides, in ulps of the format at the former value
  double mean_ulp = 0;                 ///< of those of them that moved; nan where none did
};

/// @throws ulpscope::Error where the shapes differ.
Movement movement(emu::Format format, const tensors::Tensor& before, const tensors::Tensor& after);

/// What became of a case.
enum class CaseStatus : std::uint8_t {
  same,           ///< the output's digest is equal
  moved,          ///< it is not
  inputs_differ,  ///< the entries do not judge the same numbers: nothing is compared
  added,          ///< only the later ledger has it
  removed,        ///< only the former one
  unchecked       ///< could not be judged: `problem` says why
};
/// The word of a status, as in tables.
std::string_view name_of(CaseStatus status) noexcept;

/// One output of a case on both sides.
struct CaseComparison {
  std::string name;                                      ///< of the case, the same on both
  std::string output = {};                               ///< LedgerOutput::name(), the same on both
  CaseStatus status = CaseStatus::unchecked;             ///< what became of it
  std::optional<LedgerFigures> before = {}, after = {};  ///< of the sides that there are
  std::optional<Movement> movement = {};                 ///< of what moved, where both outputs are known
  std::string unlike_outputs = {};                       ///< `bfloat16 4x3 -> float16 4x3`: between these no ulps are counted
  std::vector<std::string> changes = {};                 ///< `driver: 550.54 -> 560.28`; inputs, where they differ
  std::string problem = {};                              ///< in one line; empty: none

  /// What it is called in tables and messages.
  std::string label() const { return label_of(name, output); }
  /// Whether both sides have it and could be judged.
  bool compared() const { return status == CaseStatus::same || status == CaseStatus::moved; }
  /// Whether the later output is wrong, moved or not: elements of it, or the odds of a stochastic rounding.
  bool beyond() const { return compared() && after->verdict == "fail"; }
  /// Elements that are infinite or NaN now within what the bound admits, more than were before: what was finite is lost.
  std::uint64_t overflowed() const {
    if (movement && movement->nonfinite == 0) return 0;  // whatever an earlier version counted
    const bool more = status == CaseStatus::moved && after->nonfinite_admitted > before->nonfinite_admitted;
    return more ? after->nonfinite_admitted - before->nonfinite_admitted : 0;
  }
  /// Whether it moved, and nobody can tell whether it is right.
  bool untold() const { return status == CaseStatus::moved && after->verdict == "vacuous"; }
  /// In one sentence.
  std::string sentence() const;
};

/// Without `movement`, which wants the outputs themselves.
CaseComparison compare_cases(const LedgerOutput& before, const LedgerOutput& after);

/// `3 cases: 1 same, 2 moved; 1 is beyond the bound`; what overflowed within it is counted apart
std::string summary(const std::vector<CaseComparison>& cases);

/// The figures of what moved, two rows a case: `before` and `now`. `nonfinite_admitted` is there where it is not 0.
reports::Table figures_table(const std::vector<CaseComparison>& cases);

/// ledger_check.csv: one row for each output of a case; cells of what is not known are empty.
reports::Table comparison_table(const std::vector<CaseComparison>& cases);

}  // namespace ulpscope::verify
