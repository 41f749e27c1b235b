// SPDX-License-Identifier: Apache-2.0
// How near errors come to their bounds: for matrix products on emulated engines, |computed - exact| as a part of what
// emu/engine_bound.hpp allows, element by element, for the deterministic bound and for the probabilistic one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "reports/table.hpp"
#include "studies/accumulation/accumulation.hpp"

namespace ulpscope::verify {

/// What is measured: every accumulation with every distribution and length.
struct TightnessConfig {
  std::vector<studies::Accumulation> accumulations = studies::standard_accumulations();  ///< the products to form
  std::vector<std::size_t> lengths = studies::parse_lengths("64:65536");                 ///< of the sums: K
  /// Synthetic tensors without their shape. A is one of rows x K under `seed`, B one of K x columns under `seed` + 1.
  /// `cancelling`: N(0,1) whose second half takes back all that the first adds except the last product.
  std::vector<std::string> distributions{"normal:0,1", "studentt:3", "uniform:0,1", "lognormal:0,1"};
  studies::OutputShape shape;  ///< of an output
  std::uint64_t seed = 0;      ///< key of A; B has the next
  double false_alarm = 1e-6;   ///< of a whole output, under the model of emu::probable
  int threads = 0;             ///< 0: all; results do not depend on it
  std::function<void(std::uint64_t done, std::uint64_t total)> progress = {};  ///< of products; from one thread at a time
};

/// Over the elements of one output. The q-quantile of n values is the ceil(q n)-th smallest.
struct Shares {
  double median = 0, q90 = 0, q99 = 0, max = 0;  ///< quantiles of |error| as a share of a bound
};

/// How near the errors of one output come to its bounds.
struct TightnessRow {
  studies::Accumulation accumulation;          ///< what was computed
  std::string distribution;                    ///< of A and B, before they were rounded
  std::size_t length = 0;                      ///< K
  std::uint64_t elements = 0;                  ///< whose result is finite
  std::uint64_t nonfinite = 0;                 ///< the others, which no share counts
  bool bounded = false;                        ///< whether there is a bound; the numbers below are NaN where there is none
  double relative = 0, probable_relative = 0;  ///< factors of the sum of |a||b|: of the bound, and of the probable one
  Shares observed_over_bound, observed_over_probable;  ///< over finite elements
};

/// Rows by accumulation, distribution and length, as in `config`. @throws Error for what the distributions or promotions ask.
std::vector<TightnessRow> tightness(const TightnessConfig& config);

/// tightness.csv.
reports::Table tightness_table(const std::vector<TightnessRow>& rows);

}  // namespace ulpscope::verify
