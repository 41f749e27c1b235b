// SPDX-License-Identifier: Apache-2.0
// Inner products that are made of products of narrower numbers, worked out a second time in exact integers and by MPFR, sharing
// nothing with emu. Written from CUTLASS (mma_tensor_op_fast_f32.h, numeric_conversion.h), XLA (dot_algorithms.cc), ozIMMU and
// the papers arXiv 1904.06376, 2306.11975 and 2504.08009.
#pragma once

#include <gmpxx.h>

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "tests/oracle/engine_oracle.hpp"
#include "tests/oracle/exact_value.hpp"

namespace ulpscope::oracle {

/// What multiplies parts: c + the sum of a[k] * b[k].
using PartsUnit = std::function<std::uint64_t(const InnerProduct&)>;

/// The parts of a float32 number as codes of `part`: each the nearest even to what is left, or the first cut off and the second
/// rounded to nearest, ties away from zero, as CUTLASS does for tf32.
std::vector<std::uint64_t> parts_of(Format part, int count, bool cut_first, std::uint64_t code);

/// float32 codes of a and b. `step`: products that the unit takes together, in which zeros stand for what is missing.
///@{
std::uint64_t three_tf32(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b, const PartsUnit& unit,
                         std::size_t step, std::size_t block);
/// 3, 6 or 9 products.
std::uint64_t bf16_products(int products, std::span<const std::uint64_t> a, std::span<const std::uint64_t> b,
                            const PartsUnit& unit, std::size_t step, std::size_t block);
///@}

/// Finite doubles.
///@{
double ozaki1(std::span<const double> a, std::span<const double> b, int slices);
double ozaki2(std::span<const double> a, std::span<const double> b, int moduli);
///@}

/// The exact sum of products, and that of magnitudes, as fractions.
mpq_class exact_inner_product(std::span<const double> a, std::span<const double> b);
mpq_class exact_magnitude(std::span<const double> a, std::span<const double> b);

}  // namespace ulpscope::oracle
