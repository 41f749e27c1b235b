// SPDX-License-Identifier: Apache-2.0
// The loop over cells, and the putting together of their tables.
#include "study_files/run.hpp"

#include <algorithm>
#include <set>
#include <thread>
#include <utility>

#include "emu/error.hpp"

namespace ulpscope::study_files {
namespace {

using reports::Cell;
using reports::Table;

void use_threads(GridCell& cell, int threads) {
  requests::Fields fields = cell.study->fields();
  if (requests::Field* const field = fields.find("threads")) field->set({std::to_string(threads)});
}

/// Calls `act(cell)`; what it throws names the cell.
template <class Act>
auto within(const PlannedStudy& study, const GridCell& cell, Act act) {
  try {
    return act();
  } catch (const Error& error) {
    throw Error(where(study, cell) + error.what());
  }
}

bool has_column(const Table& table, const std::string& name) {
  return std::find(table.columns.begin(), table.columns.end(), name) != table.columns.end();
}

/// The table of one cell at the end of that of all, with what the cell is on the axes that the table has no column of.
void append(Table& all, const Table& own, const PlannedStudy& study, const GridCell& cell) {
  std::vector<std::string> columns;
  std::vector<Cell> first;
  for (std::size_t i = 0; i < study.axes.size(); ++i) {
    if (has_column(own, study.axes[i])) continue;
    columns.push_back(study.axes[i]);
    first.emplace_back(cell.on_axes[i]);
  }
  columns.insert(columns.end(), own.columns.begin(), own.columns.end());
  if (all.columns.empty()) all.columns = columns;
  if (all.columns != columns) throw Error(all.name + ": its cells have tables of different columns; make studies of them");
  for (const auto& row : own.rows) {
    all.rows.push_back(first);
    all.rows.back().insert(all.rows.back().end(), row.begin(), row.end());
  }
}

void add(StudyOutput& output, const studies::StudyResult& result, const PlannedStudy& study, const GridCell& cell) {
  const std::vector<std::string>& further = cell.kind->further_tables;
  output.tables.resize(std::max(output.tables.size(), result.tables.size()));
  for (std::size_t i = 0; i < result.tables.size(); ++i) {
    // What is kept, or in a part, may be anything.
    if (i > 0 && std::find(further.begin(), further.end(), result.tables[i].name) == further.end())
      throw Error("its cells are not what such a study gives: a table " + result.tables[i].name);
    output.tables[i].name = i == 0 ? study.name : study.name + "_" + result.tables[i].name;
    append(output.tables[i], result.tables[i], study, cell);
  }
  std::string on_axes;
  for (std::size_t i = 0; i < study.axes.size(); ++i) on_axes += ", " + study.axes[i] + " " + cell.on_axes[i];
  for (reports::Finding finding : result.findings) {
    finding.where += on_axes;
    output.findings.push_back(std::move(finding));
  }
  for (const std::string& remark : result.remarks)
    if (std::find(output.remarks.begin(), output.remarks.end(), remark) == output.remarks.end())
      output.remarks.push_back(remark);
  if (result.outcome == studies::StudyOutcome::failed || output.outcome == studies::StudyOutcome::done)
    output.outcome = result.outcome;
}

std::uint64_t count_of(const std::vector<PlannedStudy>& studies) {
  std::uint64_t count = 0;
  for (const PlannedStudy& study : studies) count += study.cells.size();
  return count;
}

}  // namespace

std::string where(const PlannedStudy& study, const GridCell& cell) {
  std::string text = "study '" + study.name + "'";
  for (std::size_t i = 0; i < study.axes.size(); ++i) text += ", " + study.axes[i] + " = " + cell.on_axes[i];
  return text + ": ";
}

void refuse_programs(const std::vector<PlannedStudy>& studies) {
  for (const PlannedStudy& study : studies)
    for (const GridCell& cell : study.cells) {
      requests::Fields fields = cell.study->fields();
      for (const char* const key : {"program", "library"})
        if (const requests::Field* const field = fields.find(key); field != nullptr && !field->words().empty())
          throw Error(where(study, cell) + "has a " + key + ", which no study file starts without --allow-programs");
    }
}

std::vector<Forecast> forecast(const std::vector<PlannedStudy>& studies, const Cells* kept, int threads) {
  const double cores = threads > 0 ? threads : std::max(1U, std::thread::hardware_concurrency());
  std::vector<Forecast> all;
  for (const PlannedStudy& study : studies) {
    const Kind& kind = find_kind(study.kind);
    Forecast forecast{
        .study = study.name, .kind = study.kind, .operation = kind.operation, .cells = study.cells.size(), .work = {}};
    for (const GridCell& cell : study.cells) {
      const studies::Work work = within(study, cell, [&] { return cell.study->work(); });
      if (kept != nullptr && kept->find(cell)) {
        ++forecast.kept;
        continue;
      }
      forecast.work.operations += work.operations;
      forecast.work.rows += work.rows;
    }
    forecast.seconds = static_cast<double>(forecast.work.operations) / (kind.per_second * cores);
    all.push_back(std::move(forecast));
  }
  return all;
}

Table forecast_table(const std::vector<Forecast>& forecasts) {
  Table table{"forecast", {"study", "kind", "cells", "kept", "operations", "operation", "rows", "seconds"}, {}};
  const auto whole = [](std::uint64_t n) { return static_cast<std::int64_t>(n); };
  for (const Forecast& f : forecasts)
    table.rows.push_back(
        {f.study, f.kind, whole(f.cells), whole(f.kept), whole(f.work.operations), f.operation, whole(f.work.rows), f.seconds});
  return table;
}

namespace {

/// What is kept of a cell, or comes of running it. `done` cells of `total` were there before.
studies::StudyResult result_of(const PlannedStudy& study, const GridCell& planned, const Cells& store, const RunConfig& config,
                               std::uint64_t done, std::uint64_t total) {
  if (std::optional<studies::StudyResult> kept = store.find(planned)) return *std::move(kept);
  GridCell cell{planned.kind, planned.on_axes, planned.study->copy()};
  use_threads(cell, config.threads);
  const studies::Progress progress = !config.progress ? studies::Progress() : [&](std::uint64_t part, std::uint64_t of) {
    config.progress(done, total, of == 0 ? 0 : static_cast<double>(part) / static_cast<double>(of));
  };
  studies::StudyResult result = within(study, cell, [&] { return cell.study->run(progress); });
  store.keep(cell, result);
  return result;
}

}  // namespace

std::vector<StudyOutput> run(const std::vector<PlannedStudy>& studies, const Cells& store, const RunConfig& config) {
  const std::uint64_t total = count_of(studies);
  std::uint64_t done = 0;
  std::vector<StudyOutput> outputs;
  for (const PlannedStudy& study : studies) {
    StudyOutput output{.name = study.name,
                       .kind = study.kind,
                       .request = study.cells[0].request(),
                       .tables = {},
                       .findings = {},
                       .remarks = {}};
    for (const GridCell& cell : study.cells) {
      const studies::StudyResult result = result_of(study, cell, store, config, done, total);
      within(study, cell, [&] { add(output, result, study, cell); });
      ++done;
      if (config.progress) config.progress(done, total, 0);
    }
    outputs.push_back(std::move(output));
  }
  return outputs;
}

void run_cells(const std::vector<PlannedStudy>& studies, const std::vector<std::string>& digests, const Cells& store,
               const RunConfig& config) {
  std::set<std::string> left(digests.begin(), digests.end());
  const std::uint64_t total = left.size();
  for (const PlannedStudy& study : studies)
    for (const GridCell& cell : study.cells) {
      if (left.erase(digest_of(cell)) == 0) continue;
      result_of(study, cell, store, config, total - left.size() - 1, total);
      if (config.progress) config.progress(total - left.size(), total, 0);
    }
}

studies::StudyOutcome outcome_of(const std::vector<StudyOutput>& outputs) {
  studies::StudyOutcome worst = studies::StudyOutcome::done;
  for (const StudyOutput& output : outputs)
    if (output.outcome == studies::StudyOutcome::failed || worst == studies::StudyOutcome::done) worst = output.outcome;
  return worst;
}

std::vector<reports::Finding> findings_of(const std::vector<StudyOutput>& outputs) {
  std::vector<reports::Finding> all;
  for (const StudyOutput& output : outputs)
    for (reports::Finding finding : output.findings) {
      finding.where = output.name + ": " + finding.where;
      all.push_back(std::move(finding));
    }
  return all;
}

}  // namespace ulpscope::study_files
