// SPDX-License-Identifier: Apache-2.0
// What a test sets and asks of the stand-in for cuBLAS and cuBLASLt, and what their parts share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cublasLt.h"

namespace fake_cublas {

/// The n-th call from now on, counted from 1, fails with `status` and does nothing. Destroying never fails.
void fail_call(std::size_t n, cublasStatus_t status = CUBLAS_STATUS_INTERNAL_ERROR);
std::size_t calls();
/// Handles, descriptors, layouts and preferences not yet destroyed.
std::size_t live_objects();

/// What the last product was asked with.
struct LastProduct {
  bool computes = true;  ///< set by tests: whether products are computed at all
  cublasMath_t math_mode = CUBLAS_DEFAULT_MATH;
  bool fast_accumulation = false;
  std::uint32_t reductions = 0;            ///< mask of the last heuristic
  std::vector<const void*> operands = {};  ///< addresses of A of all products since clear()
};
LastProduct& last();

/// For the functions of the libraries: counts a call, and the status that it must return at once.
cublasStatus_t next_call();
void count_object(int change);

/// A matrix in columns.
struct Matrix {
  cudaDataType_t type;
  std::uint64_t rows, columns;
  std::int64_t leading;
  const void* codes = nullptr;
};

/// On the device: cublasLtMatmulMatrixScale_t, and numbers laid out as that mode wants them; none stand for 1.
struct Scales {
  std::int32_t mode = 0;
  const void* values = nullptr;
};

/// D = d_scale * (alpha * scaled op(A) * scaled op(B) + beta * C), products summed exactly enough in float64 over parts of K,
/// each rounded to D's type first where `reduced` is set; then rounded once. `amax`: of what d_scale is multiplied by.
struct Gemm {
  cublasComputeType_t compute;
  cudaDataType_t scale_type;
  bool transpose_a, transpose_b;
  Matrix a, b, c, d;
  const void *alpha, *beta;
  Scales a_scales = {}, b_scales = {};
  const float* d_scale = nullptr;
  float* amax = nullptr;
  int split_k = 1;
  bool reduced = false;
};
/// What is wrong with it: types that do not go together, leading dimensions, shapes.
cublasStatus_t check(const Gemm& gemm);
/// Scaling modes that do not go together or that the device has not, and pointers that are none or not aligned.
cublasStatus_t check_scales(const Gemm& gemm);
/// Of product number p of a line (a row of op(A), a column of op(B)).
double scale_at(const Scales& scales, std::uint64_t lines, std::uint64_t k, std::uint64_t line, std::uint64_t p);
void run(const Gemm& gemm, void* d);

}  // namespace fake_cublas
