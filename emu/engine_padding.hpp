// SPDX-License-Identifier: Apache-2.0
// Zeros that fill up the products of a sum to a whole number of steps or blocks: whether they can be left out.
#pragma once

#include "emu/engine.hpp"
#include "emu/format.hpp"

namespace ulpscope::emu {

/// Whether products of zeros, added behind those of a sum of numbers of formats `a` and `b`, leave it as it was, whatever the
/// sum. It is known of engines of one truncating sum that cut results where they cut terms, or before, and of formats whose
/// products are never subnormal; of all others the answer is no.
bool zeros_keep_sums(const Engine& engine, Format a, Format b);

}  // namespace ulpscope::emu
