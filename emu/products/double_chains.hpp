// SPDX-License-Identifier: Apache-2.0
// Products of engines that add in float64 as processors do.
#pragma once

#include <span>
#include <vector>

#include "emu/engine_matmul.hpp"
#include "emu/matmul_parts.hpp"

namespace ulpscope::emu::detail {

/// Whether an engine is a chain of fused multiply-adds, or of pairwise sums, rounded to float64 and to nearest even.
bool adds_in_doubles(const Engine& engine);

/// The product on such an engine, before its last rounding.
void double_chains(const EngineMatmul<double>& problem, const std::vector<Part>& parts, std::span<double> d);

}  // namespace ulpscope::emu::detail
