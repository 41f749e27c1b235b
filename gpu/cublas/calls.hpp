// SPDX-License-Identifier: Apache-2.0
// Which compute types and operand types cuBLAS takes together: cuBLAS Library documentation, cublasGemmEx() and
// cublasLtMatmul(), the tables of supported types. Integer, complex and emulated products are left out.
#pragma once

#include <cublas_v2.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gpu/library.hpp"

namespace ulpscope::gpu::cublas {

struct ComputeType {
  const char* name;
  cublasComputeType_t type;
  emu::Format accumulator;
  cudaDataType_t scale;  ///< of alpha and beta
};

/// @throws Error where no compute type has that name.
const ComputeType& compute_type(const LibraryCall& call);

/// @throws Error where the library has no type for the format.
cudaDataType_t data_type(emu::Format format);

/// Operands of fp8 or fp4.
bool is_narrow(const LibraryCall& call) noexcept;

/// Bytes of `codes` codes as the library stores them: two float4 numbers share one, the first one its low half.
std::size_t stored_bytes(emu::Format format, std::size_t codes) noexcept;

/// Calls that cublasGemmEx and cublasLtMatmul both take on a device of this compute capability (90 for 9.0), each with and
/// without reduced-precision reductions where D is narrower than the accumulator.
std::vector<LibraryCall> calls_of_both(const char* function, int capability);
/// The products of cublasLtMatmul with fp8 and fp4 operands, in all scaling modes that the device has: none before 8.9.
std::vector<LibraryCall> narrow_calls(const char* function, int capability);

struct Shape {
  std::size_t m = 0, n = 0, k = 0;
};

/// @throws Error where a call is none of `calls`, a dimension is 0 or above 2^31 - 1, or narrow operands are not aligned.
void check_call(std::span<const LibraryCall> calls, const LibraryCall& call, const Shape& shape);
/// The shape of a product. @throws Error as check_call, and where formats, matrices, scales and d do not fit the call.
Shape check_product(std::span<const LibraryCall> calls, const LibraryCall& call, const LibraryProduct& product,
                    std::span<const std::byte> d);

/// alpha or beta in the type that the compute type wants it in.
class Scalar {
 public:
  Scalar(const ComputeType& compute, double value);
  const void* get() const noexcept { return &bits_; }

 private:
  std::uint64_t bits_ = 0;
};

}  // namespace ulpscope::gpu::cublas
