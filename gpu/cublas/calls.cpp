// SPDX-License-Identifier: Apache-2.0
#include "gpu/cublas/calls.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <string>

#include "emu/catalogue.hpp"
#include "emu/encode.hpp"
#include "emu/error.hpp"
#include "emu/names.hpp"

namespace ulpscope::gpu::cublas {
namespace {

using emu::bfloat16, emu::float16, emu::float32, emu::float64, emu::Format;

constexpr std::array compute_types{
    ComputeType{"CUBLAS_COMPUTE_16F", CUBLAS_COMPUTE_16F, float16, CUDA_R_16F},
    ComputeType{"CUBLAS_COMPUTE_16F_PEDANTIC", CUBLAS_COMPUTE_16F_PEDANTIC, float16, CUDA_R_16F},
    ComputeType{"CUBLAS_COMPUTE_32F", CUBLAS_COMPUTE_32F, float32, CUDA_R_32F},
    ComputeType{"CUBLAS_COMPUTE_32F_PEDANTIC", CUBLAS_COMPUTE_32F_PEDANTIC, float32, CUDA_R_32F},
    ComputeType{"CUBLAS_COMPUTE_32F_FAST_16F", CUBLAS_COMPUTE_32F_FAST_16F, float32, CUDA_R_32F},
    ComputeType{"CUBLAS_COMPUTE_32F_FAST_16BF", CUBLAS_COMPUTE_32F_FAST_16BF, float32, CUDA_R_32F},
    ComputeType{"CUBLAS_COMPUTE_32F_FAST_TF32", CUBLAS_COMPUTE_32F_FAST_TF32, float32, CUDA_R_32F},
    ComputeType{"CUBLAS_COMPUTE_64F", CUBLAS_COMPUTE_64F, float64, CUDA_R_64F},
    ComputeType{"CUBLAS_COMPUTE_64F_PEDANTIC", CUBLAS_COMPUTE_64F_PEDANTIC, float64, CUDA_R_64F},
};

struct OperandTypes {
  Format operands, d;
};

/// The operands and results of a compute type.
std::vector<OperandTypes> operand_types(const ComputeType& compute) {
  switch (compute.type) {
    case CUBLAS_COMPUTE_16F:
    case CUBLAS_COMPUTE_16F_PEDANTIC: return {{float16, float16}};
    case CUBLAS_COMPUTE_32F:
    case CUBLAS_COMPUTE_32F_PEDANTIC:
      return {{float16, float16}, {float16, float32}, {bfloat16, bfloat16}, {bfloat16, float32}, {float32, float32}};
    case CUBLAS_COMPUTE_64F:
    case CUBLAS_COMPUTE_64F_PEDANTIC: return {{float64, float64}};
    default: return {{float32, float32}};
  }
}

void add_with_reductions(std::vector<LibraryCall>& calls, LibraryCall call) {
  calls.push_back(call);
  if (call.d.bits() >= call.accumulator.bits()) return;
  call.reduced_precision_reduction = false;
  calls.push_back(call);
}

bool holds(const ConstMatrix& matrix, Format format) {
  return matrix.format == format && matrix.codes.size() == matrix.rows * matrix.columns * bytes_per_code(format);
}

}  // namespace

const ComputeType& compute_type(const LibraryCall& call) {
  const auto* const found =
      std::find_if(compute_types.begin(), compute_types.end(), [&](const ComputeType& t) { return call.compute == t.name; });
  if (found == compute_types.end()) throw Error(call.function + " has no compute type " + call.compute);
  return *found;
}

cudaDataType_t data_type(Format format) {
  if (format == float16) return CUDA_R_16F;
  if (format == bfloat16) return CUDA_R_16BF;
  if (format == float32) return CUDA_R_32F;
  if (format == float64) return CUDA_R_64F;
  if (format == emu::float8_e4m3fn) return CUDA_R_8F_E4M3;
  if (format == emu::float8_e5m2) return CUDA_R_8F_E5M2;
  throw Error("cuBLAS has no data type for " + emu::format_name(format));
}

bool is_fp8(const LibraryCall& call) noexcept { return call.a.bits() == 8; }

std::vector<LibraryCall> calls_of_both(const char* function, int capability) {
  constexpr int first_with_bfloat16 = 80;
  std::vector<LibraryCall> calls;
  for (const ComputeType& compute : compute_types)
    for (const OperandTypes& types : operand_types(compute))
      if (types.operands != bfloat16 || capability >= first_with_bfloat16)
        add_with_reductions(calls, {function, compute.name, types.operands, types.operands, types.d, compute.accumulator});
  return calls;
}

std::vector<LibraryCall> fp8_calls(const char* function, int capability) {
  constexpr int first_with_fp8 = 89;
  constexpr Format e4m3 = emu::float8_e4m3fn, e5m2 = emu::float8_e5m2;
  constexpr std::array<std::array<Format, 2>, 3> operands{{{e4m3, e4m3}, {e4m3, e5m2}, {e5m2, e4m3}}};
  std::vector<LibraryCall> calls;
  if (capability < first_with_fp8) return calls;
  for (const auto& [a, b] : operands)
    for (const Format d : {bfloat16, float16, float32})
      for (const bool fast : {false, true}) {
        LibraryCall call{function, "CUBLAS_COMPUTE_32F", a, b, d, float32};
        call.fast_accumulation = fast;
        add_with_reductions(calls, call);
      }
  return calls;
}

void check_call(std::span<const LibraryCall> calls, const LibraryCall& call, const Shape& shape) {
  const std::string name = call.function + " " + call.compute;
  if (std::find(calls.begin(), calls.end(), call) == calls.end())
    throw Error(name + ": no such call on this device: " + emu::format_name(call.a) + " times " + emu::format_name(call.b) +
                " to " + emu::format_name(call.d));
  constexpr auto most = static_cast<std::size_t>(std::numeric_limits<int>::max());
  for (const std::size_t extent : {shape.m, shape.n, shape.k})
    if (extent == 0 || extent > most)
      throw Error(name + ": a dimension of " + std::to_string(extent) + ": it must be 1 to " + std::to_string(most));
  // cublasLtMatmul(), "To use FP8 kernels": the dimensions along which memory runs are multiples of 16 bytes.
  constexpr std::size_t alignment = 16;
  if (is_fp8(call) && (shape.n % alignment != 0 || shape.k % alignment != 0))
    throw Error(name + ": fp8 operands need n and k that are multiples of " + std::to_string(alignment) +
                ", not n = " + std::to_string(shape.n) + ", k = " + std::to_string(shape.k));
}

Shape check_product(std::span<const LibraryCall> calls, const LibraryCall& call, const LibraryProduct& product,
                    std::span<const std::byte> d) {
  const auto& [a, b, c] = product.product;
  const Shape shape{a.rows, b.columns, a.columns};
  check_call(calls, call, shape);
  const bool c_fits = c.codes.empty() || (holds(c, call.d) && c.rows == shape.m && c.columns == shape.n);
  if (!holds(a, call.a) || !holds(b, call.b) || b.rows != a.columns || !c_fits ||
      d.size() != shape.m * shape.n * bytes_per_code(call.d))
    throw Error(call.function + " " + call.compute + ": operands do not fit the call or each other");
  if (c.codes.empty() && product.beta != 0) throw Error(call.function + ": beta without a matrix C");
  if (!is_fp8(call) && (product.scale_a || product.scale_b)) throw Error(call.function + ": only fp8 operands take scales");
  return shape;
}

Scalar::Scalar(const ComputeType& compute, double value) {
  const Format format = compute.scale == CUDA_R_16F ? float16 : (compute.scale == CUDA_R_64F ? float64 : float32);
  bits_ = emu::encode(format, value);
}

}  // namespace ulpscope::gpu::cublas
