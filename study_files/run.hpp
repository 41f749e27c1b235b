// SPDX-License-Identifier: Apache-2.0
// Runs the studies of a file, cell by cell, and puts their results together as one report.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "reports/finding.hpp"
#include "reports/page.hpp"
#include "reports/table.hpp"
#include "studies/study.hpp"
#include "study_files/cells.hpp"
#include "study_files/plan.hpp"

namespace ulpscope::study_files {

/// What a run will do.
struct Forecast {
  std::string study, kind, operation;
  std::uint64_t cells = 0, kept = 0;  ///< kept: of a run that was ended, with --resume
  studies::Work work;                 ///< of the cells that are not kept
  double seconds = 0;                 ///< about, on as many threads as there are
};

/// @throws ulpscope::Error naming study and cell where one would start a program or load a library that the file names
void refuse_programs(const std::vector<PlannedStudy>& studies);

/// Opens all inputs, so that what is wrong with them is told before the work. @throws ulpscope::Error naming study and cell
std::vector<Forecast> forecast(const std::vector<PlannedStudy>& studies, const Cells* kept, int threads);

/// study, kind, cells, kept, operations, rows, seconds.
reports::Table forecast_table(const std::vector<Forecast>& forecasts);

/// All that one study of the file gave.
struct StudyOutput {
  std::string name, kind;
  std::string request;  ///< of its first cell, as TOML
  std::vector<reports::Table>
      tables;  ///< NAME and NAME_TABLE; columns of the axes first where the table has none of their names
  std::vector<reports::Finding> findings;
  std::vector<std::string> remarks;  ///< each once
  studies::StudyOutcome outcome = studies::StudyOutcome::done;
};

struct RunConfig {
  int threads = 0;  ///< 0: all; no result depends on it
  /// Told of cells that are done, of all, and of the share of the present one that is, by one thread at a time.
  std::function<void(std::uint64_t cells, std::uint64_t of, double share)> progress = {};
};

/// @throws ulpscope::Error naming study and cell; the cells done by then are kept in `store`
std::vector<StudyOutput> run(const std::vector<PlannedStudy>& studies, const Cells& store, const RunConfig& config);

/// Runs the cells of these digests and keeps them, no more. @throws ulpscope::Error as run()
void run_cells(const std::vector<PlannedStudy>& studies, const std::vector<std::string>& digests, const Cells& store,
               const RunConfig& config);

/// `study 'formats', seed = 1: `
std::string where(const PlannedStudy& study, const GridCell& cell);

/// The worst: failed before vacuous before done.
studies::StudyOutcome outcome_of(const std::vector<StudyOutput>& outputs);

/// All findings, with the study's name in front of where they are.
std::vector<reports::Finding> findings_of(const std::vector<StudyOutput>& outputs);

/// The page of the report: for each study its findings, figures, request and tables. `command` reproduces it.
reports::Page page_of(const std::string& title, const std::vector<StudyOutput>& outputs, const std::string& command);

}  // namespace ulpscope::study_files
