// SPDX-License-Identifier: Apache-2.0
// What each format does to a tensor: one class per element, the errors, and where the magnitudes lie.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "emu/rounding.hpp"
#include "reports/table.hpp"
#include "studies/census/error_sums.hpp"
#include "studies/census/scaling.hpp"
#include "tensors/tensor.hpp"

namespace ulpscope::studies {

struct CensusConfig {
  std::vector<emu::Format> formats;
  emu::RoundingOptions options;
  std::uint64_t seed = 0;                                ///< key of stochastic rounding; the counter is the element's index
  int threads = 0;                                       ///< 0: all
  std::function<void(std::uint64_t elements)> progress;  ///< told of elements done, by one thread at a time
};

/// One format and scale under which a tensor is rounded.
struct Job {
  emu::Format format;
  ScaleMap scales;
};

/// Elements by floor(log2|x|), for every exponent of a double, subnormals included.
struct ExponentCounts {
  static constexpr int least = -1074;
  std::vector<std::uint64_t> counts = std::vector<std::uint64_t>(1023 - least + 1);  ///< finite nonzero elements
  std::uint64_t zeros = 0, infinite = 0, nan = 0;
};

/// Rounds the tensor once for each job, in one read of the tensor. The result depends on neither threads nor machine.
std::vector<ErrorSums> run_jobs(const tensors::Tensor& tensor, const std::vector<Job>& jobs, const CensusConfig& config);

ExponentCounts count_exponents(const tensors::Tensor& tensor, const CensusConfig& config);

struct CensusRow {
  std::string tensor;
  emu::Format format;
  ErrorSums sums;
};

std::vector<CensusRow> census(const tensors::Tensor& tensor, const Scaling& scaling, const CensusConfig& config);

/// The columns shared by census.csv and sweep.csv, from `count` on.
std::vector<std::string> statistic_columns();
/// Their cells. Where a finite input became infinite or NaN the errors are inf; a statistic over nothing is nan.
std::vector<reports::Cell> statistic_cells(const ErrorSums& sums);

/// census.csv.
reports::Table census_table(const std::vector<CensusRow>& rows, const Scaling& scaling, const emu::RoundingOptions& options);

}  // namespace ulpscope::studies
