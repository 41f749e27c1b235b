// SPDX-License-Identifier: Apache-2.0
// What a report says of tensors, from what was measured of one after the other. Of 100,000 tensors it keeps the
// measurements of those alone that its page shows.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "studies/census/census_page.hpp"
#include "studies/census/groups.hpp"
#include "studies/census/judged_tensors.hpp"
#include "studies/census/node_causes.hpp"

namespace ulpscope::studies {

/// Takes rows of a table, of `census`, `exponents`, `loss_scales` or `findings`: those that follow the ones before.
using TakeRows = std::function<void(const reports::Table&)>;

/// Its tables but `sweep`, which is as many times larger as there are scales, and its page.
class CensusReport {
 public:
  /// Tensors that a page has room for: enough for the checkpoints that are no mixtures of experts.
  static constexpr std::size_t most_shown = 1000;

  /// What is said, of which groups beside the tensors, and where rows go: none of each table at first.
  CensusReport(CensusPageConfig config, const std::vector<Group>& groups, TakeRows take);

  /// The next tensor.
  void add(TensorResults results);
  /// The groups, behind the last tensor; none where there is no tensor.
  void add_groups();
  /// Their rows of a sweep, one group after the other.
  const std::vector<std::vector<SweepRow>>& sweeps_of_groups() const noexcept { return rows_of_groups_.sweep(); }

  /// Without the command that reproduces it.
  reports::Page page() const;

 private:
  /// The fate, what is lost at the best scale or is subnormal there, and what is lost as given, in percent.
  using Badness = std::tuple<TensorFate, double, double>;

  void give(const TensorResults& results, const std::vector<Advice>& scales,
            const std::vector<reports::Finding>& findings) const;
  void keep(const Badness& badness, TensorResults results);

  CensusPageConfig config_;
  NodeCauses causes_;
  std::vector<Group> groups_;
  GroupRows rows_of_groups_;
  TakeRows take_;
  std::vector<tensors::Tensor> tensors_;  ///< without their elements
  std::vector<TensorResults> group_results_;
  FateCounts counts_;
  std::map<std::size_t, TensorResults> shown_;            ///< by place
  std::set<std::tuple<Badness, std::size_t>> least_bad_;  ///< of those: how bad, and how far from the first the place is
};

}  // namespace ulpscope::studies
