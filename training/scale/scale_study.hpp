// SPDX-License-Identifier: Apache-2.0
// Loss scalers replayed on a recorded run: the scale of every step, what is skipped, and what the gradients lose.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "emu/format.hpp"
#include "recipes/scaler.hpp"
#include "reports/page.hpp"
#include "requests/field.hpp"
#include "studies/study.hpp"
#include "training/scale/trace.hpp"

namespace ulpscope::training {

/// The members mean what their fields' help says.
struct ScaleRequest {
  /// What the fields of these names say in the help of `ulpscope scale`.
  ///@{
  std::string trace;
  std::vector<std::string> scaler{"pytorch"};
  std::string to = "fp16";
  int threads = 0;
  ///@}

  /// Names the members, for the command line, study files and the schema.
  void describe(requests::Fields& fields);
};

/// A row of scale.csv.
struct ReplayedStep {
  std::uint64_t number = 0;                  ///< of the step
  recipes::ScalerStep step;                  ///< what the scaler made of it
  bool found_inf = false;                    ///< whether something was infinite or NaN
  bool clamped = false;                      ///< whether the amax was beyond a format without infinity and NaN
  std::optional<ScaledGradients> loss = {};  ///< of recorded gradients
};

/// One scaler over the whole run.
struct Replay {
  std::string scaler;               ///< as asked for
  std::vector<ReplayedStep> steps;  ///< up to the one at which it raises
  double floor = 0, cap = 0;        ///< of its scales
};

/// The scales that are safe at a step: nothing overflows at `greatest` or below, nothing becomes zero at `least` or above.
struct SafeScales {
  std::uint64_t step = 0;
  double amax = 0;
  std::optional<double> least = {}, greatest = {};  ///< none where it is not known, or there is no gradient but zero
};

/// What the scalers did, and between which scales they should have stayed.
struct ScaleResult {
  std::vector<Replay> replays;      ///< in the order of the request
  std::vector<SafeScales> windows;  ///< by step; empty where the trace says too little
  std::uint64_t elements = 0;       ///< of gradients, in all steps
  std::string remark = {};          ///< the trace's
};

/// @throws ulpscope::Error
ScaleResult replay(const ScaleRequest& request, const studies::Progress& progress = {});

/// scale.csv: `scaler,step,scale,found_inf,skipped,next_scale`, for gradients `to_zero,subnormal,overflow,cosine` as well; and,
/// where the trace has magnitudes, scale_windows.csv: `step,amax,least_scale,greatest_scale`.
std::vector<reports::Table> scale_tables(const ScaleResult& result);

/// A sentence for each scaler.
std::vector<reports::Finding> scale_findings(const ScaleResult& result);

/// From scale_tables(), or tables with more columns in front: the scales over the steps, and behind them those that are safe.
std::vector<reports::Figure> scale_figures(const std::vector<reports::Table>& tables);

/// Findings, the figure, and what became of each scaler.
reports::Page scale_page(const ScaleResult& result, const ScaleRequest& request);

/// scale.csv and, where there are magnitudes, scale_windows.csv. @throws ulpscope::Error
studies::StudyResult run(const ScaleRequest& request, const studies::Progress& progress);
/// What it will cost, without running it. @throws ulpscope::Error
studies::Work work_of(const ScaleRequest& request);

/// All scalers with their parameters and sources, or the parameters of one. @throws ulpscope::Error naming the nearest
reports::Table scalers_table(const std::string& name);

}  // namespace ulpscope::training
