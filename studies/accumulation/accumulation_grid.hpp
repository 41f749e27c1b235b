// SPDX-License-Identifier: Apache-2.0
// The rows of the accumulation study by accumulation, distribution and length.
#pragma once

#include <cstddef>
#include <vector>

#include "studies/accumulation/accumulation.hpp"

namespace ulpscope::studies {

/// Of rows and a configuration that outlive it.
class AccumulationGrid {
 public:
  /// Keeps references.
  AccumulationGrid(const std::vector<AccumulationRow>& rows, const AccumulationConfig& config) : rows_(rows), config_(config) {}

  /// What was asked for.
  const AccumulationConfig& config() const { return config_; }
  /// All rows.
  const std::vector<AccumulationRow>& rows() const { return rows_; }
  /// The row of these places in the configuration.
  const AccumulationRow& at(std::size_t accumulation, std::size_t distribution, std::size_t length) const {
    return rows_[(accumulation * config_.distributions.size() + distribution) * config_.lengths.size() + length];
  }
  /// That of the longest sums.
  const AccumulationRow& longest(std::size_t accumulation, std::size_t distribution) const {
    return at(accumulation, distribution, config_.lengths.size() - 1);
  }

 private:
  const std::vector<AccumulationRow>& rows_;
  const AccumulationConfig& config_;
};

}  // namespace ulpscope::studies
