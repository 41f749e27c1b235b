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

std::vector<std::vector<SweepRow>> sweep_all(const std::vector<tensors::Tensor>& tensors, const ScaleRange& range,
                                             const CensusConfig& config, const Progress& progress) {
  return for_each_tensor(tensors, config, progress, [&](const auto& tensor, const auto& c) { return sweep(tensor, range, c); });
}

}  // namespace ulpscope::studies
