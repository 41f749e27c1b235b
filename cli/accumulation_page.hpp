// SPDX-License-Identifier: Apache-2.0
// From the rows of the accumulation study to its page: the figure, and sentences that say what is seen.
#pragma once

#include <string>
#include <vector>

#include "studies/accumulation/accumulation.hpp"

namespace ulpscope::cli {

/// The page as HTML. `rows` are those of `config`; `arguments` make them again.
std::string accumulation_page(const std::vector<studies::AccumulationRow>& rows, const studies::AccumulationConfig& config,
                              const std::vector<std::string>& arguments);

/// `sm_90 on float8_e4m3fn, promoted every 128`: an engine and its formats in prose; a float32 accumulator goes without saying.
std::string words_of(const studies::Accumulation& accumulation);

/// The rows as the study lays them out.
class AccumulationGrid {
 public:
  AccumulationGrid(const std::vector<studies::AccumulationRow>& rows, const studies::AccumulationConfig& config)
      : rows_(rows), config_(config) {}

  const studies::AccumulationConfig& config() const { return config_; }
  const std::vector<studies::AccumulationRow>& rows() const { return rows_; }
  const studies::AccumulationRow& at(std::size_t accumulation, std::size_t distribution, std::size_t length) const {
    return rows_[(accumulation * config_.distributions.size() + distribution) * config_.lengths.size() + length];
  }
  const studies::AccumulationRow& longest(std::size_t accumulation, std::size_t distribution) const {
    return at(accumulation, distribution, config_.lengths.size() - 1);
  }

 private:
  const std::vector<studies::AccumulationRow>& rows_;
  const studies::AccumulationConfig& config_;
};

/// What is seen in the rows, a sentence or a few each.
std::vector<std::string> accumulation_findings(const AccumulationGrid& grid);

}  // namespace ulpscope::cli
