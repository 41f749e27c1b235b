// SPDX-License-Identifier: Apache-2.0
// Where things break: the functions of a network as their inputs grow and shrink by powers of two, the arguments at which
// single operations give up, and sums that stop growing; in each format, under each rounding. docs/studies.md has an example.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reports/page.hpp"
#include "requests/field.hpp"
#include "requests/parts.hpp"
#include "studies/breaks/curves.hpp"
#include "studies/breaks/limits.hpp"
#include "studies/breaks/sums.hpp"
#include "studies/study.hpp"

namespace ulpscope::studies {

/// The names of all rounding modes.
std::vector<std::string> standard_roundings();

/// The members mean what their fields' help says.
struct BreaksRequest {
  /// What the fields of these names say; `ulpscope schema` has them.
  ///@{
  requests::FormatList formats;
  std::vector<std::string> function = scaled_function_names(), rounding = standard_roundings();
  std::string policy = "nonsaturating", log2_scale = "-40:40";
  std::uint64_t vectors = 2, elements = 64;
  SumConfig sums;
  std::uint64_t seed = 0;
  int threads = 0;
  ///@}

  /// Names the members, for the command line, study files and the schema.
  void describe(requests::Fields& fields);
};

/// What was measured.
struct BreaksResult {
  std::vector<Curve> curves;     ///< by function, format, arithmetic (the format, then float32), rounding
  std::vector<LimitRow> limits;  ///< by format, rounding
  std::vector<SumRow> sums;      ///< the same
  emu::Policy policy{};          ///< of every rounding
};

/// @throws ulpscope::Error
BreaksResult measure(const BreaksRequest& request, const Progress& progress = {});

/// breaks.csv: a row for each curve; breaks_curves.csv: for each of its points; breaks_limits.csv, breaks_sums.csv.
std::vector<reports::Table> breaks_tables(const BreaksResult& result);

/// What breaks to nearest even, and what is left of it otherwise; the first of them answers the study's question.
std::vector<reports::Finding> breaks_findings(const BreaksResult& result);

/// From breaks_tables(), or tables with more columns in front: where each function is right and what is seen beyond, and how
/// much of each sum is reached, to nearest even.
std::vector<reports::Figure> breaks_figures(const std::vector<reports::Table>& tables);

/// Its tables, findings and remarks. @throws ulpscope::Error
StudyResult run(const BreaksRequest& request, const Progress& progress);
/// What it will cost, without running it. @throws ulpscope::Error
Work work_of(const BreaksRequest& request);

}  // namespace ulpscope::studies
