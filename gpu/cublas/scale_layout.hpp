// SPDX-License-Identifier: Apache-2.0
// Scales as cuBLASLt wants them in memory: cuBLAS Library 13.0, "1D Block Scaling Factors Layout" and "Scaling factors
// layouts".
#pragma once

#include <cublasLt.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gpu/library_scales.hpp"

namespace ulpscope::gpu::cublas {

/// cublasLtMatmulMatrixScale_t, in the type of CUBLASLT_MATMUL_DESC_A_SCALE_MODE.
std::int32_t scale_mode_number(ScaleMode mode);

/// The scales of an operand of `lines` lines. The layout does not depend on the side: both operands have K along memory.
///
///   OUTER_VEC_32F             line after line
///   VEC128_32F                lines along memory, one column for each block of products
///   BLK128x128_32F            blocks of products along memory, one column for each group of lines; a column begins at a
///   multiple
///                             of four
///   VEC32_UE8M0, VEC16_UE4M3  tiles of 128 lines by 4 blocks, in rows; what lies beyond the matrix is zero
std::vector<std::byte> laid_out_scales(ScaleMode mode, OperandSide side, const ConstMatrix& scales, std::size_t lines);

/// Scales of 1 for an operand of `lines` lines of k products.
std::vector<std::byte> unit_scales(ScaleMode mode, std::size_t lines, std::size_t k);

/// Two codes of four bits in a byte, the first one in its low half.
std::vector<std::byte> packed_halves(std::span<const std::byte> codes);

}  // namespace ulpscope::gpu::cublas
