// SPDX-License-Identifier: Apache-2.0
// Exact sums by bounds: chains of doubles rounded down and up enclose every sum, and most decide how it is rounded.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "emu/engine_matmul.hpp"
#include "emu/matmul_parts.hpp"

namespace ulpscope::emu::detail {

/// d = the exact sums of a part's products, begun with C where `from_c`, each rounded once to the engine's accumulator. Returns
/// where in d the bounds do not decide, ascending: there stands something. Those of rows and columns with infinities or NaN
/// and sums that come to zero are among them.
template <class Float>
std::vector<std::size_t> exact_sums(const EngineMatmul<Float>& problem, const Part& part, bool from_c, std::span<Float> d);

}  // namespace ulpscope::emu::detail
