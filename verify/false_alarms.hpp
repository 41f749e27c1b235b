// SPDX-License-Identifier: Apache-2.0
// Does `verify` ever reject a correct kernel? Correct products by many arithmetics, orders, splits and distributions, each
// judged by the bound of its own arithmetic.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "reports/table.hpp"

namespace ulpscope::verify {

/// How false alarms are looked for.
struct FalseAlarmConfig {
  std::size_t trials = 100000;  ///< products, over all arithmetics
  double false_alarm = 0.01;    ///< stated for the probabilistic bound of a product
  std::uint64_t seed = 0;       ///< key of operands and arithmetics
  int threads = 0;              ///< 0: all; results do not depend on it
  /// Told of products done and of all.
  std::function<void(std::uint64_t done, std::uint64_t total)> progress = {};
};

/// Products of one arithmetic under one bound.
struct FalseAlarmRow {
  std::string arithmetic;                    ///< engine, or an order of IEEE operations
  std::string bound;                         ///< `engine`: of that engine; `declared`: any order in the accumulator's format
  std::string in, acc;                       ///< formats of operands and accumulator
  std::uint64_t products = 0, elements = 0;  ///< judged, and their elements
  std::uint64_t refused = 0;                 ///< products whose bound is worth nothing, which no other column counts
  std::uint64_t rejected = 0;                ///< products that the deterministic bound rejects
  std::uint64_t rejected_by_chance = 0;      ///< that the probabilistic one rejects
  double max_of_bound = 0;                   ///< the nearest that an element comes to its bound
};

/// Each engine mode in turn, and sums of float32 products in random trees, sequences and blocks; K from 1 to 512, promoted,
/// split, from normal to cancelling and subnormal operands.
std::vector<FalseAlarmRow> false_alarms(const FalseAlarmConfig& config);

/// false_alarms.csv.
reports::Table false_alarm_table(const FalseAlarmConfig& config, const std::vector<FalseAlarmRow>& rows);

}  // namespace ulpscope::verify
