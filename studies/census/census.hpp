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
#include "studies/census/partial_sums.hpp"
#include "studies/census/scaling.hpp"
#include "studies/onnx/value_nodes.hpp"
#include "tensors/tensor.hpp"

namespace ulpscope::studies {

/// What is asked of a census.
struct CensusConfig {
  std::vector<emu::Format> formats;                      ///< each gives a row
  emu::RoundingOptions options;                          ///< how elements are rounded
  std::uint64_t seed = 0;                                ///< key of stochastic rounding; the counter is the element's index
  int threads = 0;                                       ///< 0: all
  std::function<void(std::uint64_t elements)> progress;  ///< told of elements done, by one thread at a time
  std::uint64_t most_blocks = std::uint64_t{1} << 23;    ///< whose scales are held at once, for each format; changes no bit
};

/// Elements over which sums are formed before these are added up: changing this changes last bits. Parts of tensors begin at a
/// multiple of it.
inline constexpr std::uint64_t chunk_elements = 1 << 16;

/// One format and scale under which a tensor is rounded.
struct Job {
  emu::Format format;  ///< that elements are rounded to
  ScaleMap scales;     ///< of the elements, before and after
};

/// Elements by floor(log2|x|), for every exponent of a double, subnormals included.
struct ExponentCounts {
  static constexpr int least = -1074;                                                ///< the exponent of counts[0]
  std::vector<std::uint64_t> counts = std::vector<std::uint64_t>(1023 - least + 1);  ///< finite nonzero elements
  std::uint64_t zeros = 0, infinite = 0, nan = 0;                                    ///< elements without an exponent

  /// Adds those of other elements.
  void merge(const ExponentCounts& other);
};

/// exponents.csv of one tensor, or of a group: a row for each binade that has an element. `exponent` is floor(log2|x|).
reports::Table exponent_table(const std::string& tensor, const ExponentCounts& counts);

/// Rounds the tensor once for each job, in one read of the tensor. The result depends on neither threads nor machine.
std::vector<ErrorSums> run_jobs(const tensors::Tensor& tensor, const std::vector<Job>& jobs, const CensusConfig& config);
/// The same of a part of the tensor.
std::vector<PartialSums> run_jobs(const tensors::Tensor& tensor, const std::vector<Job>& jobs, const CensusConfig& config,
                                  const ElementRange& part);

/// What the formats of a census do to a part of a tensor.
struct ScaledSums {
  std::vector<PartialSums> sums;      ///< one each format
  std::vector<double> tensor_scales;  ///< one each format: the scale of the whole tensor, where the rule has one; else 1
};

/// Finds the scales and rounds under them, piece by piece where there are more than `config.most_blocks`.
ScaledSums run_scaled(const tensors::Tensor& tensor, const Scaling& scaling, const CensusConfig& config,
                      const ElementRange& part);

/// Counts the exponents of a tensor in one read.
ExponentCounts count_exponents(const tensors::Tensor& tensor, const CensusConfig& config);
/// The same of a part of the tensor.
ExponentCounts count_exponents(const tensors::Tensor& tensor, const CensusConfig& config, const ElementRange& part);

/// What one format does to one tensor.
struct CensusRow {
  std::string tensor;  ///< its label
  emu::Format format;  ///< the format
  ErrorSums sums;      ///< counts and errors
};

/// A row for each format of `config`, in one read of the tensor.
std::vector<CensusRow> census(const tensors::Tensor& tensor, const Scaling& scaling, const CensusConfig& config);

/// The columns shared by census.csv and sweep.csv, from `count` on.
std::vector<std::string> statistic_columns();
/// Their cells. Where a finite input became infinite or NaN the errors are inf; a statistic over nothing is nan.
std::vector<reports::Cell> statistic_cells(const ErrorSums& sums);

/// census.csv; with columns for the `nodes` of models, where it is given these.
reports::Table census_table(const std::vector<CensusRow>& rows, const Scaling& scaling, const emu::RoundingOptions& options,
                            const ValueNodes* nodes = nullptr);

}  // namespace ulpscope::studies
