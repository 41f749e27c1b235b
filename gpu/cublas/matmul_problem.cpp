// SPDX-License-Identifier: Apache-2.0
// Fills the library's descriptors.
#include "gpu/cublas/matmul_problem.hpp"

#include "gpu/cublas/scale_layout.hpp"

namespace ulpscope::gpu::cublas {
namespace {

struct Extent {
  std::uint64_t rows, columns;
};

/// Of the library's first operand, as stored in columns.
Extent first_extent(const LibraryCall& call, const Shape& shape) {
  return MatmulProblem::needs_transposed_b(call) ? Extent{shape.k, shape.n} : Extent{shape.n, shape.k};
}

constexpr const char* create_layout = "cublasLtMatrixLayoutCreate";

}  // namespace

MatmulProblem::MatmulProblem(const LibraryCall& call, const Shape& shape)
    : operation_("cublasLtMatmulDescCreate", cublasLtMatmulDescCreate, compute_type(call).type, compute_type(call).scale),
      first_(create_layout, cublasLtMatrixLayoutCreate, data_type(call.b), first_extent(call, shape).rows,
             first_extent(call, shape).columns, static_cast<std::int64_t>(first_extent(call, shape).rows)),
      second_(create_layout, cublasLtMatrixLayoutCreate, data_type(call.a), shape.k, shape.m,
              static_cast<std::int64_t>(shape.k)),
      addend_(create_layout, cublasLtMatrixLayoutCreate, data_type(call.c_format()), shape.n, shape.m,
              static_cast<std::int64_t>(shape.n)),
      result_(create_layout, cublasLtMatrixLayoutCreate, data_type(call.d), shape.n, shape.m,
              static_cast<std::int64_t>(shape.n)) {
  const std::int32_t first_as = needs_transposed_b(call) ? CUBLAS_OP_T : CUBLAS_OP_N, second_as = CUBLAS_OP_N;
  set(CUBLASLT_MATMUL_DESC_TRANSA, "TRANSA", first_as);
  set(CUBLASLT_MATMUL_DESC_TRANSB, "TRANSB", second_as);
  if (!is_narrow(call)) return;
  set(CUBLASLT_MATMUL_DESC_FAST_ACCUM, "FAST_ACCUM", static_cast<std::int8_t>(call.fast_accumulation));
  set(CUBLASLT_MATMUL_DESC_A_SCALE_MODE, "A_SCALE_MODE", scale_mode_number(call.scale_mode_b));
  set(CUBLASLT_MATMUL_DESC_B_SCALE_MODE, "B_SCALE_MODE", scale_mode_number(call.scale_mode_a));
}

void MatmulProblem::set_scales(const ScalePointers& scales) {
  if (scales.b != nullptr) set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, "A_SCALE_POINTER", static_cast<const void*>(scales.b));
  if (scales.a != nullptr) set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, "B_SCALE_POINTER", static_cast<const void*>(scales.a));
  if (scales.d != nullptr) set(CUBLASLT_MATMUL_DESC_D_SCALE_POINTER, "D_SCALE_POINTER", static_cast<const void*>(scales.d));
  if (scales.amax_d != nullptr) set(CUBLASLT_MATMUL_DESC_AMAX_D_POINTER, "AMAX_D_POINTER", static_cast<void*>(scales.amax_d));
}

}  // namespace ulpscope::gpu::cublas
