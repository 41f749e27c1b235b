// SPDX-License-Identifier: Apache-2.0
// The kernel of engines that are more than one truncating sum.
#pragma once

#include <cstddef>

#include "emu/engine.hpp"
#include "emu/products/panels.hpp"

namespace ulpscope::emu::detail {

/// An engine as the kernel runs it.
struct StagesPlan {
  Engine engine;
  Format a, b;
  std::size_t products;     ///< of a step
  bool float_chains;        ///< nothing but roundings to float32, to nearest even
  double a_least, b_least;  ///< least exponents of the operands' formats

  std::size_t blocks = 0;  ///< that have scales of their own, in a step; 0 where the engine has no scales
  std::size_t scale_products = 1, group_products = 1;
  double scale_least = 0;
  Format scale_format = float8_e8m0fnu;
};

/// One step for one output by the reference; b and b_scales have stride panel_columns.
float stages_step(const StagesPlan& plan, const float* a, const float* b, const double* a_scales, const double* b_scales,
                  float c);

inline constexpr std::size_t most_sums = 8;  ///< of a stage

/// The same for plans with float_chains, faster.
void chains_steps(const StagesPlan& plan, const RowPanel& a, const ColumnPanel& b, std::size_t steps, float* accumulators);

/// Continues the chains of a panel of outputs, as aligned_steps() does.
void stages_steps(const StagesPlan& plan, const RowPanel& a, const ColumnPanel& b, std::size_t steps, float* accumulators);

}  // namespace ulpscope::emu::detail
