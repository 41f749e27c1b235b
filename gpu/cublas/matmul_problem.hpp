// SPDX-License-Identifier: Apache-2.0
// A product as cuBLASLt is told of it: operation and layouts.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu/cublas/calls.hpp"
#include "gpu/cublas/status.hpp"

namespace ulpscope::gpu::cublas {

/// Scales on the device, of operands laid out as the call's modes want them; null for none.
struct ScalePointers {
  const std::byte *a = nullptr, *b = nullptr;
  const float* d = nullptr;
  float* amax_d = nullptr;
};

/// D^T = B^T A^T in columns, as D = A B in rows: B is the library's first operand, A the second, n the number of rows. Narrow
/// kernels want the first operand transposed and the second not ("TN"; cublasLtMatmul(), on FP8 kernels): K runs along
/// memory in both, and `needs_transposed_b` says that B is to be stored as n rows of k.
class MatmulProblem {
 public:
  MatmulProblem(const LibraryCall& call, const Shape& shape);

  static bool needs_transposed_b(const LibraryCall& call) noexcept { return is_narrow(call); }

  /// The modes of both operands are the call's, from the start on.
  void set_scales(const ScalePointers& scales);

  cublasLtMatmulDesc_t operation() const noexcept { return operation_.get(); }
  cublasLtMatrixLayout_t first() const noexcept { return first_.get(); }
  cublasLtMatrixLayout_t second() const noexcept { return second_.get(); }
  cublasLtMatrixLayout_t addend() const noexcept { return addend_.get(); }
  cublasLtMatrixLayout_t result() const noexcept { return result_.get(); }

 private:
  using Layout = Owned<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy>;

  template <class Value>
  void set(cublasLtMatmulDescAttributes_t attribute, const char* name, const Value& value) {
    check(cublasLtMatmulDescSetAttribute(operation_.get(), attribute, static_cast<const void*>(&value), sizeof value),
          std::string("cublasLtMatmulDescSetAttribute of ") + name);
  }

  Owned<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy> operation_;
  Layout first_, second_, addend_, result_;
};

}  // namespace ulpscope::gpu::cublas
