// SPDX-License-Identifier: Apache-2.0
// Descriptors, algorithms and cublasLtMatmul of the stand-in.
#include <algorithm>
#include <cstring>
#include <map>

#include "tests/gpu/fake_cublas/control.hpp"

struct FakeCublasLt {};
struct FakeLayout {
  fake_cublas::Matrix matrix;
};
struct FakeMatmulDesc {
  cublasComputeType_t compute;
  cudaDataType_t scale_type;
  std::int32_t transpose_a = CUBLAS_OP_N, transpose_b = CUBLAS_OP_N;
  fake_cublas::Scales a_scales = {}, b_scales = {};
  const float* d_scale = nullptr;
  float* amax = nullptr;
  std::int8_t fast = 0;
};
struct FakePreference {
  std::uint64_t workspace = 0;
  std::uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_MASK;
};

namespace {

using fake_cublas::next_call;

/// What a cublasLtMatmulAlgo_t holds here.
struct Algorithm {
  std::uint32_t id, tile, stages, split_k, reduction, swizzle, custom;
  std::uint16_t inner, cluster;
};
static_assert(sizeof(Algorithm) <= sizeof(cublasLtMatmulAlgo_t));

constexpr std::uint32_t can_split = 66;
// The library's heuristic in its order; the second cannot split, the third is split, the last is the first once more.
constexpr Algorithm known[] = {{can_split, 20, 15, 1, 0, 0, 0, 0, 2},
                               {67, 24, 35, 1, 0, 1, 3, 4, 3},
                               {68, 15, 15, 2, CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE, 0, 0, 0, 0},
                               {68, 15, 15, 2, CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE, 0, 0, 0, 0},
                               {can_split, 20, 15, 1, 0, 0, 0, 0, 2}};

Algorithm unpacked(const cublasLtMatmulAlgo_t& packed) {
  Algorithm algorithm;
  std::memcpy(&algorithm, &packed, sizeof algorithm);
  return algorithm;
}
cublasLtMatmulAlgo_t packed(const Algorithm& algorithm) {
  cublasLtMatmulAlgo_t packed{};
  std::memcpy(&packed, &algorithm, sizeof algorithm);
  return packed;
}

std::size_t workspace_of(const Algorithm& algorithm, const fake_cublas::Matrix& d) {
  return algorithm.split_k < 2 ? 0 : algorithm.split_k * d.rows * d.columns * sizeof(float);
}

fake_cublas::Gemm gemm_of(const FakeMatmulDesc& desc, const FakeLayout& a, const FakeLayout& b, const FakeLayout& c,
                          const FakeLayout& d) {
  return {desc.compute,
          desc.scale_type,
          desc.transpose_a == CUBLAS_OP_T,
          desc.transpose_b == CUBLAS_OP_T,
          a.matrix,
          b.matrix,
          c.matrix,
          d.matrix,
          nullptr,
          nullptr,
          desc.a_scales,
          desc.b_scales,
          desc.d_scale,
          desc.amax};
}

cublasStatus_t checked(const fake_cublas::Gemm& gemm) {
  const cublasStatus_t status = fake_cublas::check_scales(gemm);
  return status == CUBLAS_STATUS_SUCCESS ? fake_cublas::check(gemm) : status;
}

template <class T>
cublasStatus_t made(T** at, T value) {
  if (const cublasStatus_t status = next_call(); status != CUBLAS_STATUS_SUCCESS) return status;
  *at = new T(value);
  fake_cublas::count_object(1);
  return CUBLAS_STATUS_SUCCESS;
}
template <class T>
cublasStatus_t destroyed(T* object) {
  delete object;
  fake_cublas::count_object(-1);
  return CUBLAS_STATUS_SUCCESS;
}

/// Copies a value of exactly its size.
template <class T>
cublasStatus_t set(T& value, const void* buffer, std::size_t bytes) {
  if (bytes != sizeof value) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(static_cast<void*>(&value), buffer, bytes);
  return next_call();
}
template <class T>
cublasStatus_t get(const T& value, void* buffer, std::size_t bytes, std::size_t* written) {
  if (bytes != sizeof value) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(buffer, &value, bytes);
  *written = bytes;
  return next_call();
}

}  // namespace

