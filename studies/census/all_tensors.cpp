// SPDX-License-Identifier: Apache-2.0
// Census and sweep of many tensors.
#include "studies/census/all_tensors.hpp"

namespace ulpscope::studies {

std::vector<CensusRow> census_all(const std::vector<tensors::Tensor>& tensors, const Scaling& scaling,
                                  const CensusConfig& config, const Progress& progress) {
  std::vector<CensusRow> rows;
  for (auto& part :
       for_each_tensor(tensors, config, progress, [&](const auto&tensor, const auto&c) { return census(tensor, scaling, c); }))
    rows.insert(rows.end(), part.begin(), part.end());
  return rows;
}

void sweep_each(const std::vector<tensors::Tensor>& tensors, const std::vector<Group>& groups, const ScaleRange& range,
                const CensusConfig& config, const Progress& progress, const std::function<bool(std::vector<SweepRow>)>& take) {
  GroupRows of_groups(groups);
  bool goes_on = true;
  for_each_tensor(
      tensors, config, progress, [&](const auto& tensor, const auto& c) { return sweep(tensor, range, c); },
      [&](std::size_t i, std::vector<SweepRow> rows) {
        of_groups.add(i, rows);
        return goes_on = take(std::move(rows));
      });
  for (const std::vector<SweepRow>& rows : of_groups.sweep())
    if (goes_on) goes_on = take(rows);
}

std::vector<std::vector<SweepRow>> sweep_all(const std::vector<tensors::Tensor>& tensors, const std::vector<Group>& groups,
                                             const ScaleRange& range, const CensusConfig& config, const Progress& progress) {
  std::vector<std::vector<SweepRow>> all;
  sweep_each(tensors, groups, range, config, progress, [&](std::vector<SweepRow> rows) {
    all.push_back(std::move(rows));
    return true;
  });
  return all;
}

}  // namespace ulpscope::studies
