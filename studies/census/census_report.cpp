// SPDX-License-Identifier: Apache-2.0
// Tables as they grow, and the tensors that lose most.
#include "studies/census/census_report.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace ulpscope::studies {
namespace {

/// Of one tensor: the findings of its formats, each followed by that of its scale where it does not fit.
std::vector<reports::Finding> findings_of(const TensorResults& results, const std::vector<Judged>& judged,
                                          const std::vector<Advice>& scales, const Scaling& scaling) {
  std::vector<reports::Finding> findings;
  for (const Judged& of_format : judged) {
    findings.push_back(finding_of(*of_format.row, scaling, results.tensor.label, results.cause_of(*of_format.row)));
    const auto scale = std::ranges::find(scales, of_format.row->format, &Advice::format);
    if (of_format.fate != TensorFate::fits && scale != scales.end()) findings.push_back(finding_of(*scale));
  }
  return findings;
}

}  // namespace

CensusReport::CensusReport(CensusPageConfig config, const std::vector<Group>& groups, TakeRows take)
    : config_(std::move(config)),
      causes_(config_.nodes, config_.scaling, config_.options),
      groups_(groups),
      rows_of_groups_(groups),
      take_(std::move(take)) {
  give({}, {}, {});
}

void CensusReport::give(const TensorResults& results, const std::vector<Advice>& scales,
                        const std::vector<reports::Finding>& findings) const {
  take_(census_table(results.census, config_.scaling, config_.options, config_.nodes.get()));
  take_(exponent_table(results.tensor.label, results.exponents));
  take_(loss_scale_table(scales));
  take_(reports::findings_table(findings));
}

void CensusReport::add(TensorResults results) {
  results.causes = causes_.of(results.census);
  const std::vector<Judged> judged = judge(results.census, results.sweep);
  const std::vector<Advice> scales = advise(results.sweep);
  give(results, scales, findings_of(results, judged, scales, config_.scaling));
  rows_of_groups_.add(counts_.tensors, results.census);
  rows_of_groups_.add(counts_.tensors, results.sweep);
  rows_of_groups_.add(counts_.tensors, results.exponents);
  if (!groups_.empty()) tensors_.push_back(results.tensor), tensors_.back().source = nullptr;
  Badness worst{TensorFate::fits, 0, 0};
  for (const Judged& of_format : judged) {
    const ErrorSums& best = of_format.sums();
    const double subnormal = best.count() == 0 ? 0 : percent_of(best, emu::Outcome::subnormal);
    worst =
        std::max(worst, Badness{of_format.fate, of_format.lost() != 0 ? lost_percent(best, of_format.row->format) : subnormal,
                                lost_percent(of_format.row->sums, of_format.row->format)});
  }
  counts_.add(judged);
  keep(worst, std::move(results));
}

/// Of equally bad ones the first are kept.
void CensusReport::keep(const Badness& badness, TensorResults results) {
  const std::size_t place = counts_.tensors - 1;
  least_bad_.emplace(badness, std::numeric_limits<std::size_t>::max() - place);
  shown_.emplace(place, std::move(results));
  if (shown_.size() <= most_shown) return;
  shown_.erase(std::numeric_limits<std::size_t>::max() - std::get<1>(*least_bad_.begin()));
  least_bad_.erase(least_bad_.begin());
}

void CensusReport::add_groups() {
  const std::size_t tensors = tensors_.size();
  const std::vector<tensors::Tensor> all = with_groups(std::move(tensors_), groups_);
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    TensorResults group{.tensor = all[tensors + i],
                        .census = rows_of_groups_.census()[i],
                        .sweep = rows_of_groups_.sweep()[i],
                        .exponents = rows_of_groups_.exponents()[i]};
    const std::vector<Advice> scales = advise(group.sweep);
    std::vector<reports::Finding> findings;
    for (const Advice& scale : scales) findings.push_back(finding_of(scale));
    give(group, scales, findings);
    group_results_.push_back(std::move(group));
  }
}

reports::Page CensusReport::page() const {
  std::vector<TensorResults> results;
  for (const auto& [place, found] : shown_) results.push_back(found);
  return census_page(JudgedTensors(results, config_), counts_, JudgedTensors(group_results_, config_));
}

}  // namespace ulpscope::studies
