// SPDX-License-Identifier: Apache-2.0
// What a matrix product would be without any rounding but the last: the reference that engines are measured against.
#pragma once

#include <span>

#include "emu/engine_matmul.hpp"

namespace ulpscope::products {

/// D of `problem` on no engine: the exact value, rounded once to `problem.out`, to nearest even. How K is cut (`promote`,
/// `split_k`) plays no part. Scales, alpha and beta are applied to exact sums, rounded to float64 before they meet them;
/// without them no such rounding takes place.
/// @throws Error at the first element that is not a value of its format.
void exact_product(const emu::EngineMatmul<float>& problem, std::span<float> d);
void exact_product(const emu::EngineMatmul<double>& problem, std::span<double> d);

}  // namespace ulpscope::products
