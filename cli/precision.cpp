// SPDX-License-Identifier: Apache-2.0
#include "cli/precision.hpp"

#include <mutex>
#include <numeric>
#include <optional>
#include <utility>

#include "cli/output.hpp"
#include "reports/directory.hpp"
#include "studies/parallel.hpp"

namespace ulpscope::cli {
namespace {

std::uint64_t total_count(const std::vector<tensors::Tensor>& tensors) {
  return std::accumulate(tensors.begin(), tensors.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const tensors::Tensor& t) { return sum + t.count(); });
}

/// Runs `study(tensor, config)` for each tensor, in parallel, telling `progress` of elements over all of them.
template <class Study>
auto for_each_tensor(const std::vector<tensors::Tensor>& tensors, const studies::CensusConfig& config, const Progress& progress,
                     Study study) {
  using Result = decltype(study(tensors.front(), config));
  std::vector<std::optional<Result>> results(tensors.size());
  const std::uint64_t total = total_count(tensors);
  std::uint64_t done = 0;
  std::mutex one_at_a_time;
  studies::for_each_index(tensors.size(), config.threads, [&](std::size_t i) {
    studies::CensusConfig of_tensor = config;
    if (progress)
      of_tensor.progress = [&, before = std::uint64_t{0}](std::uint64_t done_of_tensor) mutable {
        const std::lock_guard lock(one_at_a_time);
        done += done_of_tensor - std::exchange(before, done_of_tensor);
        progress(done, total);
      };
    results[i] = study(tensors[i], of_tensor);
  });
  std::vector<Result> all;
  for (std::optional<Result>& result : results) all.push_back(std::move(*result));
  return all;
}

}  // namespace

std::vector<tensors::Tensor> open_all(const std::vector<std::string>& inputs, const tensors::OpenOptions& options) {
  std::vector<tensors::Tensor> all;
  for (const std::string& input : inputs)
    for (tensors::Tensor& tensor : tensors::open(input, options)) all.push_back(std::move(tensor));
  return all;
}

std::vector<studies::CensusRow> census_all(const std::vector<tensors::Tensor>& tensors, const studies::Scaling& scaling,
                                           const studies::CensusConfig& config, const Progress& progress) {
  std::vector<studies::CensusRow> rows;
  for (auto& part : for_each_tensor(tensors, config, progress,
                                    [&](const auto& tensor, const auto& c) { return studies::census(tensor, scaling, c); }))
    rows.insert(rows.end(), part.begin(), part.end());
  return rows;
}

std::vector<std::vector<studies::SweepRow>> sweep_all(const std::vector<tensors::Tensor>& tensors,
                                                      const studies::ScaleRange& range, const studies::CensusConfig& config,
                                                      const Progress& progress) {
  return for_each_tensor(tensors, config, progress,
                         [&](const auto& tensor, const auto& c) { return studies::sweep(tensor, range, c); });
}

void write_precision_report(const ReportRequest& request, const std::vector<tensors::Tensor>& tensors,
                            const studies::CensusConfig& config, const Progress& progress) {
  std::vector<Findings> findings = for_each_tensor(tensors, config, progress, [&](const auto& tensor, const auto& c) {
    Findings found{tensor, {}, {}, {}};
    studies::CensusConfig quiet = c;
    quiet.progress = nullptr;
    found.census = studies::census(tensor, request.scaling, quiet);
    found.exponents = studies::count_exponents(tensor, quiet);
    if (request.advise) found.sweep = studies::sweep(tensor, request.range, c);
    return found;
  });

  std::vector<studies::CensusRow> census;
  std::vector<studies::SweepRow> sweep;
  for (const Findings& found : findings) {
    census.insert(census.end(), found.census.begin(), found.census.end());
    sweep.insert(sweep.end(), found.sweep.begin(), found.sweep.end());
  }
  std::vector<reports::Table> tables{studies::census_table(census, request.scaling, config.options)};
  if (request.sweep_table) tables.push_back(studies::sweep_table(sweep, config.options));
  const reports::Page page = precision_page(findings, request.scaling, config.options, command_line(request.arguments));
  reports::write_report(request.directory, tables, reports::to_html(page), {request.arguments, config.seed, {}});
}

}  // namespace ulpscope::cli
