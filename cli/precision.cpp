// SPDX-License-Identifier: Apache-2.0
// Opens inputs and runs census and sweep together for a report.
#include "cli/precision.hpp"

#include <optional>
#include <utility>

#include "cli/output.hpp"
#include "emu/visible.hpp"
#include "reports/page_html.hpp"
#include "studies/cast/dequantized.hpp"
#include "studies/census/census_findings.hpp"
#include "studies/census/census_page.hpp"

namespace ulpscope::cli {
std::vector<tensors::Tensor> opened(const studies::PrecisionRequest& request) {
  tensors::Inputs inputs = request.open();
  for (const std::string& line : tensors::left_out(inputs)) remark(emu::visible(line));
  std::vector<tensors::Tensor> all = inputs.kept;
  all.insert(all.end(), inputs.integers.begin(), inputs.integers.end());
  if (const auto codes = studies::dequantized(all).codes; !codes.empty())
    remark(tensors::named_words(codes, "tensor") + ": codes under scales, counted as they are, without these");
  return std::move(inputs.kept);
}

std::vector<tensors::Tensor> open_all(const std::vector<std::string>& inputs, const tensors::OpenOptions& options) {
  std::vector<tensors::Tensor> all;
  for (const std::string& input : inputs)
    for (tensors::Tensor& tensor : tensors::open(input, options)) all.push_back(std::move(tensor));
  return all;
}

void write_precision_report(const ReportRequest& request, const std::vector<tensors::Tensor>& tensors,
                            const studies::CensusConfig& config, const Progress& progress) {
  const std::optional<studies::ScaleRange> range = request.advise ? std::optional(request.range) : std::nullopt;
  const auto results = studies::gather(tensors, request.scaling, range, config, progress);
  std::vector<studies::CensusRow> census;
  std::vector<std::vector<studies::SweepRow>> sweeps;
  for (const studies::TensorResults& found : results) {
    census.insert(census.end(), found.census.begin(), found.census.end());
    sweeps.push_back(found.sweep);
  }
  census = studies::with_groups(std::move(census), request.groups, tensors.size());
  std::vector<reports::Finding> findings = studies::census_findings(results, request.scaling);
  std::vector<studies::SweepRow> sweep;
  if (range) sweeps = studies::with_groups(std::move(sweeps), request.groups);
  for (std::size_t i = 0; i < sweeps.size(); ++i) {
    sweep.insert(sweep.end(), sweeps[i].begin(), sweeps[i].end());
    if (i < results.size()) continue;
    for (const studies::Advice& advice : studies::advise(sweeps[i]))
      findings.push_back(studies::finding_of(sweeps[i].front().tensor, advice));
  }
  std::vector<reports::Table> tables{studies::census_table(census, request.scaling, config.options)};
  if (request.sweep_table) tables.push_back(studies::sweep_table(sweep, config.options));
  tables.push_back(reports::findings_table(findings));
  reports::Page page = studies::census_page(results, {request.scaling, config.options});
  page.command = command_line(request.arguments);
  reports::write_page_report(request.directory, tables, page, {request.arguments, config.seed, {}});
}

}  // namespace ulpscope::cli
