// SPDX-License-Identifier: Apache-2.0
// What matrix engines compute, worked out a second time: one plain function for each family, in exact integers, sharing nothing
// with emu. Written from the sources that emu/engine.hpp names, and the Intel Software Developer's Manual.
#pragma once

#include <cstdint>
#include <span>

#include "tests/oracle/rounding_oracle.hpp"

namespace ulpscope::oracle {

inline constexpr Format binary64{11, 52, 1023, ieee};
inline constexpr Format binary32{8, 23, 127, ieee};
inline constexpr Format binary16{5, 10, 15, ieee};

/// c + the sum of a[k] * b[k]; as many of `a` as of `b`. Scales, where there are some: one of each for every block of operands.
struct InnerProduct {
  Format a_format, b_format;
  std::span<const std::uint64_t> a, b;
  std::uint64_t c;
  Format scale_format = {};
  std::span<const std::uint64_t> a_scales = {}, b_scales = {};
};

/// The truncating block FMA of tensor cores.
struct BlockFma {
  int products;
  int fraction_bits;         ///< of the alignment
  Format accumulator;        ///< of c and of the result
  int result_fraction_bits;  ///< 13 for the float32 results of Ada's and Hopper's fp8, else the accumulator's
  Mode rounding;             ///< of the result
  long least_exponent;       ///< of the alignment
};

std::uint64_t block_fma(const InnerProduct& x, const BlockFma& block);
/// The exponents of two scales for every `block.products` operands join those of the products.
std::uint64_t block_fma_scaled_products(const InnerProduct& x, const BlockFma& block);
/// mxf4 and nvf4: exact sums of 16 products, scaled; two scales for every `scale_products` operands.
std::uint64_t block_fma_scaled_groups(const InnerProduct& x, int scale_products, long least_exponent);
/// fp8 operands, converted to float16, on float16 tensor cores: two blocks of 16 out of 32, rounded as theirs are, and an IEEE
/// addition of c.
std::uint64_t two_half_blocks(const InnerProduct& x, Format accumulator, long least_exponent);

/// `products` and c added exactly and rounded once to nearest, then the next ones. An exact zero is positive.
std::uint64_t cdna1(const InnerProduct& x, int products);
std::uint64_t cdna2(const InnerProduct& x);
/// The bfloat16 instructions without `_1k`: two products, each rounded, their sum, and that added to c.
std::uint64_t cdna2_pairs(const InnerProduct& x);
std::uint64_t cdna3(const InnerProduct& x, int products);
std::uint64_t cdna3_fp8(const InnerProduct& x);

std::uint64_t amx_bf16(const InnerProduct& x);
/// TDPFP16PS: as TDPBF16PS, but subnormal operands are not zeros; a subnormal c is one.
std::uint64_t amx_fp16(const InnerProduct& x);
/// TMMULTF32PS: one chain of fma over 16 products, then c is added. Tiny results are zeros, subnormal operands and c are not.
std::uint64_t amx_tf32(const InnerProduct& x);
/// TDPBF8PS, TDPBHF8PS, TDPHBF8PS and TDPHF8PS: the exact sum of 64 products, rounded, then added to c. A subnormal c and tiny
/// results are zeros. An exact zero sum of the products is positive.
std::uint64_t amx_fp8(const InnerProduct& x);
std::uint64_t avx512_bf16(const InnerProduct& x);
/// BFDOT and BFMMLA as in BFDotAdd of the Arm Architecture Reference Manual (DDI 0487), FPCR.EBF being 0.
std::uint64_t arm_bf16(const InnerProduct& x);
/// BFDOT, BFMMLA and BFMOPA as in FPDot of the same manual, FPCR.EBF being 1 and the rest of it 0; the FDOT and FMOPA that
/// widen float16 too. Two products are added exactly and rounded once to float32, then an IEEE addition adds them to c.
std::uint64_t arm_fused_pairs(const InnerProduct& x);
/// FMMLA of float32 and float64 (the same manual): two products, their sum, and its sum with c, rounded to nearest every time.
std::uint64_t arm_fmmla(const InnerProduct& x, Format accumulator);
/// FMMLA of float16 into float32: two fused sums of two products, their sum, and its sum with c, rounded to nearest every time.
std::uint64_t arm_fmmla_of_halves(const InnerProduct& x);
/// FDOT, FMLAL, FMLALL, FMMLA and FMOPA of fp8 operands (the same manual, A1.5.5), FPMR.OSM being 0: `products` exact products
/// times 2^-lscale and c are added exactly and rounded once to nearest. An exact zero is negative if all of these are negative
/// zeros.
std::uint64_t arm_fp8(const InnerProduct& x, Format accumulator, int products, int lscale);

/// fma after fma in the order of k.
std::uint64_t fma_chain(const InnerProduct& x, Format accumulator);
/// c + the pairwise sum of the rounded products: neighbours are added, a last one without neighbour goes on as it is, and so on
/// (Higham, Accuracy and Stability of Numerical Algorithms, 4.1).
std::uint64_t pairwise(const InnerProduct& x, Format accumulator);
/// All at once, rounded once to nearest. A sum of negative zeros is negative, other exact zeros are positive.
std::uint64_t exactly_rounded(const InnerProduct& x, Format accumulator);

}  // namespace ulpscope::oracle
