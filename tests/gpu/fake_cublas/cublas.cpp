// SPDX-License-Identifier: Apache-2.0
// Handles, statuses and cublasGemmEx of the stand-in.
#include "tests/gpu/fake_cublas/control.hpp"

struct FakeCublas {};

namespace fake_cublas {
namespace {

struct State {
  std::size_t calls = 0, failing = 0, objects = 0;
  cublasStatus_t injected = CUBLAS_STATUS_SUCCESS;
  LastProduct last;
};
State& state() {
  static State state;
  return state;
}

}  // namespace

void fail_call(std::size_t n, cublasStatus_t status) {
  state().calls = 0;
  state().failing = n;
  state().injected = status;
}
std::size_t calls() { return state().calls; }
std::size_t live_objects() { return state().objects; }
LastProduct& last() { return state().last; }
cublasStatus_t next_call() { return ++state().calls == state().failing ? state().injected : CUBLAS_STATUS_SUCCESS; }
void count_object(int change) { state().objects += static_cast<std::size_t>(change); }

}  // namespace fake_cublas

using fake_cublas::next_call;

const char* cublasGetStatusName(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS: return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_NOT_INITIALIZED: return "CUBLAS_STATUS_NOT_INITIALIZED";
    case CUBLAS_STATUS_ALLOC_FAILED: return "CUBLAS_STATUS_ALLOC_FAILED";
    case CUBLAS_STATUS_INVALID_VALUE: return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_ARCH_MISMATCH: return "CUBLAS_STATUS_ARCH_MISMATCH";
    case CUBLAS_STATUS_EXECUTION_FAILED: return "CUBLAS_STATUS_EXECUTION_FAILED";
    case CUBLAS_STATUS_INTERNAL_ERROR: return "CUBLAS_STATUS_INTERNAL_ERROR";
    case CUBLAS_STATUS_NOT_SUPPORTED: return "CUBLAS_STATUS_NOT_SUPPORTED";
  }
  return "?";
}
const char* cublasGetStatusString(cublasStatus_t) { return "as the stand-in was told"; }

cublasStatus_t cublasCreate(cublasHandle_t* handle) {
  if (const cublasStatus_t status = next_call(); status != CUBLAS_STATUS_SUCCESS) return status;
  *handle = new FakeCublas;
  fake_cublas::count_object(1);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasDestroy(cublasHandle_t handle) {
  delete handle;
  fake_cublas::count_object(-1);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasGetVersion(cublasHandle_t, int* version) {
  *version = 130100;
  return next_call();
}
cublasStatus_t cublasSetMathMode(cublasHandle_t, cublasMath_t mode) {
  fake_cublas::last().math_mode = mode;
  return next_call();
}

cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n, int k,
                            const void* alpha, const void* A, cudaDataType_t Atype, int lda, const void* B,
                            cudaDataType_t Btype, int ldb, const void* beta, void* C, cudaDataType_t Ctype, int ldc,
                            cublasComputeType_t computeType, cublasGemmAlgo_t) {
  if (const cublasStatus_t status = next_call(); status != CUBLAS_STATUS_SUCCESS) return status;
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (m < 0 || n < 0 || k < 0 || alpha == nullptr || beta == nullptr || A == nullptr || B == nullptr || C == nullptr)
    return CUBLAS_STATUS_INVALID_VALUE;
  const auto matrix = [](cudaDataType_t type, bool transposed, int rows, int columns, int leading, const void* codes) {
    const auto extent = [](int x) { return static_cast<std::uint64_t>(x); };
    return fake_cublas::Matrix{type, extent(transposed ? columns : rows), extent(transposed ? rows : columns), leading, codes};
  };
  const bool a_transposed = transa == CUBLAS_OP_T, b_transposed = transb == CUBLAS_OP_T;
  const bool half = computeType == CUBLAS_COMPUTE_16F || computeType == CUBLAS_COMPUTE_16F_PEDANTIC;
  const bool twice = computeType == CUBLAS_COMPUTE_64F || computeType == CUBLAS_COMPUTE_64F_PEDANTIC;
  const fake_cublas::Gemm gemm{computeType,
                               half ? CUDA_R_16F : (twice ? CUDA_R_64F : CUDA_R_32F),
                               a_transposed,
                               b_transposed,
                               matrix(Atype, a_transposed, m, k, lda, A),
                               matrix(Btype, b_transposed, k, n, ldb, B),
                               matrix(Ctype, false, m, n, ldc, C),
                               matrix(Ctype, false, m, n, ldc, C),
                               alpha,
                               beta};
  if (Atype == CUDA_R_8F_E4M3 || Atype == CUDA_R_8F_E5M2) return CUBLAS_STATUS_NOT_SUPPORTED;
  const cublasStatus_t status = fake_cublas::check(gemm);
  fake_cublas::last().operands.push_back(A);
  if (status == CUBLAS_STATUS_SUCCESS) fake_cublas::run(gemm, C);
  return status;
}
