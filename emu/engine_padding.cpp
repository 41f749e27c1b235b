// SPDX-License-Identifier: Apache-2.0
// What a step of zeros does to a sum.
#include "emu/engine_padding.hpp"

#include "emu/products/plan.hpp"

namespace ulpscope::emu {

// A sum of zeros and c is c where it has no bits that the alignment to its own exponent cuts. Results have at most
// result_fraction_bits of them, and are multiples of the least unit to which any step cuts; zero has one sign.
bool zeros_keep_sums(const Engine& engine, Format a, Format b) {
  const auto plan = detail::aligned_plan(engine, a, b);
  return plan && !plan->half_results && plan->result_fraction_bits <= plan->fraction_bits;
}

}  // namespace ulpscope::emu