std::size_t cublasLtGetVersion() { return 130100; }
cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) { return made(handle, FakeCublasLt{}); }
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) { return destroyed(handle); }
cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType_t type, std::uint64_t rows,
                                          std::uint64_t cols, std::int64_t ld) {
  return made(layout, FakeLayout{{type, rows, cols, ld}});
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) { return destroyed(layout); }
cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* desc, cublasComputeType_t compute, cudaDataType_t scale) {
  return made(desc, FakeMatmulDesc{compute, scale});
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t desc) { return destroyed(desc); }
cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  return made(preference, FakePreference{});
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) { return destroyed(preference); }

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t desc, cublasLtMatmulDescAttributes_t attribute,
                                              const void* buffer, std::size_t bytes) {
  switch (attribute) {
    case CUBLASLT_MATMUL_DESC_TRANSA: return set(desc->transpose_a, buffer, bytes);
    case CUBLASLT_MATMUL_DESC_TRANSB: return set(desc->transpose_b, buffer, bytes);
    case CUBLASLT_MATMUL_DESC_A_SCALE_POINTER: return set(desc->a_scales.values, buffer, bytes);
    case CUBLASLT_MATMUL_DESC_B_SCALE_POINTER: return set(desc->b_scales.values, buffer, bytes);
    case CUBLASLT_MATMUL_DESC_A_SCALE_MODE: return set(desc->a_scales.mode, buffer, bytes);
    case CUBLASLT_MATMUL_DESC_B_SCALE_MODE: return set(desc->b_scales.mode, buffer, bytes);
    case CUBLASLT_MATMUL_DESC_D_SCALE_POINTER: return set(desc->d_scale, buffer, bytes);
    case CUBLASLT_MATMUL_DESC_AMAX_D_POINTER: return set(desc->amax, buffer, bytes);
    case CUBLASLT_MATMUL_DESC_FAST_ACCUM: return set(desc->fast, buffer, bytes);
  }
  return CUBLAS_STATUS_INVALID_VALUE;
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute, const void* buffer,
                                                    std::size_t bytes) {
  switch (attribute) {
    case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES: return set(preference->workspace, buffer, bytes);
    case CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK: return set(preference->reductions, buffer, bytes);
  }
  return CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a,
                                              cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int requested,
                                              cublasLtMatmulHeuristicResult_t results[], int* returned) {
  *returned = 0;
  if (const cublasStatus_t status = next_call(); status != CUBLAS_STATUS_SUCCESS) return status;
  if (const auto status = checked(gemm_of(*desc, *a, *b, *c, *d)); status != CUBLAS_STATUS_SUCCESS) return status;
  fake_cublas::last().reductions = preference->reductions;
  for (const Algorithm& algorithm : known) {
    if (*returned == requested) break;
    const std::size_t workspace = workspace_of(algorithm, d->matrix);
    if (workspace > preference->workspace || (algorithm.reduction & ~preference->reductions) != 0) continue;
    results[(*returned)++] = {packed(algorithm), workspace, CUBLAS_STATUS_SUCCESS, 1, {}};
  }
  if (*returned < requested) results[(*returned)++] = {{}, 0, CUBLAS_STATUS_NOT_SUPPORTED, 0, {}};
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t, cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a,
                                       cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                       const cublasLtMatmulAlgo_t* algo, cublasLtMatmulHeuristicResult_t* result) {
  if (const cublasStatus_t status = next_call(); status != CUBLAS_STATUS_SUCCESS) return status;
  const fake_cublas::Gemm gemm = gemm_of(*desc, *a, *b, *c, *d);
  const Algorithm algorithm = unpacked(*algo);
  const std::uint64_t k = gemm.transpose_a ? gemm.a.rows : gemm.a.columns;
  if (algorithm.split_k > 1 && (algorithm.reduction == 0 || k < std::uint64_t{16} * algorithm.split_k))
    return CUBLAS_STATUS_NOT_SUPPORTED;
  *result = {*algo, workspace_of(algorithm, d->matrix), CUBLAS_STATUS_SUCCESS, 1, {}};
  return checked(gemm);
}

