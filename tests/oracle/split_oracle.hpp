// SPDX-License-Identifier: Apache-2.0
// Inner products that are made of products of narrower numbers, worked out a second time in exact integers and by MPFR, sharing
// nothing with emu. Written from CUTLASS (mma_tensor_op_fast_f32.h, numeric_conversion.h), Triton (F32DotTC.cpp), XLA
// (dot_algorithms.cc), ozIMMU and the papers arXiv 1904.06376, 2306.11975 and 2504.08009.
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

/// How the parts of a number come about.
enum class PartsRule : std::uint8_t {
  nearest,  ///< each the nearest even to what is left
  cutlass,  ///< of tf32: the first cut off, the second to nearest, ties away from zero
  triton,   ///< of tf32: the first to nearest, ties away from zero, the second cut off
};
/// The parts of a float32 number as codes of `part`.
std::vector<std::uint64_t> parts_of(Format part, int count, PartsRule rule, std::uint64_t code);

/// How a sum over K is put together.
struct PartsSum {
  PartsUnit unit;                    ///< multiplies parts
  std::size_t step = 1;              ///< products that the unit takes together; zeros stand for what is missing
  std::size_t block = 0;             ///< products whose sum starts from 0; 0: all
  std::vector<std::uint8_t> tree{};  ///< bits of the blocks' numbers, in the order in which their sums meet; empty: in turn
};

/// float32 codes of a and b.
///@{
std::uint64_t three_tf32(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b, const PartsSum& sum);
std::uint64_t tritons_tf32x3(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b, const PartsSum& sum);
/// 3, 6 or 9 products.
std::uint64_t bf16_products(int products, std::span<const std::uint64_t> a, std::span<const std::uint64_t> b,
                            const PartsSum& sum);
/// One product, of numbers rounded to tf32 with ties away from zero, or to bfloat16 or float32 with ties to even.
std::uint64_t single_product(Format part, std::span<const std::uint64_t> a, std::span<const std::uint64_t> b,
                             const PartsSum& sum);
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
