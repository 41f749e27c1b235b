// SPDX-License-Identifier: Apache-2.0
// The kernel of engines that are more than one truncating sum.
#pragma once

#include <cstddef>

#include "emu/engine.hpp"
#include "emu/products/panels.hpp"

namespace ulpscope::emu::detail {

struct StagesPlan;

/// Continues the chains of a panel of outputs by `steps` steps, as aligned_steps() does.
using StagesRun = void(const StagesPlan& plan, const RowPanel& a, const ColumnPanel& b, std::size_t steps, float* accumulators);

/// An engine as the kernels run it.
struct StagesPlan {
  Engine engine;
  Format a, b;
  StagesRun* run;            ///< the kernel
  std::size_t products;      ///< of a step
  bool exact_products;       ///< those of two operands are floats
  bool exponents = false;    ///< panels have them
  bool wide = false;         ///< of 16 bits, not 8
  AlignedPlan aligned = {};  ///< of the truncating steps that half_steps and scaled_steps are made of
  double a_least, b_least;   ///< least exponents of the operands' formats

  std::size_t blocks = 0;  ///< that have scales of their own, in a step; 0 where the engine has no scales
  std::size_t scale_products = 1, group_products = 1;
  double scale_least = 0;
  Format scale_format = float8_e8m0fnu;
};

/// One step for one output by the reference; b and b_scales have stride panel_columns.
float stages_step(const StagesPlan& plan, const float* a, const float* b, const double* a_scales, const double* b_scales,
                  float c);

inline constexpr std::size_t most_sums = 8;  ///< of a stage

/// Any engine that stages_plan() has a plan for.
StagesRun stages_steps;

/// Engines that do nothing but add products and sums in turn or in pairs, rounded to float32 or float16 and to nearest even.
StagesRun chains_steps;

// Kernels of engines of one kind each; own_kernel() says which.

/// Two truncating steps over half of the products each, the second with the first's result, and an addition of c.
StagesRun half_steps;
/// Truncating steps whose products share scales that are powers of two.
StagesRun scaled_steps;
/// Sums of groups of small products, scaled and then aligned with c.
StagesRun group_scaled_steps;
/// One or two cut sums of products, floored and added to c.
StagesRun late_addend_steps;
/// c and a few products, added exactly.
StagesRun exact_block_steps;
/// Two or four products whose sums floats hold, or round as the engine does.
StagesRun short_steps;

/// Whether a processor that is told what becomes of subnormal results treats operands and c as the engine does.
bool flushes_as_processors(const StagesPlan& plan);

/// The kernel of the kind that an engine is of, nothing where it is of none; sets what that kernel reads of the plan.
StagesRun* own_kernel(StagesPlan& plan);

}  // namespace ulpscope::emu::detail