cublasStatus_t cublasLtMatmulAlgoCapGetAttribute(const cublasLtMatmulAlgo_t* algo, cublasLtMatmulAlgoCapAttributes_t attribute,
                                                 void* buffer, std::size_t bytes, std::size_t* written) {
  const bool splits = unpacked(*algo).id == can_split;
  const std::uint64_t flags = CUBLASLT_NUMERICAL_IMPL_FLAGS_HMMA | CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_32F |
                              CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_16F;
  switch (attribute) {
    case CUBLASLT_ALGO_CAP_SPLITK_SUPPORT: return get(std::int32_t{splits}, buffer, bytes, written);
    case CUBLASLT_ALGO_CAP_REDUCTION_SCHEME_MASK:
      return get(std::uint32_t{CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE | CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE}, buffer, bytes,
                 written);
    case CUBLASLT_ALGO_CAP_NUMERICAL_IMPL_FLAGS: return get(flags, buffer, bytes, written);
  }
  return CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtMatmulAlgoConfigSetAttribute(cublasLtMatmulAlgo_t* algo, cublasLtMatmulAlgoConfigAttributes_t attribute,
                                                    const void* buffer, std::size_t bytes) {
  Algorithm algorithm = unpacked(*algo);
  cublasStatus_t status = CUBLAS_STATUS_INVALID_VALUE;
  if (attribute == CUBLASLT_ALGO_CONFIG_SPLITK_NUM) status = set(algorithm.split_k, buffer, bytes);
  if (attribute == CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME) status = set(algorithm.reduction, buffer, bytes);
  if (status == CUBLAS_STATUS_SUCCESS) *algo = packed(algorithm);
  return status;
}

cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t* algo,
                                                    cublasLtMatmulAlgoConfigAttributes_t attribute, void* buffer,
                                                    std::size_t bytes, std::size_t* written) {
  const Algorithm algorithm = unpacked(*algo);
  switch (attribute) {
    case CUBLASLT_ALGO_CONFIG_ID: return get(algorithm.id, buffer, bytes, written);
    case CUBLASLT_ALGO_CONFIG_TILE_ID: return get(algorithm.tile, buffer, bytes, written);
    case CUBLASLT_ALGO_CONFIG_SPLITK_NUM: return get(algorithm.split_k, buffer, bytes, written);
    case CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME: return get(algorithm.reduction, buffer, bytes, written);
    case CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING: return get(algorithm.swizzle, buffer, bytes, written);
    case CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION: return get(algorithm.custom, buffer, bytes, written);
    case CUBLASLT_ALGO_CONFIG_STAGES_ID: return get(algorithm.stages, buffer, bytes, written);
    case CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID: return get(algorithm.inner, buffer, bytes, written);
    case CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID: return get(algorithm.cluster, buffer, bytes, written);
  }
  return CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, const void* alpha, const void* A,
                              cublasLtMatrixLayout_t a, const void* B, cublasLtMatrixLayout_t b, const void* beta,
                              const void* C, cublasLtMatrixLayout_t c, void* D, cublasLtMatrixLayout_t d,
                              const cublasLtMatmulAlgo_t* algo, void* workspace, std::size_t workspace_bytes, cudaStream_t) {
  if (const cublasStatus_t status = next_call(); status != CUBLAS_STATUS_SUCCESS) return status;
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  for (const void* pointer : {alpha, A, B, beta, C, static_cast<const void*>(D)})
    if (pointer == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  fake_cublas::Gemm gemm = gemm_of(*desc, *a, *b, *c, *d);
  gemm.a.codes = A;
  gemm.b.codes = B;
  gemm.c.codes = C;
  gemm.d.codes = D;
  gemm.alpha = alpha;
  gemm.beta = beta;
  const Algorithm algorithm = algo != nullptr ? unpacked(*algo) : known[0];
  gemm.split_k = static_cast<int>(std::max<std::uint32_t>(algorithm.split_k, 1));
  gemm.reduced = algorithm.reduction == CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE;
  if (workspace_of(algorithm, gemm.d) > workspace_bytes || workspace == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  if (const auto status = checked(gemm); status != CUBLAS_STATUS_SUCCESS) return status;
  fake_cublas::last().fast_accumulation = desc->fast != 0;
  fake_cublas::last().operands.push_back(A);
  fake_cublas::run(gemm, D);
  return CUBLAS_STATUS_SUCCESS;
}
