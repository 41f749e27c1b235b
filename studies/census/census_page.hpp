// SPDX-License-Identifier: Apache-2.0
// The page of census and sweep: a heat map of tensors by formats, then what a scale mends apart from what it does not, then
// each tensor.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "reports/page.hpp"
#include "studies/census/census_findings.hpp"
#include "studies/study.hpp"
#include "tensors/tensor.hpp"

namespace ulpscope::studies {

/// What is known about one tensor.
struct TensorResults {
  tensors::Tensor tensor;         ///< itself
  std::vector<CensusRow> census;  ///< a row each format
  std::vector<SweepRow> sweep;    ///< may be empty: then no scale is advised
  ExponentCounts exponents;       ///< where its elements are
  std::vector<std::string> causes = {};  ///< for each row of `census`, as NodeCauses has them; none where it was not asked

  /// That of one of the rows of `census`.
  std::string cause_of(const CensusRow& row) const {
    const auto at = static_cast<std::size_t>(&row - census.data());
    return at < causes.size() ? causes[at] : std::string();
  }
};

/// What the page says of how the census was taken.
struct CensusPageConfig {
  Scaling scaling;               ///< the scale rule
  emu::RoundingOptions options;  ///< the rounding
  std::shared_ptr<const ValueNodes> nodes = nullptr;  ///< of models that are computed; null where none is
};

/// Without the command that reproduces it.
reports::Page census_page(const std::vector<TensorResults>& results, const CensusPageConfig& config);

/// The parts of a tensor's name: its file, its layer (the name up to the first part that ends in a digit), and the rest.
struct NameParts {
  std::string file, layer, leaf;  ///< each may be empty
};
/// Those of a tensor's name.
NameParts parts_of(const tensors::Tensor& tensor);

}  // namespace ulpscope::studies
